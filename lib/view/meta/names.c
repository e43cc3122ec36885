/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.c - the file names of a container's metalayers, found out when first
 * asked for and kept as the state of the view.
 *
 * Stored names may be any bytes, equal, and longer than a directory holds:
 * file names are escaped, numbered and cut, and all of them differ.
 */
#include "base/mem.h"
#include "container/nametree.h"
#include "view/kept.h"
#include "view/meta/layers.h"
#include "view/meta/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A name that no directory can hold is cut; its number in the container
 * keeps it apart ('%' never stands before "~~" otherwise). */
static void cut_name(char *text, size_t index)
{
	size_t n = BFS_NAME_MAX - 24;

	while (n > 0 && ((uint8_t)text[n] & 0xc0) == 0x80)
		n--;
	snprintf(text + n, 24, "%%~~%zu", index);
}

/* A file name and the metalayer that has it. */
struct name {
	const char *text;
	size_t index;
};

/* Those of one kind of metalayers. */
struct list {
	size_t n;
	char **texts;			/* in stored order */
	struct name *order;		/* by bytes of the name */
};

/* What the view keeps. */
struct names {
	struct list fixed, variable;
};

struct raw_name {
	const char *name;
	size_t len;
	size_t index;
};

static int compare_raw(const void *pa, const void *pb)
{
	const struct raw_name *a = pa, *b = pb;
	int c = memcmp(a->name, b->name, a->len < b->len ? a->len : b->len);

	if (c)
		return c;
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static bool equal_raw(const struct raw_name *a, const struct raw_name *b)
{
	return a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

static int compare_names(const void *pa, const void *pb)
{
	const struct name *a = pa, *b = pb;

	return strcmp(a->text, b->text);
}

/* Sorted by raw bytes, equal names are neighbours in stored order, which
 * numbers them in one pass. */
static enum bfs_err escape_all(const struct bfs_meta *metas, size_t n,
			       struct raw_name *raw, char **texts)
{
	size_t nth = 0;

	for (size_t i = 0; i < n; i++)
		raw[i] = (struct raw_name){ metas[i].name, metas[i].name_len,
					    i };
	if (n > 1)
		qsort(raw, n, sizeof(*raw), compare_raw);
	for (size_t i = 0; i < n; i++) {
		char *text;

		nth = i > 0 && equal_raw(&raw[i - 1], &raw[i]) ? nth + 1 : 1;
		text = bfs_name_escape(raw[i].name, raw[i].len, nth);
		if (!text)
			return BFS_ERR_NOMEM;
		if (strlen(text) > BFS_NAME_MAX)
			cut_name(text, raw[i].index);
		texts[raw[i].index] = text;
	}
	return BFS_OK;
}

/* ---- finding and keeping --------------------------------------------- */

static void free_list(struct list *list)
{
	for (size_t i = 0; list->texts && i < list->n; i++)
		bfs_free(list->texts[i]);
	bfs_free(list->texts);
	bfs_free(list->order);
}

void bfs_meta_free_names(void *state)
{
	struct names *names = state;

	free_list(&names->fixed);
	free_list(&names->variable);
	bfs_free(names);
}

/* What was filled in is freed with the list, also on failure. */
static enum bfs_err fill_list(const struct bfs_meta *metas, size_t n,
			      struct list *list)
{
	BFS_CLEANUP(bfs_freep) struct raw_name *raw = NULL;

	list->n = n;
	list->texts = bfs_zalloc(n, sizeof(*list->texts));
	list->order = bfs_zalloc(n, sizeof(*list->order));
	raw = bfs_zalloc(n, sizeof(*raw));
	if (!list->texts || !list->order || !raw)
		return BFS_ERR_NOMEM;
	BFS_TRY(escape_all(metas, n, raw, list->texts));
	for (size_t i = 0; i < n; i++)
		list->order[i] = (struct name){ list->texts[i], i };
	if (n > 1)
		qsort(list->order, n, sizeof(*list->order), compare_names);
	return BFS_OK;
}

static enum bfs_err find_names(struct bfs_file *file, void **ret_state,
			       struct bfs_diag *diag)
{
	const struct bfs_container *container = file->array->container;
	struct names *names = bfs_zalloc(1, sizeof(*names));
	enum bfs_err err = BFS_ERR_NOMEM;

	if (names)
		err = fill_list(container->metas, container->n_metas,
				&names->fixed);
	if (err == BFS_OK)
		err = fill_list(container->vlmetas, container->n_vlmetas,
				&names->variable);
	if (err != BFS_OK) {
		if (names)
			bfs_meta_free_names(names);
		return bfs_fail(diag, err, 0,
				"no memory for the names of metalayers");
	}
	*ret_state = names;
	return BFS_OK;
}

static enum bfs_err get_list(struct bfs_file *file, bool fixed,
			     const struct list **ret_list,
			     struct bfs_diag *diag)
{
	const struct names *names;
	const void *state;

	BFS_TRY(bfs_kept_state(file, BFS_ROW_meta, find_names, &state, diag));
	names = state;
	*ret_list = fixed ? &names->fixed : &names->variable;
	return BFS_OK;
}

enum bfs_err bfs_meta_name(struct bfs_file *file,
			   const struct bfs_layer *layer,
			   const char **ret_name, struct bfs_diag *diag)
{
	const struct list *list;

	BFS_TRY(get_list(file, layer->fixed, &list, diag));
	*ret_name = list->texts[layer->index];
	return BFS_OK;
}

bool bfs_meta_find_name(struct bfs_file *file, bool fixed, const char *name,
			size_t name_len, size_t *ret_index)
{
	const struct list *list;
	size_t lo = 0, hi;

	if (get_list(file, fixed, &list, NULL) != BFS_OK)
		return false;
	for (hi = list->n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;
		int c = bfs_name_compare(list->order[mid].text, name,
					 name_len);

		if (c == 0) {
			*ret_index = list->order[mid].index;
			return true;
		}
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}
