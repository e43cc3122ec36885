/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.c - an array as an uncompressed Zarr store of versions 2 and 3, and a
 * group with that array as its member `data`: the entries of the views zarr,
 * zarr2 and zarr3. Each node tells by its view which versions it is of.
 *
 * The view zarr has metadata and keys of both versions in one folder, which is
 * what Zarr means them to do: 0.0 and c/0/0 are the same chunk. A chunk has
 * its full size also at the array's edge; what reads as zeros is a hole, and
 * its key is found but not listed.
 */
#include "view/zarr/store.h"

#include "base/bytes.h"
#include "view/chunkfacts.h"
#include "view/parts.h"
#include "view/payload.h"
#include "view/zarr/grid.h"
#include "view/zarr/listed.h"
#include "view/zarr/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum kind {
	KIND_STORE,		/* the array's folder */
	KIND_ARRAY2,		/* its metadata */
	KIND_ATTRS2,
	KIND_ARRAY3,
	KIND_KEYS,		/* c, c/0, ... */
	KIND_KEY2,		/* 0.0 */
	KIND_KEY3,		/* c/0/0 */
	KIND_GROUP,		/* the folder around it */
	KIND_GROUP2,		/* its metadata */
	KIND_GROUP_ATTRS2,
	KIND_ALL2,
	KIND_GROUP3,
};

/* An index holds what a node of one kind needs: whether it lies in the group,
 * of a folder of keys how many coordinates it has, and their number. */
#define IN_GROUP (UINT64_C(1) << 63)
#define DEPTH_SHIFT 57
#define DEPTH_MASK UINT64_C(63)
#define NUMBER_MASK ((UINT64_C(1) << DEPTH_SHIFT) - 1)

_Static_assert(BFS_ZARR_CHUNKS <= NUMBER_MASK && BFS_ZARR_DIMS <= DEPTH_MASK,
	       "an index holds all of it");

/* Metadata: files of one version in one kind of folder. */
static const struct meta {
	const char *name;
	enum kind dir, kind;
	unsigned version;
	enum bfs_zarr_text text;	/* where it is not fixed */
	const char *fixed;
} metas[] = {
	{ ".zarray", KIND_STORE, KIND_ARRAY2, 2, BFS_ZARR_ARRAY2, NULL },
	{ ".zattrs", KIND_STORE, KIND_ATTRS2, 2, BFS_ZARR_ATTRS2, NULL },
	{ "zarr.json", KIND_STORE, KIND_ARRAY3, 3, BFS_ZARR_ARRAY3, NULL },
	{ ".zgroup", KIND_GROUP, KIND_GROUP2, 2, BFS_ZARR_N_TEXTS,
	  "{\n  \"zarr_format\": 2\n}\n" },
	{ ".zattrs", KIND_GROUP, KIND_GROUP_ATTRS2, 2, BFS_ZARR_N_TEXTS,
	  "{}\n" },
	{ ".zmetadata", KIND_GROUP, KIND_ALL2, 2, BFS_ZARR_ALL2, NULL },
	{ "zarr.json", KIND_GROUP, KIND_GROUP3, 3, BFS_ZARR_GROUP3, NULL },
};

/* Whether a row shows a version, which the array has. */
static bool has_version(const struct bfs_zarr *z, unsigned row,
			unsigned version)
{
	if (row == (version == 2 ? BFS_ROW_zarr3 : BFS_ROW_zarr2))
		return false;
	return version == 2 ? !z->v2_why[0] : !z->v3_why[0];
}

static uint64_t number_of(const struct bfs_node *node)
{
	return node->index & NUMBER_MASK;
}

static unsigned depth_of(const struct bfs_node *node)
{
	return (unsigned)(node->index >> DEPTH_SHIFT & DEPTH_MASK);
}

static struct bfs_node make_node(const struct bfs_node *dir, enum kind kind,
				 unsigned depth, uint64_t number)
{
	return (struct bfs_node){ dir->view, (uint16_t)kind,
				  (dir->index & IN_GROUP) |
				  (uint64_t)depth << DEPTH_SHIFT | number };
}

bool bfs_zarr_is_dir(const struct bfs_node *node)
{
	return node->kind == KIND_STORE || node->kind == KIND_KEYS ||
	       node->kind == KIND_GROUP;
}

static bool is_key(const struct bfs_node *node)
{
	return node->kind == KIND_KEY2 || node->kind == KIND_KEY3;
}

/* ---- entries --------------------------------------------------------- */

