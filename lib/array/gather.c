/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gather.c - a range of an array in C order, gathered from its tiles.
 *
 * Pieces of one chunk are collected, their blocks fetched together, then
 * copied. Zeros are written without a block behind them.
 */
#include "array/priv.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/call.h"

#include <inttypes.h>
#include <string.h>

/* Pinned at once by one request, in bytes, but at least one block. */
#define BATCH_LEN (UINT64_C(8) << 20)

/* Pieces of one chunk that wait for their blocks. */
struct batch {
	struct bfs_array *array;
	uint8_t *dst;
	struct bfs_diag *diag;
	uint64_t id;
	struct bfs_plan plan;
	bool has_plan;
	size_t n, max;
	struct bfs_nd_piece pieces[BFS_FETCH_MAX];
};

static void fill_zeros(const struct bfs_nd_piece *p, unsigned dim, uint8_t *dst)
{
	uint64_t i;

	if (dim == p->n) {
		memset(dst, 0, (size_t)p->run);
		return;
	}
	for (i = 0; i < p->count[dim]; i++)
		fill_zeros(p, dim + 1, dst + i * p->dst_stride[dim]);
}

static enum bfs_err flush(struct batch *b)
{
	struct bfs_cache_pin pins[BFS_FETCH_MAX];
	uint32_t blocks[BFS_FETCH_MAX];
	size_t n = b->n, i;

	if (n == 0)
		return BFS_OK;
	b->n = 0;
	for (i = 0; i < n; i++)
		blocks[i] = (uint32_t)b->pieces[i].block;
	BFS_TRY(bfs_array_fetch(b->array, b->id, &b->plan, blocks, n, pins,
				b->diag));
	for (i = 0; i < n; i++) {
		bfs_nd_copy(&b->pieces[i], pins[i].data, b->dst);
		bfs_cache_unpin(b->array->engine->cache, &pins[i], false);
	}
	return BFS_OK;
}

static void drop_plan(struct batch *b)
{
	if (b->has_plan)
		bfs_chunk_unref(b->plan.chunk);
	b->has_plan = false;
}

static enum bfs_err check_tiles(struct batch *b)
{
	const struct bfs_chunk_head *h = &b->plan.chunk->head;
	const struct bfs_nd *nd = &b->array->nd;

	if (h->kind != BFS_CHUNK_VLBLOCKS && h->blocksize == nd->block_len &&
	    h->n_blocks == nd->n_blocks)
		return BFS_OK;
	return bfs_diag_chunk(b->diag, bfs_fail(b->diag, BFS_ERR_CORRUPT,
						b->plan.span.off + 8,
			"blocks of %" PRIu32 " bytes where the array has %"
			PRIu64, h->blocksize, nd->block_len), b->id);
}

static enum bfs_err change_chunk(struct batch *b, uint64_t id)
{
	if (b->has_plan && b->id == id)
		return BFS_OK;
	BFS_TRY(flush(b));
	drop_plan(b);
	BFS_TRY(bfs_array_find_plan(b->array, id, &b->plan, b->diag));
	b->has_plan = true;
	b->id = id;
	return check_tiles(b);
}

/* A piece of a chunk that is in C order itself, run by run. */
static enum bfs_err copy_plain(struct batch *b, const struct bfs_nd_piece *p,
			       unsigned dim, uint64_t src, uint8_t *dst)
{
	uint64_t i;

	if (dim == p->n)
		return bfs_array_copy(b->array, p->chunk, (uint32_t)src, dst,
				      (size_t)p->run, b->diag);
	for (i = 0; i < p->count[dim]; i++)
		BFS_TRY(copy_plain(b, p, dim + 1, src + i * p->src_stride[dim],
				   dst + i * p->dst_stride[dim]));
	return BFS_OK;
}

static enum bfs_err take_piece(struct batch *b, const struct bfs_nd_piece *p)
{
	enum bfs_chunk_kind kind;

	if (b->array->plain)
		return copy_plain(b, p, 0, p->src_off, b->dst + p->dst_off);
	BFS_TRY(change_chunk(b, p->chunk));
	kind = b->plan.chunk->head.kind;
	if (kind == BFS_CHUNK_ZEROS || kind == BFS_CHUNK_UNINIT) {
		fill_zeros(p, 0, b->dst + p->dst_off);
		return BFS_OK;
	}
	BFS_CHECK(b->n < b->max && p->block < b->plan.chunk->head.n_blocks);
	b->pieces[b->n++] = *p;
	return b->n == b->max ? flush(b) : BFS_OK;
}

/* Copies the pieces of a walk. */
static enum bfs_err gather(struct bfs_array *array, struct bfs_nd_walk *walk,
			   uint8_t *dst, struct bfs_diag *diag)
{
	struct batch b = { .array = array, .dst = dst, .diag = diag };
	struct bfs_nd_piece piece;
	enum bfs_err err = BFS_OK;

	b.max = (size_t)bfs_max(1, bfs_min(BFS_FETCH_MAX,
					   BATCH_LEN / array->nd.block_len));
	while (err == BFS_OK && bfs_nd_walk_next(walk, &piece)) {
		err = bfs_call_check(diag);
		if (err == BFS_OK)
			err = take_piece(&b, &piece);
	}
	if (err == BFS_OK)
		err = flush(&b);
	drop_plan(&b);
	return err;
}

enum bfs_err bfs_array_gather(struct bfs_array *array, uint64_t off,
			      uint8_t *dst, size_t len, struct bfs_diag *diag)
{
	struct bfs_shares *shares = bfs_shares_start(array, off, len);
	struct bfs_nd_walk walk;
	enum bfs_err err;

	bfs_nd_walk_init(&walk, &array->nd, off, len);
	err = gather(array, &walk, dst, diag);
	bfs_shares_end(shares);
	return err;
}

enum bfs_err bfs_array_gather_tile(struct bfs_array *array, uint64_t n,
				   uint64_t off, uint8_t *dst, size_t len,
				   struct bfs_diag *diag)
{
	struct bfs_nd_walk walk;

	if (!bfs_nd_tile_is_whole(&array->nd, n))
		memset(dst, 0, len);
	bfs_nd_walk_init_tile(&walk, &array->nd, n, off, len);
	return gather(array, &walk, dst, diag);
}
