/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * view.c - the table of views, one opened file with its names, and reading
 * a virtual file part by part.
 *
 * In: an opened array and which views are on. Out: entries, attributes, and
 * bytes. Nodes come from callers and are checked here and in the rows.
 */
#include "view/view.h"

#include "base/bytes.h"
#include "container/nametree.h"
#include "base/mem.h"
#include "base/moment.h"
#include "view/file.h"
#include "view/zarr/zarr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct bfs_view *const bfs_views[] = {
#define BFS_VIEW_ROW(stem) &bfs_view_##stem,
#include "view/rows.def"
#undef BFS_VIEW_ROW
};

const size_t bfs_n_views = BFS_ARRAY_LEN(bfs_views);

_Static_assert(BFS_ARRAY_LEN(bfs_views) <= 32, "views are bits of 32");

#define MAX_ROOTS 8
#define INFO_NAME "info.json"
#define LISTING_MAX (UINT32_C(1) << 20)
#define LISTING_ENTRY 160	/* bytes, with attributes */

/* ---- which views are on ---------------------------------------------- */

static bool find_view(const char *word, size_t len, uint32_t *ret_bit)
{
	for (size_t i = 0; i < bfs_n_views; i++) {
		const char *name = bfs_views[i]->name;

		if (!bfs_views[i]->always && strlen(name) == len &&
		    memcmp(name, word, len) == 0) {
			*ret_bit = UINT32_C(1) << i;
			return true;
		}
	}
	return false;
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
		uint32_t bit;

		if (!find_view(at, len, &bit))
			return bfs_fail(diag, BFS_ERR_INVALID,
					(uint64_t)(at - list),
					"unknown view '%.*s'",
					(int)bfs_min(len, 64), at);
		views |= bit;
		at += len;
		if (!*at)
			break;
		at++;
	}
	*ret_views = views;
	return BFS_OK;
}

/* ---- names of metalayers --------------------------------------------- */

/* A name that no directory can hold is cut; its number in the container
 * keeps it apart ('%' never stands before "~~" otherwise). */
static void cut_name(char *text, size_t index)
{
	size_t n = BFS_NAME_MAX - 24;

	while (n > 0 && ((uint8_t)text[n] & 0xc0) == 0x80)
		n--;
	snprintf(text + n, 24, "%%~~%zu", index);
}

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
	const struct bfs_name *a = pa, *b = pb;

	return strcmp(a->text, b->text);
}

/* Sorted by raw bytes, equal names are neighbours in stored order, which
 * numbers them in one pass. */
static enum bfs_err escape_all(const struct bfs_meta *metas, size_t n,
			       struct raw_name *raw, char **names)
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
		names[raw[i].index] = text;
	}
	return BFS_OK;
}

/* Allocates and fills *ret_names (n, NULL where memory ended) and the order
 * by name; the caller frees both, also on failure. */
static enum bfs_err name_all(const struct bfs_meta *metas, size_t n,
			     char ***ret_names, struct bfs_name **ret_order)
{
	BFS_CLEANUP(bfs_freep) struct raw_name *raw = NULL;

	*ret_names = bfs_zalloc(n, sizeof(**ret_names));
	*ret_order = bfs_zalloc(n, sizeof(**ret_order));
	raw = bfs_zalloc(n, sizeof(*raw));
	if (!*ret_names || !*ret_order || !raw)
		return BFS_ERR_NOMEM;
	BFS_TRY(escape_all(metas, n, raw, *ret_names));
	for (size_t i = 0; i < n; i++)
		(*ret_order)[i] = (struct bfs_name){ (*ret_names)[i], i };
	if (n > 1)
		qsort(*ret_order, n, sizeof(**ret_order), compare_names);
	return BFS_OK;
}

bool bfs_name_find(const struct bfs_name *order, size_t n, const char *name,
		   size_t name_len, size_t *ret_index)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = strncmp(order[mid].text, name, name_len);

		if (c == 0 && order[mid].text[name_len])
			c = 1;
		if (c == 0) {
			*ret_index = order[mid].index;
			return true;
		}
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

/* ---- an opened file -------------------------------------------------- */