size_t bfs_zarr_roots(struct bfs_file *file, enum bfs_row row,
		      const char *store, const char *group,
		      struct bfs_root *ret_roots)
{
	const struct bfs_zarr *z = bfs_zarr_get(file);

	if (!z || (!has_version(z, row, 2) && !has_version(z, row, 3)))
		return 0;
	ret_roots[0] = (struct bfs_root){ store, KIND_STORE };
	ret_roots[1] = (struct bfs_root){ group, KIND_GROUP };
	return 2;
}

/* The metadata file of a folder with this name, or the pos-th. */
static bool find_meta(const struct bfs_zarr *z, const struct bfs_node *dir,
		      const char *name, size_t name_len, uint64_t *pos,
		      const struct meta **ret_meta)
{
	for (size_t i = 0; i < BFS_ARRAY_LEN(metas); i++) {
		const struct meta *m = &metas[i];

		if (m->dir != (enum kind)dir->kind ||
		    !has_version(z, dir->view, m->version))
			continue;
		if (name ? strlen(m->name) == name_len &&
			   !memcmp(m->name, name, name_len)
			 : (*pos)-- == 0) {
			*ret_meta = m;
			return true;
		}
	}
	return false;
}

/* What c leads to: of an array without dimensions it is the chunk itself. */
static struct bfs_node first_keys(const struct bfs_zarr *z,
				  const struct bfs_node *dir)
{
	return make_node(dir, z->n ? KIND_KEYS : KIND_KEY3, 0, 0);
}

/* One coordinate further into the folders of keys. */
static bool step_keys(const struct bfs_zarr *z, const struct bfs_node *dir,
		      uint64_t at, struct bfs_node *ret_node)
{
	unsigned depth = depth_of(dir);

	if (depth >= z->n || at >= z->grid[depth])
		return false;
	*ret_node = make_node(dir, depth + 1 == z->n ? KIND_KEY3 : KIND_KEYS,
			      depth + 1 == z->n ? 0 : depth + 1,
			      number_of(dir) * z->grid[depth] + at);
	return true;
}

/* Takes one coordinate off a name: digits without zeros before them. */
static bool take_coordinate(const char **at, const char *end,
			    uint64_t *ret_v)
{
	const char *p = *at;
	uint64_t v = 0;

	while (p < end && *p >= '0' && *p <= '9' && p - *at < 18)
		v = v * 10 + (uint64_t)(*p++ - '0');
	if (p == *at || (**at == '0' && p - *at > 1))
		return false;
	*at = p;
	*ret_v = v;
	return true;
}

/* A key of version 2: 0.0, and 0 where there are no dimensions. */
static bool parse_key2(const struct bfs_zarr *z, const char *name, size_t len,
		       uint64_t *ret_number)
{
	const char *end = name + len;
	uint64_t number = 0, at;
	unsigned d;

	for (d = 0; d < bfs_max(z->n, 1); d++) {
		if (d && (name == end || *name++ != '.'))
			return false;
		if (!take_coordinate(&name, end, &at) ||
		    at >= (z->n ? z->grid[d] : 1))
			return false;
		number = number * (z->n ? z->grid[d] : 1) + at;
	}
	*ret_number = number;
	return name == end;
}

static void write_key2(const struct bfs_zarr *z, uint64_t number, char *name)
{
	uint64_t at[BFS_ZARR_DIMS] = { 0 };
	size_t len = 0;
	unsigned d;

	for (d = z->n; d-- > 0; number /= z->grid[d])
		at[d] = number % z->grid[d];
	for (d = 0; d < bfs_max(z->n, 1); d++)
		len += (size_t)snprintf(name + len, BFS_NAME_MAX + 1 - len,
					"%s%" PRIu64, d ? "." : "", at[d]);
}

static bool lookup_store(const struct bfs_zarr *z, const struct bfs_node *dir,
			 const char *name, size_t name_len,
			 struct bfs_node *ret_node)
{
	uint64_t number;

	if (!z->n_chunks)
		return false;
	if (has_version(z, dir->view, 3) && name_len == 1 && *name == 'c') {
		*ret_node = first_keys(z, dir);
		return true;
	}
	if (!has_version(z, dir->view, 2) ||
	    !parse_key2(z, name, name_len, &number))
		return false;
	*ret_node = make_node(dir, KIND_KEY2, 0, number);
	return true;
}

bool bfs_zarr_lookup(struct bfs_file *file, const struct bfs_node *dir,
		     const char *name, size_t name_len,
		     struct bfs_node *ret_node)
{
	const struct bfs_zarr *z = bfs_zarr_get(file);
	const char *end = name + name_len;
	const struct meta *meta;
	uint64_t at;

