/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * meta.c - meta/, vlmeta/, meta.json and vlmeta.json: the metalayers as
 * bytes and as one JSON object each. The folders are always there.
 */
#include "base/bytes.h"
#include "view/meta/json.h"
#include "view/meta/layers.h"
#include "view/meta/names.h"
#include "view/parts.h"
#include "view/view.h"

#include <stdio.h>

enum kind {
	KIND_META_DIR,
	KIND_VLMETA_DIR,
	KIND_META_JSON,
	KIND_VLMETA_JSON,
	KIND_META,
	KIND_VLMETA,
};

static bool is_json(const struct bfs_node *node)
{
	return node->kind == KIND_META_JSON || node->kind == KIND_VLMETA_JSON;
}

static bool is_folder(const struct bfs_node *node)
{
	return node->kind == KIND_META_DIR || node->kind == KIND_VLMETA_DIR;
}

static bool node_layer(const struct bfs_file *file,
		       const struct bfs_node *node, struct bfs_layer *ret_layer)
{
	if (node->kind != KIND_META && node->kind != KIND_VLMETA)
		return false;
	return bfs_layer_find(file, node->kind == KIND_META, node->index,
			      ret_layer);
}

static enum bfs_err get_json(struct bfs_file *file,
			     const struct bfs_node *node,
			     const char **ret_text, size_t *ret_len,
			     struct bfs_diag *diag)
{
	return bfs_kept_text(file, BFS_ROW_meta, node->kind == KIND_META_JSON,
			     bfs_meta_make_json, ret_text, ret_len, diag);
}

static size_t meta_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	(void)file;
	ret_roots[0] = (struct bfs_root){ "meta", KIND_META_DIR };
	ret_roots[1] = (struct bfs_root){ "vlmeta", KIND_VLMETA_DIR };
	ret_roots[2] = (struct bfs_root){ "meta.json", KIND_META_JSON };
	ret_roots[3] = (struct bfs_root){ "vlmeta.json", KIND_VLMETA_JSON };
	return 4;
}

static struct bfs_node child(const struct bfs_node *dir, uint64_t index)
{
	return (struct bfs_node){
		dir->view,
		dir->kind == KIND_META_DIR ? KIND_META : KIND_VLMETA,
		index,
	};
}

static bool meta_lookup(struct bfs_file *file, const struct bfs_node *dir,
			const char *name, size_t name_len,
			struct bfs_node *ret_node)
{
	size_t index;

	if (!is_folder(dir) ||
	    !bfs_meta_find_name(file, dir->kind == KIND_META_DIR, name,
				name_len, &index))
		return false;
	*ret_node = child(dir, index);
	return true;
}

static bool meta_list(struct bfs_file *file, const struct bfs_node *dir,
		      uint64_t pos, char *name, struct bfs_node *ret_node)
{
	struct bfs_layer layer;
	const char *text;

	if (!is_folder(dir) ||
	    !bfs_layer_find(file, dir->kind == KIND_META_DIR, pos, &layer) ||
	    bfs_meta_name(file, &layer, &text, NULL) != BFS_OK)
		return false;
	snprintf(name, BFS_NAME_MAX + 1, "%s", text);
	*ret_node = child(dir, pos);
	return true;
}

static void meta_stat(struct bfs_file *file, const struct bfs_node *node,
		      struct bfs_attr *ret_attr)
{
	struct bfs_layer layer;
	const char *text;
	uint64_t len;
	size_t text_len;

	if (is_folder(node)) {
		ret_attr->is_dir = true;
	} else if (is_json(node)) {
		if (get_json(file, node, &text, &text_len, NULL) == BFS_OK)
			bfs_text_stat(text_len, ret_attr);
	} else if (node_layer(file, node, &layer) &&
		   bfs_layer_len(file, &layer, &len, NULL) == BFS_OK) {
		ret_attr->len = len;
		ret_attr->stored_len = len;
		ret_attr->blksize = bfs_file_blksize(file);
	}
}

static enum bfs_err meta_open(struct bfs_file *file,
			      const struct bfs_node *node,
			      struct bfs_diag *diag)
{
	struct bfs_stream stream = { BFS_STREAM_VLMETA, node->index };
	struct bfs_layer layer;
	const char *text;
	uint64_t len;
	size_t text_len;

	if (is_folder(node))
		return BFS_OK;
	if (is_json(node))
		return get_json(file, node, &text, &text_len, diag);
	if (!node_layer(file, node, &layer))
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	if (!layer.fixed)
		return bfs_array_ready(file->array, &stream, diag);
	return bfs_layer_len(file, &layer, &len, diag);
}

static enum bfs_err meta_part(struct bfs_file *file,
			      const struct bfs_node *node, uint64_t off,
			      uint64_t len, struct bfs_part *ret_part,
			      struct bfs_diag *diag)
{
	struct bfs_layer layer;
	const char *text;
	size_t text_len;

	if (is_json(node)) {
		BFS_TRY(get_json(file, node, &text, &text_len, diag));
		return bfs_text_part(text, text_len, off, len, ret_part, diag);
	}
	if (!node_layer(file, node, &layer))
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	ret_part->stream = bfs_layer_stream(&layer);
	ret_part->off = off;
	ret_part->len = len;
	return BFS_OK;
}

const struct bfs_view bfs_view_meta = {
	.name = "meta",
	.groups = " tables ",
	.on = true,
	.n_texts = 2,
	.roots = meta_roots,
	.lookup = meta_lookup,
	.list = meta_list,
	.stat = meta_stat,
	.open = meta_open,
	.part = meta_part,
	.release = bfs_meta_free_names,
};
