/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nd.c - the geometry of tiled arrays: shapes are checked once, then a range
 * of the array becomes pieces of blocks by arithmetic that cannot overflow.
 *
 * Shapes from a file come in. After init every product of extents, strides
 * and positions is at most array_len or the length of all chunks, which both
 * fit in 64 bits. Padding is never part of a piece.
 */
#include "array/nd.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <string.h>

static bool multiply(uint64_t *product, uint64_t by)
{
	return bfs_mul(*product, by, product);
}

/* Takes one dimension in; false if it cannot be. */
static bool add_dim(struct bfs_nd *nd, unsigned d, int64_t shape, int64_t chunk,
		    int64_t block)
{
	if (shape < 0 || chunk < 0 || block < 0)
		return false;
	nd->shape[d] = (uint64_t)shape;
	nd->chunk[d] = (uint64_t)chunk;
	nd->block[d] = (uint64_t)block;
	/* Without items there is nothing to find; zeros are legal then. */
	nd->grid[d] = chunk ? bfs_div_up(nd->shape[d], nd->chunk[d]) : 0;
	nd->nblk[d] = block ? bfs_div_up(nd->chunk[d], nd->block[d]) : 0;
	return true;
}

/* The six products over all dimensions; false when one overflows. */
static bool multiply_out(struct bfs_nd *nd)
{
	uint64_t all;
	unsigned d;

	nd->array_len = nd->chunk_len = nd->block_len = nd->tile_len = 1;
	nd->n_chunks = nd->n_blocks = 1;
	for (d = 0; d < nd->n; d++) {
		/* A product must not hide behind a zero that comes later. */
		if (!multiply(&nd->array_len, bfs_max(nd->shape[d], 1)) ||
		    !multiply(&nd->chunk_len, nd->nblk[d] * nd->block[d]) ||
		    !multiply(&nd->block_len, nd->block[d]) ||
		    !multiply(&nd->tile_len, nd->chunk[d]) ||
		    !multiply(&nd->n_chunks, nd->grid[d]) ||
		    !multiply(&nd->n_blocks, nd->nblk[d]))
			return false;
	}
	all = nd->chunk_len;
	return multiply(&all, nd->n_chunks);
}

static void remove_dim(struct bfs_nd *nd, unsigned d)
{
	for (nd->n--; d < nd->n; d++) {
		nd->shape[d] = nd->shape[d + 1];
		nd->chunk[d] = nd->chunk[d + 1];
		nd->block[d] = nd->block[d + 1];
		nd->grid[d] = nd->grid[d + 1];
		nd->nblk[d] = nd->nblk[d + 1];
	}
}

/*
 * A dimension that array, chunk and block all hold whole has no tiles and no
 * padding: position (i, j) in the dimension before it and in it is position
 * i * extent + j in array, chunk and block alike. So it goes into the one
 * before it, whose tile counts stay as they are. Dimensions of extent 1 in
 * all three contribute nothing anywhere.
 */
static void merge_dims(struct bfs_nd *nd)
{
	unsigned d = nd->n;

	while (d-- > 0 && nd->n > 1) {
		uint64_t len = nd->shape[d];

		if (nd->chunk[d] != len || nd->block[d] != len ||
		    (!d && len != 1))
			continue;
		if (d) {
			nd->shape[d - 1] *= len;
			nd->chunk[d - 1] *= len;
			nd->block[d - 1] *= len;
		}
		remove_dim(nd, d);
	}
}

enum bfs_err bfs_nd_init(unsigned ndim, const int64_t *shape,
			 const int32_t *chunkshape, const int32_t *blockshape,
			 uint64_t typesize, struct bfs_nd *ret_nd,
			 struct bfs_diag *diag)
{
	struct bfs_nd nd = { 0 };
	bool empty = false, degenerate = false;
	unsigned d;

	if (ndim > BFS_ND_MAX)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"%u dimensions are too many", ndim);
	if (!typesize || typesize > INT32_MAX)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"no array has items of this size");
	nd.n = ndim + 1;
	for (d = 0; d < ndim; d++) {
		if (!add_dim(&nd, d, shape[d], chunkshape[d], blockshape[d]))
			return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
					"dimension %u has a negative size", d);
		empty |= !shape[d];
		degenerate |= !chunkshape[d] || !blockshape[d];
	}
	if (degenerate && !empty)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"chunks or blocks of no items");
	(void)add_dim(&nd, ndim, (int64_t)typesize, (int64_t)typesize,
		      (int64_t)typesize);
	if (!multiply_out(&nd))
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"the array is too big to count");
	if (empty) {
		nd.array_len = 0;
		nd.n_chunks = 0;
	} else {
		merge_dims(&nd);
	}
	*ret_nd = nd;
	return BFS_OK;
}

