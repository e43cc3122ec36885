/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dispatch.c - the table of views: which are on, looking up and listing their
 * entries, and where a virtual file has holes.
 *
 * In: an opened array and which views are on. Out: entries and attributes.
 * Nothing here knows a row by its name.
 */
#include "view/dispatch.h"

#include "base/bytes.h"
#include "base/moment.h"
#include "view/kept.h"

#include <stdio.h>
#include <string.h>

const struct bfs_view *const bfs_views[] = {
#define BFS_VIEW_ROW(stem) &bfs_view_##stem,
#include "view/rows.def"
#undef BFS_VIEW_ROW
};

const size_t bfs_n_views = BFS_ARRAY_LEN(bfs_views);

_Static_assert(BFS_ARRAY_LEN(bfs_views) == BFS_N_ROWS, "a number is a row");

#define TWIN "%~2"		/* behind the second of two equal names */
#define LISTING_MAX (UINT32_C(1) << 20)
#define LISTING_ENTRY 160	/* bytes, with attributes */

/* ---- which views are on ---------------------------------------------- */

/* Whether the word names the view, or a group that it is in. */
static bool is_meant(const struct bfs_view *view, const char *word, size_t len)
{
	const char *at = view->groups;

	if (view->always)
		return false;
	if ((strlen(view->name) == len && !memcmp(view->name, word, len)) ||
	    (len == 3 && !memcmp(word, "all", 3)))
		return true;
	while (at && (at = strchr(at, ' ')) && *++at)
		if (strcspn(at, " ") == len && !memcmp(at, word, len))
			return len > 0;
	return false;
}

static bool find_views(const char *word, size_t len, uint32_t *ret_bits)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < bfs_n_views; i++)
		if (is_meant(bfs_views[i], word, len))
			bits |= UINT32_C(1) << i;
	*ret_bits = bits;
	return bits != 0;
}

/* Those that a list cannot leave out. */
static uint32_t always_views(void)
{
	uint32_t views = 0;

	for (size_t i = 0; i < bfs_n_views; i++)
		if (bfs_views[i]->always)
			views |= UINT32_C(1) << i;
	return views;
}

static uint32_t default_views(void)
{
	uint32_t views = 0;

	for (size_t i = 0; i < bfs_n_views; i++)
		if (bfs_views[i]->on)
			views |= UINT32_C(1) << i;
	return views;
}

enum bfs_err bfs_view_parse(const char *list, uint32_t *ret_views,
			    struct bfs_diag *diag)
{
	uint32_t views = always_views();
	const char *at = list;

	if (!list || !*list) {
		*ret_views = default_views();
		return BFS_OK;
	}
	for (;;) {
		size_t len = strcspn(at, ",");
		uint32_t bits;

		if (!find_views(at, len, &bits))
			return bfs_fail(diag, BFS_ERR_INVALID,
					(uint64_t)(at - list),
					"unknown view '%.*s'",
					(int)bfs_min(len, 64), at);
		views |= bits;
		at += len;
		if (!*at)
			break;
		at++;
	}
	*ret_views = views;
	return BFS_OK;
}

enum bfs_err bfs_file_new(struct bfs_array *array, uint32_t views,
			  struct bfs_file **ret_file, struct bfs_diag *diag)
{
	return bfs_kept_new(array, views, bfs_views, bfs_n_views, ret_file,
			    diag);
}

/* ---- entries --------------------------------------------------------- */

const struct bfs_view *bfs_file_row(const struct bfs_file *file,
				    const struct bfs_node *node)
{
	return bfs_file_shows(file, node->view) ? bfs_views[node->view] : NULL;
}

/* The entries that a view puts into the container's directory: none where it
 * is off. A store has members instead of data: of the views only those that
 * say so, and the facts about it, apply. */
static size_t get_roots(struct bfs_file *file, size_t row,
			struct bfs_root roots[BFS_MAX_ROOTS])
{
	if (!bfs_file_shows(file, row) ||
	    (file->array->container->is_store && !bfs_views[row]->in_stores))
		return 0;
	return bfs_views[row]->roots(file, roots);
}

