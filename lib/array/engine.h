/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine.h - what all arrays of an instance share, and which outlives them:
 * the cache of blocks, the cache of plans, scratch, the pool, counters.
 */
#ifndef BFS_ARRAY_ENGINE_H
#define BFS_ARRAY_ENGINE_H

#include "cache/cache.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stdint.h>

struct bfs_engine;

struct bfs_engine_options {
	uint64_t cache_len;	/* bytes; 0 = 256 MiB */
	unsigned n_threads;	/* 0 = the CPUs this process may use */
};

struct bfs_engine_stats {
	struct bfs_cache_stats cache;
	uint64_t decoded_len;	/* bytes that came out of decoding */
	uint64_t decode_ns;
	uint64_t source_len;	/* bytes asked from sources by reads */
	uint64_t n_source_reads;
	uint64_t n_plans, n_plan_hits;
	unsigned n_threads;	/* that decode at once */
};

enum bfs_err bfs_engine_new(const struct bfs_engine_options *options,
			    struct bfs_engine **ret_engine) BFS_MUST_CHECK;
void bfs_engine_free(struct bfs_engine *engine);	/* NULL is fine */
struct bfs_cache *bfs_engine_cache(const struct bfs_engine *engine);
void bfs_engine_get_stats(struct bfs_engine *engine,
			  struct bfs_engine_stats *ret_stats);
/* Sets a flag for good: it cancels all calls that have it among their ends, and
 * what is decoded ahead. */
void bfs_engine_cancel(struct bfs_engine *engine);
const atomic_bool *bfs_engine_ending(const struct bfs_engine *engine);
/* These give unpinned memory back. Trim: all; settle: what is idle or beyond
 * the cache's budget. */
void bfs_engine_trim(struct bfs_engine *engine);
void bfs_engine_settle(struct bfs_engine *engine);

#endif
