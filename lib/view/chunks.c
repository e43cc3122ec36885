/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chunks.c - chunks/0000000000 ...: every chunk decompressed as stored.
 *
 * Names are logical numbers in at least ten decimal digits, so that nothing
 * is kept per chunk. Without an index the directory is empty.
 */
#include "view/chunkfacts.h"
#include "view/numbers.h"
#include "view/parts.h"
#include "view/view.h"

enum kind { KIND_DIR, KIND_CHUNK };

static size_t chunks_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	(void)file;
	ret_roots[0] = (struct bfs_root){ "chunks", KIND_DIR };
	return 1;
}

static bool chunks_lookup(struct bfs_file *file, const struct bfs_node *dir,
			  const char *name, size_t name_len,
			  struct bfs_node *ret_node)
{
	return dir->kind == KIND_DIR &&
	       bfs_per_chunk_lookup(file, dir, KIND_CHUNK, name, name_len,
				    ret_node);
}

static bool chunks_list(struct bfs_file *file, const struct bfs_node *dir,
			uint64_t pos, char *name, struct bfs_node *ret_node)
{
	return dir->kind == KIND_DIR &&
	       bfs_per_chunk_list(file, dir, KIND_CHUNK, pos, name, ret_node);
}

static bool chunks_is_dir(const struct bfs_node *node)
{
	return node->kind == KIND_DIR;
}

static bool chunks_is_chunk(const struct bfs_node *node, uint64_t *ret_n)
{
	*ret_n = node->index;
	return node->kind == KIND_CHUNK;
}

/* Appending leaves the chunks that are there as they are. */
static bool chunks_keeps(struct bfs_file *file, const struct bfs_node *node)
{
	(void)file;
	(void)node;
	return true;
}

static void chunks_stat(struct bfs_file *file, const struct bfs_node *node,
			struct bfs_attr *ret_attr)
{
	struct bfs_stream stream = { BFS_STREAM_CHUNK, node->index };
	uint64_t len;

	if (node->kind == KIND_DIR) {
		ret_attr->is_dir = true;
		return;
	}
	ret_attr->blksize = bfs_file_blksize(file);
	if (node->index >= file->array->container->n_chunks ||
	    bfs_array_len(file->array, &stream, &len, NULL) != BFS_OK)
		return;
	ret_attr->len = len;
	ret_attr->stored_len =
		bfs_chunk_is_hole(file->array->container, node->index) ? 0
								       : len;
}

static uint64_t chunks_run(struct bfs_file *file, const struct bfs_node *node,
			   uint64_t off, uint64_t len, bool *ret_hole)
{
	(void)off;
	*ret_hole = bfs_chunk_is_hole(file->array->container, node->index);
	return len;
}

static enum bfs_err chunks_open(struct bfs_file *file,
				const struct bfs_node *node,
				struct bfs_diag *diag)
{
	struct bfs_stream stream = { BFS_STREAM_CHUNK, node->index };

	if (node->kind == KIND_DIR)
		return BFS_OK;
	if (node->index >= file->array->container->n_chunks)
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	return bfs_array_ready(file->array, &stream, diag);
}

static enum bfs_err chunks_part(struct bfs_file *file,
				const struct bfs_node *node, uint64_t off,
				uint64_t len, struct bfs_part *ret_part,
				struct bfs_diag *diag)
{
	struct bfs_stream stream = { BFS_STREAM_CHUNK, node->index };

	(void)file;
	(void)diag;
	bfs_stream_part(&stream, off, len, ret_part);
	return BFS_OK;
}

const struct bfs_view bfs_view_chunks = {
	.name = "chunks",
	.on = true,
	.roots = chunks_roots,
	.lookup = chunks_lookup,
	.list = chunks_list,
	.is_dir = chunks_is_dir,
	.keeps = chunks_keeps,
	.is_chunk = chunks_is_chunk,
	.stat = chunks_stat,
	.open = chunks_open,
	.run = chunks_run,
	.part = chunks_part,
};