/* How many entries of views the container's directory has. */
static uint64_t count_roots(struct bfs_file *file)
{
	struct bfs_root roots[BFS_MAX_ROOTS];
	uint64_t n = 0;

	for (size_t i = 0; i < bfs_n_views; i++)
		n += get_roots(file, i, roots);
	return n;
}

/* The pos-th of them, or the one called `name`. */
static bool find_root(struct bfs_file *file, const char *name, size_t name_len,
		      uint64_t pos, struct bfs_node *ret_node,
		      const char **ret_name)
{
	for (size_t i = 0; i < bfs_n_views; i++) {
		struct bfs_root roots[BFS_MAX_ROOTS];
		size_t n = get_roots(file, i, roots);

		for (size_t k = 0; k < n; k++) {
			if (name ? strlen(roots[k].name) != name_len ||
				   memcmp(roots[k].name, name, name_len)
				 : pos-- > 0)
				continue;
			*ret_node = (struct bfs_node){ (uint16_t)i,
						       roots[k].kind, 0 };
			*ret_name = roots[k].name;
			return true;
		}
	}
	return false;
}

/* ---- what a store spreads in its own directory ----------------------- */

/* The directory whose entries stand in the container's own. */
static bool find_spread(const struct bfs_file *file,
			struct bfs_node *ret_dir)
{
	if (!file->array->container->is_store)
		return false;
	for (size_t i = 0; i < bfs_n_views; i++)
		if (bfs_views[i]->spread && bfs_file_shows(file, i)) {
			*ret_dir = (struct bfs_node){ .view = (uint16_t)i };
			return true;
		}
	return false;
}

/* Whether an entry of a view has this name. */
static bool is_taken(struct bfs_file *file, const char *name, size_t len)
{
	struct bfs_node node;
	const char *found;

	return find_root(file, name, len, 0, &node, &found);
}

/* A member called like an entry of a view is the second of that name. */
static bool lookup_spread(struct bfs_file *file, const char *name,
			  size_t name_len, struct bfs_node *ret_node)
{
	size_t tail = strlen(TWIN);
	const struct bfs_view *row;
	struct bfs_node dir;

	if (!find_spread(file, &dir))
		return false;
	row = bfs_views[dir.view];
	if (name_len > tail && !memcmp(name + name_len - tail, TWIN, tail) &&
	    is_taken(file, name, name_len - tail) &&
	    row->lookup(file, &dir, name, name_len - tail, ret_node))
		return true;
	return row->lookup(file, &dir, name, name_len, ret_node);
}

/* pos: behind the entries of views. */
static bool list_spread(struct bfs_file *file, uint64_t pos, char *name,
			struct bfs_node *ret_node)
{
	struct bfs_node dir;

	if (!find_spread(file, &dir) ||
	    !bfs_views[dir.view]->list(file, &dir, pos, name, ret_node))
		return false;
	if (is_taken(file, name, strlen(name)))
		strcat(name, TWIN);
	return true;
}

/* ---- entries of any view --------------------------------------------- */

bool bfs_file_lookup(struct bfs_file *file, const struct bfs_node *dir,
		     const char *name, size_t name_len,
		     struct bfs_node *ret_node)
{
	const struct bfs_view *row;
	const char *found;

	if (dir->view == BFS_VIEW_ROOT) {
		if (find_root(file, name, name_len, 0, ret_node, &found))
			return true;
		return !memchr(name, 0, name_len) &&
		       lookup_spread(file, name, name_len, ret_node);
	}
	row = bfs_file_row(file, dir);
	if (!row || !row->lookup || memchr(name, 0, name_len))
		return false;
	return row->lookup(file, dir, name, name_len, ret_node);
}

bool bfs_file_list(struct bfs_file *file, const struct bfs_node *dir,
		   uint64_t pos, char *name, struct bfs_node *ret_node)
{
	const struct bfs_view *row;
	const char *found;
	uint64_t n;

	if (dir->view == BFS_VIEW_ROOT) {
		if (find_root(file, NULL, 0, pos, ret_node, &found)) {
			snprintf(name, BFS_NAME_MAX + 1, "%s", found);
			return true;
		}
		n = count_roots(file);
		return pos >= n && list_spread(file, pos - n, name, ret_node);
	}
	row = bfs_file_row(file, dir);
	return row && row->list && row->list(file, dir, pos, name, ret_node);
}

