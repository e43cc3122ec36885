/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks.c - blocks/N/K: block K of chunk N, decompressed. A chunk whose
 * header is damaged has an empty directory that cannot be opened.
 */
#include "base/bytes.h"
#include "view/numbers.h"
#include "view/parts.h"
#include "view/view.h"

enum kind { KIND_DIR, KIND_CHUNK, KIND_BLOCK };

/* A block's index holds the numbers of chunk and block; a chunk has less than
 * 2^31 bytes, and so fewer blocks than that. */
#define BLOCK_BITS 31

static size_t blocks_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	(void)file;
	ret_roots[0] = (struct bfs_root){ "blocks", KIND_DIR };
	return 1;
}

/* Number of blocks of chunk n, and block k's place in it. */
static enum bfs_err find_block(struct bfs_file *file, uint64_t n, uint64_t k,
			       uint32_t *ret_n_blocks, uint64_t *ret_off,
			       uint64_t *ret_len, struct bfs_diag *diag)
{
	struct bfs_chunk *chunk;
	struct bfs_span span;

	BFS_TRY(bfs_array_plan(file->array, n, &chunk, &span, diag));
	*ret_n_blocks = chunk->head.n_blocks;
	*ret_off = 0;
	*ret_len = 0;
	if (k < chunk->head.n_blocks) {
		*ret_off = bfs_chunk_block_off(chunk, (uint32_t)k);
		*ret_len = bfs_chunk_block_len(chunk, (uint32_t)k);
	}
	bfs_chunk_unref(chunk);
	return BFS_OK;
}

static bool make_block(struct bfs_file *file, const struct bfs_node *dir,
		       uint64_t k, struct bfs_node *ret_node)
{
	uint64_t off, len;
	uint32_t n_blocks;

	if (dir->index >> (64 - BLOCK_BITS) ||
	    find_block(file, dir->index, k, &n_blocks, &off, &len, NULL) !=
		    BFS_OK || k >= n_blocks)
		return false;
	*ret_node = (struct bfs_node){ dir->view, KIND_BLOCK,
				       dir->index << BLOCK_BITS | k };
	return true;
}

static bool blocks_lookup(struct bfs_file *file, const struct bfs_node *dir,
			  const char *name, size_t name_len,
			  struct bfs_node *ret_node)
{
	uint64_t k;

	if (dir->kind == KIND_DIR)
		return bfs_per_chunk_lookup(file, dir, KIND_CHUNK, name,
					    name_len, ret_node);
	return dir->kind == KIND_CHUNK &&
	       bfs_number_parse(name, name_len, &k) &&
	       make_block(file, dir, k, ret_node);
}

static bool blocks_list(struct bfs_file *file, const struct bfs_node *dir,
			uint64_t pos, char *name, struct bfs_node *ret_node)
{
	if (dir->kind == KIND_DIR)
		return bfs_per_chunk_list(file, dir, KIND_CHUNK, pos, name,
					  ret_node);
	if (dir->kind != KIND_CHUNK || !make_block(file, dir, pos, ret_node))
		return false;
	bfs_number_name(pos, name);
	return true;
}

static enum bfs_err place_block(struct bfs_file *file,
				const struct bfs_node *node, uint64_t *ret_off,
				uint64_t *ret_len, struct bfs_diag *diag)
{
	uint64_t k = node->index & ((UINT64_C(1) << BLOCK_BITS) - 1);
	uint32_t n_blocks;

	return find_block(file, node->index >> BLOCK_BITS, k, &n_blocks,
			  ret_off, ret_len, diag);
}

static bool blocks_is_dir(const struct bfs_node *node)
{
	return node->kind != KIND_BLOCK;
}

/* Appending leaves the chunks that are there as they are. */
static bool blocks_keeps(struct bfs_file *file, const struct bfs_node *node)
{
	(void)file;
	(void)node;
	return true;
}

static void blocks_stat(struct bfs_file *file, const struct bfs_node *node,
			struct bfs_attr *ret_attr)
{
	uint64_t off, len;

	ret_attr->is_dir = blocks_is_dir(node);
	if (ret_attr->is_dir ||
	    place_block(file, node, &off, &len, NULL) != BFS_OK)
		return;
	ret_attr->len = len;
	ret_attr->stored_len = len;
	ret_attr->blksize = bfs_file_blksize(file);
}

static enum bfs_err blocks_open(struct bfs_file *file,
				const struct bfs_node *node,
				struct bfs_diag *diag)
{
	uint64_t off, len;
	uint32_t n_blocks;

	if (node->kind == KIND_DIR)
		return BFS_OK;
	if (node->kind == KIND_CHUNK)
		return find_block(file, node->index, 0, &n_blocks, &off, &len,
				  diag);
	return place_block(file, node, &off, &len, diag);
}

static enum bfs_err blocks_part(struct bfs_file *file,
				const struct bfs_node *node, uint64_t off,
				uint64_t len, struct bfs_part *ret_part,
				struct bfs_diag *diag)
{
	struct bfs_stream stream = { BFS_STREAM_CHUNK, 0 };
	uint64_t block_off, block_len;

	BFS_TRY(place_block(file, node, &block_off, &block_len, diag));
	if (!bfs_inside(off, len, block_len))
		return bfs_fail(diag, BFS_ERR_RANGE, off,
				"beyond the end of a block");
	stream.index = node->index >> BLOCK_BITS;
	bfs_stream_part(&stream, block_off + off, len, ret_part);
	return BFS_OK;
}

const struct bfs_view bfs_view_blocks = {
	.name = "blocks",
	.roots = blocks_roots,
	.lookup = blocks_lookup,
	.list = blocks_list,
	.is_dir = blocks_is_dir,
	.keeps = blocks_keeps,
	.stat = blocks_stat,
	.open = blocks_open,
	.part = blocks_part,
};