/* Sets out on [off, off + len) of all_len bytes of this extent. */
static void start_walk(struct bfs_nd_walk *walk, const struct bfs_nd *nd,
		       const uint64_t *extent, uint64_t all_len, uint64_t off,
		       uint64_t len)
{
	unsigned d = nd->n - 1;

	BFS_CHECK(nd->n >= 1 && nd->n <= BFS_ND_MAX + 1);
	walk->nd = nd;
	walk->extent = extent;
	walk->off = bfs_min(off, all_len);
	walk->end = walk->off + bfs_min(len, all_len - walk->off);
	walk->base = off;
	walk->in_box = false;
	if (walk->off == walk->end)
		return;
	walk->src_stride[d] = 1;
	walk->dst_stride[d] = 1;
	for (; d > 0; d--) {
		walk->src_stride[d - 1] = walk->src_stride[d] * nd->block[d];
		walk->dst_stride[d - 1] = walk->dst_stride[d] * extent[d];
	}
}

void bfs_nd_walk_init(struct bfs_nd_walk *walk, const struct bfs_nd *nd,
		      uint64_t off, uint64_t len)
{
	walk->is_tile = false;
	walk->first_chunk = 0;
	start_walk(walk, nd, nd->shape, nd->array_len, off, len);
}

void bfs_nd_walk_init_tile(struct bfs_nd_walk *walk, const struct bfs_nd *nd,
			   uint64_t n, uint64_t off, uint64_t len)
{
	uint64_t left = n;
	unsigned d;

	BFS_ASSERT(n < nd->n_chunks);
	walk->is_tile = true;
	walk->first_chunk = n;
	for (d = nd->n; d-- > 0; left /= nd->grid[d]) {
		uint64_t at = left % nd->grid[d] * nd->chunk[d];

		walk->limit[d] = bfs_min(nd->chunk[d], nd->shape[d] - at);
	}
	start_walk(walk, nd, nd->chunk, nd->tile_len, off, len);
}

bool bfs_nd_tile_is_whole(const struct bfs_nd *nd, uint64_t n)
{
	unsigned d;

	for (d = nd->n; d-- > 0; n /= nd->grid[d])
		if ((n % nd->grid[d] + 1) * nd->chunk[d] > nd->shape[d])
			return false;
	return true;
}

/* Finds what part of the box lies in the current chunk. */
static void open_chunk(struct bfs_nd_walk *walk)
{
	const struct bfs_nd *nd = walk->nd;
	unsigned d;

	walk->chunk = 0;
	for (d = 0; d < nd->n; d++) {
		uint64_t at = walk->at_chunk[d] * nd->chunk[d];
		uint64_t lo = bfs_max(walk->lo[d], at) - at;
		uint64_t hi = bfs_min(walk->hi[d] - at, nd->chunk[d]);

		walk->chunk = walk->chunk * nd->grid[d] + walk->at_chunk[d];
		walk->part_lo[d] = lo;
		walk->part_hi[d] = hi;
		walk->block_first[d] = lo / nd->block[d];
		walk->block_last[d] = (hi - 1) / nd->block[d];
		walk->at_block[d] = walk->block_first[d];
	}
	walk->chunk += walk->first_chunk;
	walk->moved = 0;
}

/* Cuts off what of the box lies beyond the array; false if nothing is left. */
static bool clip_box(struct bfs_nd_walk *walk)
{
	unsigned d;

	for (d = 0; walk->is_tile && d < walk->nd->n; d++) {
		if (walk->lo[d] >= walk->limit[d])
			return false;
		walk->hi[d] = bfs_min(walk->hi[d], walk->limit[d]);
	}
	return true;
}

/*
 * Takes the biggest box off the front of the range: the outermost dimension
 * of which at least one whole step fits, as many steps as fit, and all of the
 * dimensions inside it. A range is at most 2n - 1 boxes. None is open where
 * the box has nothing of the array.
 */