/* C libraries list a directory in pieces of st_blksize: entries of a folder
 * per chunk come in few and large ones. */
static uint32_t listing_len(const struct bfs_file *file)
{
	uint64_t n = file->array->container->n_chunks;
	uint32_t len = 4096;

	while (len < LISTING_MAX && len / LISTING_ENTRY < n)
		len *= 2;
	return len;
}

/* Sizes as they are known: 0 where they are not. */
void bfs_file_stat_known(struct bfs_file *file, const struct bfs_node *node,
			 struct bfs_attr *ret_attr)
{
	const struct bfs_view *row = bfs_file_row(file, node);

	*ret_attr = (struct bfs_attr){ .blksize = 4096 };
	if (node->view == BFS_VIEW_ROOT)
		ret_attr->is_dir = true;
	else if (row)
		row->stat(file, node, ret_attr);
	/* An entry that claims more could not be looked at, not even listed. */
	ret_attr->len = bfs_min(ret_attr->len, INT64_MAX);
	ret_attr->stored_len = bfs_min(ret_attr->stored_len, INT64_MAX);
	if (row && row->is_dir && ret_attr->is_dir)
		ret_attr->blksize = listing_len(file);
}

void bfs_file_stat(struct bfs_file *file, const struct bfs_node *node,
		   struct bfs_attr *ret_attr)
{
	bfs_file_stat_known(file, node, ret_attr);
	if (ret_attr->is_dir || ret_attr->len || !bfs_file_row(file, node) ||
	    bfs_file_open(file, node, NULL) == BFS_OK)
		return;
	ret_attr->len = bfs_max(1, bfs_min(ret_attr->claim, INT64_MAX));
	ret_attr->stored_len = ret_attr->len;
}

bool bfs_file_keeps(struct bfs_file *file, const struct bfs_node *node)
{
	const struct bfs_view *row = bfs_file_row(file, node);

	return row && row->keeps && row->keeps(file, node);
}

bool bfs_file_is_dir(struct bfs_file *file, const struct bfs_node *node)
{
	const struct bfs_view *row = bfs_file_row(file, node);
	struct bfs_attr attr;

	if (row && row->is_dir)
		return row->is_dir(node);
	bfs_file_stat(file, node, &attr);
	return attr.is_dir;
}

enum bfs_err bfs_file_open(struct bfs_file *file, const struct bfs_node *node,
			   struct bfs_diag *diag)
{
	const struct bfs_view *row = bfs_file_row(file, node);
	const char *text;
	size_t len;

	if (node->view == BFS_VIEW_ROOT)
		return BFS_OK;
	if (!row)
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	return row->text ? row->text(file, &text, &len, diag) :
			   row->open(file, node, diag);
}

enum bfs_err bfs_file_seek(struct bfs_file *file, const struct bfs_node *node,
			   uint64_t off, bool hole, uint64_t *ret_off,
			   struct bfs_diag *diag)
{
	const struct bfs_view *row = bfs_file_row(file, node);
	uint64_t mark = bfs_moment_mark();
	struct bfs_attr attr;

	bfs_file_stat(file, node, &attr);
	while (off < attr.len) {
		uint64_t end = attr.len;
		bool in_hole = false;

		if (row && row->run && attr.stored_len < attr.len)
			end = row->run(file, node, off, attr.len, &in_hole);
		BFS_TRY(bfs_moment_settle(mark, BFS_OK, diag));
		if (in_hole == hole) {
			*ret_off = off;
			return BFS_OK;
		}
		off = end;
	}
	BFS_TRY(bfs_moment_settle(mark, BFS_OK, diag));
	if (!hole || off > attr.len)
		return bfs_fail(diag, BFS_ERR_RANGE, off, "nothing follows");
	*ret_off = off;
	return BFS_OK;
}
