/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shares.c - the later parts of a very large request are decoded by threads of
 * the pool, while the one that got the request is at the first. What is not
 * begun when the request has ended is given up.
 */
#include "array/priv.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/moment.h"

#include <stdatomic.h>

/* What a thread must find to decode to be worth its wake-up. */
#define SHARE (UINT64_C(1) << 20)
#define MAX_SHARES 16

/* What the parts of one request share, until the last of them has ended. */
struct bfs_shares {
	atomic_uint refs;
	atomic_bool over;	/* the request has ended */
};

/* A part of a large request. */
struct share {
	struct bfs_array *array;
	struct bfs_shares *shares;
	uint64_t off, last;
};

static void unref_shares(struct bfs_shares *shares)
{
	if (atomic_fetch_sub(&shares->refs, 1) == 1)
		bfs_free(shares);
}

static void end_share(struct share *share)
{
	struct bfs_array *a = share->array;

	unref_shares(share->shares);
	bfs_free(share);
	pthread_mutex_lock(&a->ahead.lock);
	BFS_CHECK(a->ahead.n_jobs > 0);
	if (--a->ahead.n_jobs == 0)
		pthread_cond_broadcast(&a->ahead.done);
	pthread_mutex_unlock(&a->ahead.lock);
}

static void run_share(void *arg)
{
	struct share *share = arg;
	struct bfs_call call, *before;
	struct bfs_nd_walk walk;
	struct bfs_turn turn;

	bfs_ahead_init_call(&call, share->array);
	call.ends[0] = &share->shares->over;
	before = bfs_call_enter(&call);
	bfs_turn_begin(&turn, share->array->engine->budget, false);
	bfs_nd_walk_init(&walk, &share->array->nd, share->off,
			 share->last - share->off);
	bfs_ahead_fetch_tiles(share->array, &walk, false);
	bfs_turn_end(&turn);
	bfs_call_leave(before);
	end_share(share);
}

static void start_share(struct bfs_array *a, struct bfs_shares *shares,
			uint64_t off, uint64_t last)
{
	struct share *share = bfs_alloc(sizeof(*share));

	if (!share)
		return;
	*share = (struct share){ a, shares, off, last };
	atomic_fetch_add(&shares->refs, 1);
	pthread_mutex_lock(&a->ahead.lock);
	a->ahead.n_jobs++;
	pthread_mutex_unlock(&a->ahead.lock);
	if (!bfs_pool_submit(a->engine->pool, run_share, share))
		end_share(share);
}

/* Bytes to be decoded for a range; what is enough is not counted further. */
static uint64_t count_missing(struct bfs_array *a, uint64_t off, size_t len,
			      uint64_t enough)
{
	struct bfs_nd_walk walk;
	struct bfs_nd_piece piece;
	uint64_t sum = 0;

	bfs_nd_walk_init(&walk, &a->nd, off, len);
	while (sum < enough && bfs_nd_walk_next(&walk, &piece)) {
		struct bfs_cache_key key = { a->kin_gen, piece.chunk,
					     piece.block };

		if (!bfs_cache_has(a->engine->cache, &key))
			sum += a->nd.block_len;
	}
	return sum;
}

struct bfs_shares *bfs_shares_start(struct bfs_array *a, uint64_t off,
				    size_t len)
{
	uint64_t n, i, most = bfs_min(a->engine->n_threads, MAX_SHARES);
	uint64_t mark = bfs_moment_mark();
	struct bfs_shares *shares;

	/* So short a range needs few blocks. And where the missing blocks are
	 * more than the cache can hold, those decoded first would be evicted
	 * before they are asked for. */
	if (a->plain || most < 2 || len < a->nd.block_len / 4)
		return NULL;
	n = count_missing(a, off, len, bfs_min(most * SHARE,
				a->engine->budget_len / 2));
	if (n < 2 * SHARE || !bfs_call_affords(n))
		return NULL;
	shares = bfs_alloc(sizeof(*shares));
	bfs_moment_forget(mark);
	if (!shares)
		return NULL;
	atomic_init(&shares->refs, 1);
	atomic_init(&shares->over, false);
	n /= SHARE;
	for (i = 1; i < n; i++)
		start_share(a, shares, off + len * i / n,
			    off + len * (i + 1) / n);
	bfs_moment_forget(mark);
	return shares;
}

void bfs_shares_end(struct bfs_shares *shares)
{
	if (!shares)
		return;
	atomic_store(&shares->over, true);
	unref_shares(shares);
}