static void open_box(struct bfs_nd_walk *walk)
{
	const struct bfs_nd *nd = walk->nd;
	uint64_t left = walk->off, steps;
	unsigned d, k = nd->n;

	for (d = 0; d < nd->n; d++) {
		walk->lo[d] = left / walk->dst_stride[d];
		left %= walk->dst_stride[d];
		if (k == nd->n && !left &&
		    walk->end - walk->off >= walk->dst_stride[d])
			k = d;
		walk->hi[d] = walk->lo[d] + 1;
	}
	steps = bfs_min((walk->end - walk->off) / walk->dst_stride[k],
			walk->extent[k] - walk->lo[k]);
	walk->hi[k] = walk->lo[k] + steps;
	for (d = k + 1; d < nd->n; d++)
		walk->hi[d] = walk->extent[d];
	walk->off += steps * walk->dst_stride[k];
	if (!clip_box(walk))
		return;
	for (d = 0; d < nd->n; d++) {
		walk->chunk_first[d] = walk->lo[d] / nd->chunk[d];
		walk->chunk_last[d] = (walk->hi[d] - 1) / nd->chunk[d];
		walk->at_chunk[d] = walk->chunk_first[d];
	}
	walk->in_box = true;
	open_chunk(walk);
}

/* Moves a position on in C order; *ret_d is the first dimension that moved.
 * False after the last one. */
static bool step(uint64_t *at, const uint64_t *first, const uint64_t *last,
		 unsigned n, unsigned *ret_d)
{
	unsigned d;

	for (d = n; d-- > 0;) {
		if (at[d] < last[d]) {
			at[d]++;
			*ret_d = d;
			return true;
		}
		at[d] = first[d];
	}
	return false;
}

/* Sums up the current block, from the first dimension that moved. */
static void sum_up(struct bfs_nd_walk *walk)
{
	const struct bfs_nd *nd = walk->nd;
	unsigned d = walk->moved;

	if (!d) {
		walk->src_sum[0] = 0;
		walk->dst_sum[0] = 0;
		walk->block_sum[0] = 0;
	}
	for (; d < nd->n; d++) {
		uint64_t at = walk->at_block[d] * nd->block[d];
		uint64_t lo = bfs_max(walk->part_lo[d], at);
		uint64_t hi = bfs_min(walk->part_hi[d], at + nd->block[d]);
		uint64_t pos = walk->at_chunk[d] * nd->chunk[d] + lo;

		walk->count[d] = hi - lo;
		walk->src_sum[d + 1] = walk->src_sum[d] +
				       (lo - at) * walk->src_stride[d];
		walk->dst_sum[d + 1] = walk->dst_sum[d] +
				       pos * walk->dst_stride[d];
		walk->block_sum[d + 1] = walk->block_sum[d] * nd->nblk[d] +
					 walk->at_block[d];
	}
}

/* Writes the loops of a piece: extents of 1 vanish, and two dimensions whose
 * steps follow each other on both sides become one. */
static void nest(const struct bfs_nd_walk *walk, struct bfs_nd_piece *piece)
{
	unsigned n = walk->nd->n, k = 0, d;

	for (d = 0; d < n; d++) {
		uint64_t count = walk->count[d];
		uint64_t src = walk->src_stride[d], dst = walk->dst_stride[d];

		if (count == 1)
			continue;
		if (k && piece->src_stride[k - 1] == count * src &&
		    piece->dst_stride[k - 1] == count * dst)
			count *= piece->count[--k];
		piece->count[k] = count;
		piece->src_stride[k] = src;
		piece->dst_stride[k] = dst;
		k++;
	}
	piece->run = 1;
	if (k && piece->src_stride[k - 1] == 1 && piece->dst_stride[k - 1] == 1)
		piece->run = piece->count[--k];
	piece->n = k;
}

bool bfs_nd_walk_next(struct bfs_nd_walk *walk, struct bfs_nd_piece *ret_piece)
{
	const struct bfs_nd *nd = walk->nd;
	unsigned d;

	while (!walk->in_box) {
		if (walk->off == walk->end)
			return false;
		open_box(walk);
	}
	sum_up(walk);
	ret_piece->chunk = walk->chunk;
	ret_piece->block = walk->block_sum[nd->n];
	ret_piece->src_off = walk->src_sum[nd->n];
	ret_piece->dst_off = walk->dst_sum[nd->n] - walk->base;
	nest(walk, ret_piece);
	BFS_ASSERT(ret_piece->chunk < nd->n_chunks &&
		   ret_piece->block < nd->n_blocks);
	if (step(walk->at_block, walk->block_first, walk->block_last, nd->n,
		 &walk->moved))
		return true;
	if (step(walk->at_chunk, walk->chunk_first, walk->chunk_last, nd->n,
		 &d))
		open_chunk(walk);
	else
		walk->in_box = false;
	return true;
}