static void free_names(char **names, size_t n)
{
	for (size_t i = 0; names && i < n; i++)
		bfs_free(names[i]);
	bfs_free(names);
}

void bfs_file_free(struct bfs_file *file)
{
	struct bfs_file_state *state;
	const struct bfs_container *container;

	if (!file)
		return;
	state = bfs_file_state(file);
	container = file->array->container;
	for (size_t i = 0; i < BFS_N_TEXTS; i++)
		bfs_free(file->texts[i].buf);
	bfs_zarr_free(state->zarr);
	bfs_free(state->meta_order);
	bfs_free(state->vlmeta_order);
	free_names(file->meta_names, container->n_metas);
	free_names(file->vlmeta_names, container->n_vlmetas);
	pthread_mutex_destroy(&file->lock);
	bfs_array_close(file->array);
	bfs_free(state);
}

static enum bfs_err fill_file(struct bfs_file_state *state)
{
	struct bfs_file *file = &state->file;
	const struct bfs_container *container = file->array->container;

	BFS_TRY(name_all(container->metas, container->n_metas,
			 &file->meta_names, &state->meta_order));
	BFS_TRY(name_all(container->vlmetas, container->n_vlmetas,
			 &file->vlmeta_names, &state->vlmeta_order));
	return BFS_OK;
}

enum bfs_err bfs_file_new(struct bfs_array *array, uint32_t views,
			  struct bfs_file **ret_file, struct bfs_diag *diag)
{
	struct bfs_file_state *state = bfs_zalloc(1, sizeof(*state));

	if (!state) {
		bfs_array_close(array);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for an opened file");
	}
	state->file.array = array;
	state->file.views = views;
	pthread_mutex_init(&state->file.lock, NULL);
	if (fill_file(state) != BFS_OK) {
		bfs_file_free(&state->file);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for the names of metalayers");
	}
	*ret_file = &state->file;
	return BFS_OK;
}

/* ---- texts ----------------------------------------------------------- */

bool bfs_text_kept(const struct bfs_text *text, enum bfs_err *ret_err,
		   const char **ret_text, size_t *ret_len,
		   struct bfs_diag *diag)
{
	if (!bfs_flag_get(&text->made))
		return false;
	if (text->err == BFS_OK) {
		*ret_text = text->buf;
		*ret_len = text->len;
	} else if (diag) {
		*diag = text->why;
	}
	*ret_err = text->err;
	return true;
}

enum bfs_err bfs_text_keep(struct bfs_file *file, struct bfs_text *text,
			   uint64_t mark, enum bfs_err err, char *buf,
			   size_t len,
			   struct bfs_diag *why, const char **ret_text,
			   size_t *ret_len, struct bfs_diag *diag)
{
	enum bfs_err ret;

	if (err != BFS_OK)
		buf = NULL;
	if (err == BFS_OK)
		err = bfs_source_check(file->array->container->source, why);
	err = bfs_moment_settle(mark, err, why);
	if (bfs_err_passes(err)) {
		bfs_free(buf);
		if (diag)
			*diag = *why;
		return err;
	}
	ret = err;
	pthread_mutex_lock(&file->lock);
	if (!text->made) {
		text->err = err;
		if (err == BFS_OK) {
			text->buf = buf;
			text->len = len;
		} else {
			text->why = *why;
		}
		buf = NULL;
		bfs_flag_set(&text->made);
	}
	pthread_mutex_unlock(&file->lock);
	if (err == BFS_OK)
		bfs_free(buf);	/* another thread was faster */
	if (!bfs_text_kept(text, &ret, ret_text, ret_len, diag))
		return BFS_ERR_INVALID;
	return ret;
}

enum bfs_err bfs_file_text(struct bfs_file *file, enum bfs_text_slot slot,
			   enum bfs_err (*make)(struct bfs_file *file,
						char **ret_text,
						size_t *ret_len,
						struct bfs_diag *diag),
			   const char **ret_text, size_t *ret_len,
			   struct bfs_diag *diag)
{
	struct bfs_text *text = &file->texts[slot];
	uint64_t mark = bfs_moment_mark();
	struct bfs_diag why = { .chunk = -1 };
	enum bfs_err err;
	char *buf = NULL;
	size_t len = 0;

