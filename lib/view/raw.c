/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * raw.c - raw/frame, the container's own bytes, and raw/chunks/N, each chunk
 * as it is stored.
 */
#include "view/numbers.h"
#include "view/parts.h"
#include "view/view.h"

#include <string.h>

/* raw/frame is so called whatever format the container has. */
enum kind { KIND_DIR, KIND_FRAME, KIND_CHUNKS, KIND_CHUNK };

static size_t raw_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	(void)file;
	ret_roots[0] = (struct bfs_root){ "raw", KIND_DIR };
	return 1;
}

static bool raw_lookup(struct bfs_file *file, const struct bfs_node *dir,
		       const char *name, size_t name_len,
		       struct bfs_node *ret_node)
{
	uint16_t kind;

	if (dir->kind == KIND_CHUNKS)
		return bfs_per_chunk_lookup(file, dir, KIND_CHUNK, name,
					    name_len, ret_node);
	if (dir->kind != KIND_DIR)
		return false;
	if (name_len == 5 && !memcmp(name, "frame", 5))
		kind = KIND_FRAME;
	else if (name_len == 6 && !memcmp(name, "chunks", 6))
		kind = KIND_CHUNKS;
	else
		return false;
	*ret_node = (struct bfs_node){ dir->view, kind, 0 };
	return true;
}

static bool raw_list(struct bfs_file *file, const struct bfs_node *dir,
		     uint64_t pos, char *name, struct bfs_node *ret_node)
{
	if (dir->kind == KIND_CHUNKS)
		return bfs_per_chunk_list(file, dir, KIND_CHUNK, pos, name,
					  ret_node);
	if (dir->kind != KIND_DIR || pos > 1)
		return false;
	strcpy(name, pos == 0 ? "frame" : "chunks");
	*ret_node = (struct bfs_node){
		dir->view, pos == 0 ? KIND_FRAME : KIND_CHUNKS, 0 };
	return true;
}

static struct bfs_stream find_stream(const struct bfs_node *node)
{
	return (struct bfs_stream){ node->kind == KIND_FRAME ?
					    BFS_STREAM_SOURCE :
					    BFS_STREAM_RAW_CHUNK,
				    node->index };
}

static bool is_dir(const struct bfs_node *node)
{
	return node->kind == KIND_DIR || node->kind == KIND_CHUNKS;
}

static bool raw_keeps(struct bfs_file *file, const struct bfs_node *node)
{
	(void)file;
	return node->kind != KIND_FRAME;
}

static void raw_stat(struct bfs_file *file, const struct bfs_node *node,
		     struct bfs_attr *ret_attr)
{
	struct bfs_stream stream = find_stream(node);

	ret_attr->is_dir = is_dir(node);
	if (!ret_attr->is_dir)
		bfs_stream_stat(file, &stream, ret_attr);
}

static enum bfs_err raw_open(struct bfs_file *file,
			     const struct bfs_node *node,
			     struct bfs_diag *diag)
{
	struct bfs_stream stream = find_stream(node);

	return is_dir(node) ? BFS_OK : bfs_array_ready(file->array, &stream,
						       diag);
}

static enum bfs_err raw_part(struct bfs_file *file,
			     const struct bfs_node *node, uint64_t off,
			     uint64_t len, struct bfs_part *ret_part,
			     struct bfs_diag *diag)
{
	struct bfs_stream stream = find_stream(node);

	(void)file;
	(void)diag;
	bfs_stream_part(&stream, off, len, ret_part);
	return BFS_OK;
}

const struct bfs_view bfs_view_raw = {
	.name = "raw",
	.roots = raw_roots,
	.lookup = raw_lookup,
	.list = raw_list,
	.is_dir = is_dir,
	.keeps = raw_keeps,
	.stat = raw_stat,
	.open = raw_open,
	.part = raw_part,
};
