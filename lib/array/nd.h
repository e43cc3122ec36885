/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nd.h - n-dimensional tiling: a byte range of the array in C order becomes
 * boxes, and boxes become pieces of blocks.
 *
 * All lengths are in bytes: the item is treated as one more innermost
 * dimension, so a range may begin and end inside an item. Immutable after
 * init; pure arithmetic, no I/O. See docs/formats/b2nd.md, geometry.
 */
#ifndef BFS_ARRAY_ND_H
#define BFS_ARRAY_ND_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BFS_ND_MAX 16

struct bfs_nd {
	unsigned n;			/* dimensions used below, >= 1 */
	/* Internal dimensions, slowest first; the last is bytes. Trailing
	 * dimensions that lie contiguous are already merged. */
	uint64_t shape[BFS_ND_MAX + 1];
	uint64_t chunk[BFS_ND_MAX + 1];
	uint64_t block[BFS_ND_MAX + 1];
	uint64_t grid[BFS_ND_MAX + 1];	/* chunks along each */
	uint64_t nblk[BFS_ND_MAX + 1];	/* blocks per chunk along each */
	uint64_t array_len;		/* bytes, without padding */
	uint64_t chunk_len;		/* bytes, of an extended chunk */
	uint64_t tile_len;		/* bytes, of a chunk's own items */
	uint64_t block_len;		/* bytes */
	uint64_t n_chunks;
	uint64_t n_blocks;		/* per chunk */
};

/* Checks the three shapes (docs/formats/b2nd.md) and sets the geometry. ndim
 * 0: one item. A zero in shape is legal (array_len 0). CORRUPT for products
 * that overflow, or for zero or negative chunk and block sizes where the
 * shape is not zero. */
enum bfs_err bfs_nd_init(unsigned ndim, const int64_t *shape,
			 const int32_t *chunkshape, const int32_t *blockshape,
			 uint64_t typesize, struct bfs_nd *ret_nd,
			 struct bfs_diag *diag) BFS_MUST_CHECK;

/* One block's share of a range: `n` nested dimensions of extents `count`,
 * from src (offset in the decoded block, byte strides) to dst (offset in the
 * caller's buffer, byte strides); the innermost is `run` bytes in one go.
 * n is 0 where the whole piece is one run. */
struct bfs_nd_piece {
	uint64_t chunk;
	uint64_t block;
	unsigned n;
	uint64_t src_off, dst_off;
	uint64_t count[BFS_ND_MAX + 1];
	uint64_t src_stride[BFS_ND_MAX + 1];
	uint64_t dst_stride[BFS_ND_MAX + 1];
	uint64_t run;			/* bytes */
};

/* Walks [off, off + len) of the array in C order, or of one chunk as if that
 * were the array, and yields every piece; pieces of one chunk follow each other
 * as far as boxes allow. What lies beyond the array's edge is left out, in the
 * padding of a chunk too. The fields are private; only the first nd->n entries
 * of each array are ever set. */
struct bfs_nd_walk {
	const struct bfs_nd *nd;
	const uint64_t *extent;		/* of what is walked: nd's shape, or
					 * chunk for a tile */
	bool is_tile;
	uint64_t limit[BFS_ND_MAX + 1];	/* how much of a tile is array */
	uint64_t first_chunk;		/* the tile's number, or 0 */
	uint64_t off, end;		/* what is left, in array bytes */
	uint64_t base;			/* array offset of dst 0 */
	uint64_t src_stride[BFS_ND_MAX + 1];
	uint64_t dst_stride[BFS_ND_MAX + 1];
	uint64_t lo[BFS_ND_MAX + 1];	/* the current box, half-open */
	uint64_t hi[BFS_ND_MAX + 1];
	uint64_t at_chunk[BFS_ND_MAX + 1];	/* grid position */
	uint64_t chunk_first[BFS_ND_MAX + 1];	/* that the box touches */
	uint64_t chunk_last[BFS_ND_MAX + 1];
	uint64_t chunk;			/* number of the current one */
	uint64_t part_lo[BFS_ND_MAX + 1];	/* of the box, in the chunk */
	uint64_t part_hi[BFS_ND_MAX + 1];
	uint64_t at_block[BFS_ND_MAX + 1];	/* in the chunk */
	uint64_t block_first[BFS_ND_MAX + 1];
	uint64_t block_last[BFS_ND_MAX + 1];
	/* Of the current block; [d + 1] sums up dimensions 0 to d. */
	uint64_t count[BFS_ND_MAX + 1];
	uint64_t src_sum[BFS_ND_MAX + 2];
	uint64_t dst_sum[BFS_ND_MAX + 2];
	uint64_t block_sum[BFS_ND_MAX + 2];
	unsigned moved;			/* first dimension to sum up anew */
	bool in_box;
};

void bfs_nd_walk_init(struct bfs_nd_walk *walk, const struct bfs_nd *nd,
		      uint64_t off, uint64_t len);
/* The same for bytes of chunk n (< n_chunks) alone: its items in C order,
 * without the padding of blocks (tile_len bytes). A chunk at the
 * array's edge has places without an item: no piece covers them. */
void bfs_nd_walk_init_tile(struct bfs_nd_walk *walk, const struct bfs_nd *nd,
			   uint64_t n, uint64_t off, uint64_t len);
/* Whether every place of chunk n (< n_chunks) has an item. */
bool bfs_nd_tile_is_whole(const struct bfs_nd *nd, uint64_t n);
/* False when there is nothing more. */
bool bfs_nd_walk_next(struct bfs_nd_walk *walk, struct bfs_nd_piece *ret_piece);

/* Copies a piece from a decoded block into dst. */
void bfs_nd_copy(const struct bfs_nd_piece *piece, const uint8_t *block,
		 uint8_t *dst);

#endif