	if (bfs_text_kept(text, &err, ret_text, ret_len, diag))
		return err;
	err = make(file, &buf, &len, &why);
	return bfs_text_keep(file, text, mark, err, buf, len, &why, ret_text,
			     ret_len, diag);
}

void bfs_text_stat(size_t len, struct bfs_attr *ret_attr)
{
	ret_attr->len = len;
	ret_attr->stored_len = len;
	ret_attr->blksize = 4096;
}

uint32_t bfs_file_blksize(const struct bfs_file *file)
{
	uint32_t want = file->array->container->blocksize;
	uint32_t size = 4096;

	if (!want)
		want = 65536;
	while (size < want && size < 1048576)
		size *= 2;
	return size;
}

/* ---- entries --------------------------------------------------------- */

static bool is_on(const struct bfs_file *file, size_t i)
{
	return file->views >> i & 1;
}

static const struct bfs_view *find_row(const struct bfs_file *file,
				       const struct bfs_node *node)
{
	if (node->view >= bfs_n_views || !is_on(file, node->view))
		return NULL;
	return bfs_views[node->view];
}

/* A store has members instead of data: of the views only those that say so
 * and the facts about it apply. */
static bool fits_store(const struct bfs_file *file, size_t i)
{
	return !file->array->container->is_store || bfs_views[i]->in_stores;
}

/* How many entries of its own the frame's directory has. */
static uint64_t count_roots(struct bfs_file *file)
{
	struct bfs_root roots[MAX_ROOTS];
	uint64_t n = 0;

	for (size_t i = 0; i < bfs_n_views; i++)
		if (is_on(file, i) && fits_store(file, i))
			n += bfs_views[i]->roots(file, roots);
	return n;
}

static struct bfs_node members_root(void)
{
	struct bfs_node node = { 0 };

	while (bfs_views[node.view] != &bfs_view_members)
		node.view++;
	return node;
}

/* A member called like an entry of ours is the second of that name. */
static bool find_member(struct bfs_file *file, const char *name,
			size_t name_len, struct bfs_node *ret_node)
{
	static const char twin[] = INFO_NAME "%~2";
	struct bfs_node root = members_root();

	if (!file->array->container->is_store)
		return false;
	if (name_len == strlen(twin) && !memcmp(name, twin, name_len) &&
	    bfs_view_members.lookup(file, &root, INFO_NAME, strlen(INFO_NAME),
				    ret_node))
		return true;
	return bfs_view_members.lookup(file, &root, name, name_len, ret_node);
}

static bool list_member(struct bfs_file *file, uint64_t pos, char *name,
			struct bfs_node *ret_node)
{
	struct bfs_node root = members_root();
	uint64_t n = count_roots(file);

	if (!file->array->container->is_store || pos < n ||
	    !bfs_view_members.list(file, &root, pos - n, name, ret_node))
		return false;
	if (!strcmp(name, INFO_NAME))
		strcat(name, "%~2");
	return true;
}

/* The pos-th entry of the frame's directory, or the one called `name`. */
static bool find_root(struct bfs_file *file, const char *name, size_t name_len,
		      uint64_t pos, struct bfs_root *ret_root,
		      uint16_t *ret_view)
{
	for (size_t i = 0; i < bfs_n_views; i++) {
		struct bfs_root roots[MAX_ROOTS];
		size_t n = is_on(file, i) && fits_store(file, i)
				   ? bfs_views[i]->roots(file, roots) : 0;

		for (size_t k = 0; k < n; k++) {
			if (name ? strlen(roots[k].name) != name_len ||
				   memcmp(roots[k].name, name, name_len)
				 : pos-- > 0)
				continue;
			*ret_root = roots[k];
			*ret_view = (uint16_t)i;
			return true;
		}
	}
	return false;
}

bool bfs_file_lookup(struct bfs_file *file, const struct bfs_node *dir,
		     const char *name, size_t name_len,
		     struct bfs_node *ret_node)
{
	const struct bfs_view *row;
	struct bfs_root root;
	uint16_t view;

