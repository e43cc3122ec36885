/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lazy.c - lazy/N: each chunk as a lazy chunk, which is its header, its
 * block starts and a trailer that tells where its blocks lie.
 */
#include "view/numbers.h"
#include "view/parts.h"
#include "view/view.h"

enum kind { KIND_DIR, KIND_CHUNK };

static size_t lazy_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	(void)file;
	ret_roots[0] = (struct bfs_root){ "lazy", KIND_DIR };
	return 1;
}

static bool lazy_lookup(struct bfs_file *file, const struct bfs_node *dir,
			const char *name, size_t name_len,
			struct bfs_node *ret_node)
{
	return dir->kind == KIND_DIR &&
	       bfs_per_chunk_lookup(file, dir, KIND_CHUNK, name, name_len,
				    ret_node);
}

static bool lazy_list(struct bfs_file *file, const struct bfs_node *dir,
		      uint64_t pos, char *name, struct bfs_node *ret_node)
{
	return dir->kind == KIND_DIR &&
	       bfs_per_chunk_list(file, dir, KIND_CHUNK, pos, name, ret_node);
}

static bool lazy_is_dir(const struct bfs_node *node)
{
	return node->kind == KIND_DIR;
}

/* Appending leaves the chunks that are there as they are. */
static bool lazy_keeps(struct bfs_file *file, const struct bfs_node *node)
{
	(void)file;
	(void)node;
	return true;
}

static void lazy_stat(struct bfs_file *file, const struct bfs_node *node,
		      struct bfs_attr *ret_attr)
{
	struct bfs_stream stream = { BFS_STREAM_LAZY_CHUNK, node->index };

	ret_attr->is_dir = lazy_is_dir(node);
	if (!ret_attr->is_dir)
		bfs_stream_stat(file, &stream, ret_attr);
}

static enum bfs_err lazy_open(struct bfs_file *file,
			      const struct bfs_node *node,
			      struct bfs_diag *diag)
{
	struct bfs_stream stream = { BFS_STREAM_LAZY_CHUNK, node->index };

	return node->kind == KIND_DIR ? BFS_OK :
		bfs_array_ready(file->array, &stream, diag);
}

static enum bfs_err lazy_part(struct bfs_file *file,
			      const struct bfs_node *node, uint64_t off,
			      uint64_t len, struct bfs_part *ret_part,
			      struct bfs_diag *diag)
{
	struct bfs_stream stream = { BFS_STREAM_LAZY_CHUNK, node->index };

	(void)file;
	(void)diag;
	bfs_stream_part(&stream, off, len, ret_part);
	return BFS_OK;
}

const struct bfs_view bfs_view_lazy = {
	.name = "lazy",
	.roots = lazy_roots,
	.lookup = lazy_lookup,
	.list = lazy_list,
	.is_dir = lazy_is_dir,
	.keeps = lazy_keeps,
	.stat = lazy_stat,
	.open = lazy_open,
	.part = lazy_part,
};