	if (!z)
		return false;
	if (find_meta(z, dir, name, name_len, NULL, &meta)) {
		*ret_node = make_node(dir, meta->kind, 0, 0);
		return true;
	}
	switch (dir->kind) {
	case KIND_STORE:
		return lookup_store(z, dir, name, name_len, ret_node);
	case KIND_KEYS:
		return take_coordinate(&name, end, &at) && name == end &&
		       step_keys(z, dir, at, ret_node);
	case KIND_GROUP:
		*ret_node = (struct bfs_node){ dir->view, KIND_STORE,
					       IN_GROUP };
		return name_len == 4 && !memcmp(name, "data", 4);
	default:
		return false;
	}
}

/* The pos-th of the entries of one depth that is listed. Where a reader would
 * not take a chunk that it does not see for zeros, all are. */
static bool find_listed(struct bfs_file *file, const struct bfs_zarr *z,
			const struct bfs_node *dir, unsigned depth,
			uint64_t from, uint64_t end, uint64_t pos,
			uint64_t *ret_number)
{
	bool null_fill = dir->index & IN_GROUP && dir->view != BFS_ROW_zarr3;

	if (!null_fill && bfs_zarr_has_fill(z))
		return bfs_zarr_listed(file, z, depth, from, end, pos,
				       ret_number);
	*ret_number = from + pos;
	return pos < end - from;
}

static bool list_store(struct bfs_file *file, const struct bfs_zarr *z,
		       const struct bfs_node *dir, uint64_t pos, char *name,
		       struct bfs_node *ret_node)
{
	uint64_t number;

	if (!z->n_chunks)
		return false;
	if (has_version(z, dir->view, 3) && pos-- == 0) {
		strcpy(name, "c");
		*ret_node = first_keys(z, dir);
		return true;
	}
	if (!has_version(z, dir->view, 2) ||
	    !find_listed(file, z, dir, z->n, 0, z->n_chunks, pos, &number))
		return false;
	write_key2(z, number, name);
	*ret_node = make_node(dir, KIND_KEY2, 0, number);
	return true;
}

static bool list_keys(struct bfs_file *file, const struct bfs_zarr *z,
		      const struct bfs_node *dir, uint64_t pos, char *name,
		      struct bfs_node *ret_node)
{
	unsigned depth = depth_of(dir);
	uint64_t from, number;

	if (depth >= z->n)
		return false;
	from = number_of(dir) * z->grid[depth];
	if (!find_listed(file, z, dir, depth + 1, from, from + z->grid[depth],
			 pos, &number))
		return false;
	snprintf(name, BFS_NAME_MAX + 1, "%" PRIu64, number - from);
	return step_keys(z, dir, number - from, ret_node);
}

bool bfs_zarr_list(struct bfs_file *file, const struct bfs_node *dir,
		   uint64_t pos, char *name, struct bfs_node *ret_node)
{
	const struct bfs_zarr *z = bfs_zarr_get(file);
	const struct meta *meta;

	if (!z)
		return false;
	if (find_meta(z, dir, NULL, 0, &pos, &meta)) {
		strcpy(name, meta->name);
		*ret_node = make_node(dir, meta->kind, 0, 0);
		return true;
	}
	switch (dir->kind) {
	case KIND_STORE:
		return list_store(file, z, dir, pos, name, ret_node);
	case KIND_KEYS:
		return list_keys(file, z, dir, pos, name, ret_node);
	case KIND_GROUP:
		strcpy(name, "data");
		*ret_node = (struct bfs_node){ dir->view, KIND_STORE,
					       IN_GROUP };
		return pos == 0;
	default:
		return false;
	}
}

/* ---- files ----------------------------------------------------------- */

/* The whole text of a metadata file. */
static enum bfs_err get_text(struct bfs_file *file, const struct bfs_node *node,
			     const char **ret_text, size_t *ret_len,
			     struct bfs_diag *diag)
{
	const struct bfs_zarr *z = bfs_zarr_get(file);
	const struct meta *m = metas;

	while (m < metas + BFS_ARRAY_LEN(metas) &&
	       m->kind != (enum kind)node->kind)
		m++;
	if (!z || m == metas + BFS_ARRAY_LEN(metas) ||
	    !has_version(z, node->view, m->version))
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	if (m->fixed) {
		*ret_text = m->fixed;
		*ret_len = strlen(m->fixed);
		return BFS_OK;
	}
	if (m->text == BFS_ZARR_ARRAY2 && node->index & IN_GROUP)
		return bfs_zarr_text(file, BFS_ZARR_MEMBER2, ret_text,
				     ret_len, diag);
	return bfs_zarr_text(file, m->text, ret_text, ret_len, diag);
}