	if (dir->view == BFS_VIEW_ROOT) {
		if (!find_root(file, name, name_len, 0, &root, &view))
			return !memchr(name, 0, name_len) &&
			       find_member(file, name, name_len, ret_node);
		*ret_node = (struct bfs_node){ view, root.kind, 0 };
		return true;
	}
	row = find_row(file, dir);
	if (!row || !row->lookup || memchr(name, 0, name_len))
		return false;
	return row->lookup(file, dir, name, name_len, ret_node);
}

bool bfs_file_list(struct bfs_file *file, const struct bfs_node *dir,
		   uint64_t pos, char *name, struct bfs_node *ret_node)
{
	const struct bfs_view *row;
	struct bfs_root root;
	uint16_t view;

	if (dir->view == BFS_VIEW_ROOT) {
		if (!find_root(file, NULL, 0, pos, &root, &view))
			return list_member(file, pos, name, ret_node);
		snprintf(name, BFS_NAME_MAX + 1, "%s", root.name);
		*ret_node = (struct bfs_node){ view, root.kind, 0 };
		return true;
	}
	row = find_row(file, dir);
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
static void stat_known(struct bfs_file *file, const struct bfs_node *node,
		       struct bfs_attr *ret_attr)
{
	const struct bfs_view *row = find_row(file, node);

	*ret_attr = (struct bfs_attr){ .blksize = 4096 };
	if (node->view == BFS_VIEW_ROOT)
		ret_attr->is_dir = true;
	else if (row)
		row->stat(file, node, ret_attr);
	if (row && row->is_dir && ret_attr->is_dir)
		ret_attr->blksize = listing_len(file);
}

void bfs_file_stat(struct bfs_file *file, const struct bfs_node *node,
		   struct bfs_attr *ret_attr)
{
	stat_known(file, node, ret_attr);
	if (ret_attr->is_dir || ret_attr->len || !find_row(file, node) ||
	    bfs_file_open(file, node, NULL) == BFS_OK)
		return;
	ret_attr->len = bfs_max(1, bfs_min(ret_attr->claim, INT64_MAX));
	ret_attr->stored_len = ret_attr->len;
}

bool bfs_file_keeps(struct bfs_file *file, const struct bfs_node *node)
{
	const struct bfs_view *row = find_row(file, node);

	return row && row->keeps && row->keeps(file, node);
}

bool bfs_file_is_dir(struct bfs_file *file, const struct bfs_node *node)
{
	const struct bfs_view *row = find_row(file, node);
	struct bfs_attr attr;

	if (row && row->is_dir)
		return row->is_dir(node);
	bfs_file_stat(file, node, &attr);
	return attr.is_dir;
}

enum bfs_err bfs_file_open(struct bfs_file *file, const struct bfs_node *node,
			   struct bfs_diag *diag)
{
	const struct bfs_view *row = find_row(file, node);

	if (node->view == BFS_VIEW_ROOT)
		return BFS_OK;
	if (!row)
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	return row->open(file, node, diag);
}

enum bfs_err bfs_file_seek(struct bfs_file *file, const struct bfs_node *node,
			   uint64_t off, bool hole, uint64_t *ret_off,
			   struct bfs_diag *diag)
{
	const struct bfs_view *row = find_row(file, node);
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

/* ---- reading --------------------------------------------------------- */

/* How much of [off, off + len) is inside the file. A known size of 0 may mean
 * that it is not: then open tells why. */
static enum bfs_err clip(struct bfs_file *file, const struct bfs_node *node,
			 uint64_t off, size_t len, size_t *ret_len,
			 struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	struct bfs_attr attr;

	stat_known(file, node, &attr);
	BFS_TRY(bfs_moment_settle(mark, BFS_OK, diag));
	if (attr.is_dir)
		return bfs_fail(diag, BFS_ERR_INVALID, 0,
				"a directory has no bytes");
	if (!attr.len)
		BFS_TRY(bfs_file_open(file, node, diag));
	*ret_len = off < attr.len ? (size_t)bfs_min(len, attr.len - off) : 0;
	return BFS_OK;
}

/* The part at off; a row that gives nothing would never end. */
static enum bfs_err next_part(struct bfs_file *file,
			      const struct bfs_node *node, uint64_t off,
			      size_t len, struct bfs_part *ret_part,
			      struct bfs_diag *diag)
{
	const struct bfs_view *row = find_row(file, node);

	if (!row)
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	*ret_part = (struct bfs_part){ .made = row->fill, .len = len };
	if (row->fill)
		return BFS_OK;
	BFS_TRY(row->part(file, node, off, len, ret_part, diag));
	if (!ret_part->len || ret_part->len > len)
		return bfs_fail(diag, BFS_ERR_RANGE, off,
				"no byte of the file lies there");
	return BFS_OK;
}

static enum bfs_err read_parts(struct bfs_file *file,
			       const struct bfs_node *node, uint64_t off,
			       uint8_t *buf, size_t len, struct bfs_diag *diag)
{
	size_t done = 0;

	while (done < len) {
		struct bfs_part part;

		BFS_TRY(next_part(file, node, off + done, len - done, &part,
				  diag));
		if (part.made)
			BFS_TRY(find_row(file, node)->fill(
				file, node, off + done, buf + done,
				(size_t)part.len, diag));
		else if (part.bytes)
			memcpy(buf + done, part.bytes, (size_t)part.len);
		else
			BFS_TRY(bfs_array_read(file->array, &part.stream,
					       part.off, buf + done,
					       (size_t)part.len, diag));
		done += (size_t)part.len;
	}
	return BFS_OK;
}

enum bfs_err bfs_file_read(struct bfs_file *file, const struct bfs_node *node,
			   uint64_t off, void *buf, size_t len,
			   size_t *ret_len, struct bfs_diag *diag)
{
	size_t n;

	BFS_TRY(clip(file, node, off, len, &n, diag));
	BFS_TRY(read_parts(file, node, off, buf, n, diag));
	*ret_len = n;
	return BFS_OK;
}

static void add_piece(struct bfs_pieces *pieces, void *p, size_t len)
{
	pieces->iov[pieces->n].iov_base = p;
	pieces->iov[pieces->n].iov_len = len;
	pieces->n++;
}

/* A reply only reads what an iovec points at. */
static void *drop_const(const void *p)
{
	union {
		const void *in;
		void *out;
	} u = { p };

	return u.out;
}

/* Pins part after part; false in *ret_all where there are too many pieces, or
 * bytes that must be made. */
static enum bfs_err pin_parts(struct bfs_file *file,
			      const struct bfs_node *node, uint64_t off,
			      uint8_t *buf, size_t len,
			      struct bfs_pieces *pieces, bool *ret_all,
			      struct bfs_diag *diag)
{
	size_t done = 0;

	while (done < len && pieces->n < BFS_MAX_PIECES) {
		struct bfs_part part;

		BFS_TRY(next_part(file, node, off + done, len - done, &part,
				  diag));
		if (part.made)
			break;
		if (part.bytes)
			add_piece(pieces, drop_const(part.bytes),
				  (size_t)part.len);
		else
			BFS_TRY(bfs_array_pin(file->array, &part.stream,
					      part.off, buf + done,
					      (size_t)part.len, pieces,
					      diag));
		done += (size_t)part.len;
	}
	*ret_all = done == len;
	return BFS_OK;
}

static void release(struct bfs_file *file, struct bfs_pieces *pieces)
{
	bfs_array_release(file->array, pieces);
	pieces->n = 0;
	pieces->n_pins = 0;
}

enum bfs_err bfs_file_pin(struct bfs_file *file, const struct bfs_node *node,
			  uint64_t off, void *buf, size_t len,
			  struct bfs_pieces *ret_pieces, struct bfs_diag *diag)
{
	enum bfs_err err;
	bool all = false;
	size_t n;

	ret_pieces->n = 0;
	ret_pieces->n_pins = 0;
	BFS_TRY(clip(file, node, off, len, &n, diag));
	err = pin_parts(file, node, off, buf, n, ret_pieces, &all, diag);
	if (err == BFS_OK && all)
		return BFS_OK;
	release(file, ret_pieces);
	BFS_TRY(err);
	BFS_TRY(read_parts(file, node, off, buf, n, diag));
	add_piece(ret_pieces, buf, n);
	return BFS_OK;
}