/* The array of a key, and whether its number is one. */
static const struct bfs_zarr *find_chunk(struct bfs_file *file,
					 const struct bfs_node *node)
{
	const struct bfs_zarr *z = bfs_zarr_get(file);

	return z && is_key(node) && number_of(node) < z->n_chunks ? z : NULL;
}

static bool is_hole(struct bfs_file *file, const struct bfs_node *node)
{
	const struct bfs_zarr *z = find_chunk(file, node);

	return z && z->tiled &&
	       bfs_chunk_is_hole(file->array->container, number_of(node));
}

void bfs_zarr_stat(struct bfs_file *file, const struct bfs_node *node,
		   struct bfs_attr *ret_attr)
{
	const struct bfs_zarr *z = find_chunk(file, node);
	const char *text;
	size_t len;

	ret_attr->is_dir = bfs_zarr_is_dir(node);
	if (z) {
		ret_attr->blksize = bfs_file_blksize(file);
		ret_attr->len = z->chunk_len;
		ret_attr->stored_len = is_hole(file, node) ? 0 : z->chunk_len;
	} else if (!ret_attr->is_dir && !is_key(node) &&
		   get_text(file, node, &text, &len, NULL) == BFS_OK) {
		bfs_text_stat(len, ret_attr);
	}
}

uint64_t bfs_zarr_run(struct bfs_file *file, const struct bfs_node *node,
		      uint64_t off, uint64_t len, bool *ret_hole)
{
	(void)off;
	*ret_hole = is_hole(file, node);
	return len;
}

enum bfs_err bfs_zarr_open(struct bfs_file *file,
			   const struct bfs_node *node,
			   struct bfs_diag *diag)
{
	const struct bfs_zarr *z = find_chunk(file, node);
	const char *text;
	size_t len;

	if (bfs_zarr_is_dir(node))
		return BFS_OK;
	if (!is_key(node))
		return get_text(file, node, &text, &len, diag);
	if (!z)
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	return z->tiled ? BFS_OK : bfs_payload_ready(file, diag);
}

/* Of a joined array: data, then the padding of a last chunk. */
static void find_joined(const struct bfs_zarr *z, const struct bfs_node *node,
			uint64_t off, uint64_t len, struct bfs_part *ret_part)
{
	static const uint8_t zeros[65536];
	uint64_t at, used;

	bfs_zarr_place(z, number_of(node), &at, &used);
	if (off < used) {
		ret_part->stream.kind = BFS_STREAM_DATA;
		ret_part->off = at + off;
		ret_part->len = bfs_min(len, used - off);
	} else {
		ret_part->bytes = zeros;
		ret_part->len = bfs_min(len, sizeof(zeros));
	}
}

enum bfs_err bfs_zarr_part(struct bfs_file *file,
			   const struct bfs_node *node, uint64_t off,
			   uint64_t len, struct bfs_part *ret_part,
			   struct bfs_diag *diag)
{
	const struct bfs_zarr *z = find_chunk(file, node);
	const char *text;
	size_t text_len;

	if (z && !bfs_inside(off, len, z->chunk_len))
		return bfs_fail(diag, BFS_ERR_RANGE, off,
				"beyond the end of a chunk");
	if (z && z->tiled) {
		ret_part->stream = (struct bfs_stream){ BFS_STREAM_TILE,
							number_of(node) };
		ret_part->off = off;
		ret_part->len = len;
		return BFS_OK;
	}
	if (z) {
		find_joined(z, node, off, len, ret_part);
		return BFS_OK;
	}
	BFS_TRY(get_text(file, node, &text, &text_len, diag));
	return bfs_text_part(text, text_len, off, len, ret_part, diag);
}

/* ---- info.json ------------------------------------------------------- */

void bfs_zarr_put_verdict(struct bfs_json *json, const char *key,
			  const char *why)
{
	bfs_json_key(json, key);
	if (why[0])
		bfs_json_string(json, why);
	else
		bfs_json_bool(json, true);
}

void bfs_zarr_note(struct bfs_file *file, struct bfs_json *json,
		   const char *key, unsigned version)
{
	const struct bfs_zarr *z;

	if (!bfs_payload_is_array(file))
		return;
	z = bfs_zarr_get(file);
	if (z) {
		bfs_zarr_put_verdict(json, key,
				     version == 2 ? z->v2_why : z->v3_why);
		return;
	}
	bfs_json_key(json, key);
	bfs_json_bool(json, false);
}
