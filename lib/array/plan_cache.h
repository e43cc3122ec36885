/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_cache.h - the plans that an engine keeps, by generation and chunk id.
 */
#ifndef BFS_ARRAY_PLAN_CACHE_H
#define BFS_ARRAY_PLAN_CACHE_H

#include "chunk/plan.h"
#include "container/parts.h"
#include "source/source.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bfs_engine;

#define BFS_PLAN_SHARDS 16
#define BFS_PLAN_BUCKETS 64

/* A chunk's plan, where its bytes lie, and which file that was. */
struct bfs_plan {
	struct bfs_chunk *chunk;
	struct bfs_span span;
	struct bfs_source_id file_id;
	uint64_t gen;			/* of its blocks in the cache */
	bool shared;			/* other openings use this generation */
	uint64_t opening;		/* bfs_array.gen of who made the plan */
};

struct bfs_plan_entry;

struct bfs_plan_shard {
	pthread_mutex_t lock;		/* guards all below */
	struct bfs_plan_entry *buckets[BFS_PLAN_BUCKETS];
	struct bfs_plan_entry *newest, *oldest;
	size_t mem_len;
};

/* The plan for (gen, id) from the cache, referenced; false if not there. */
bool bfs_plans_get(struct bfs_engine *engine, uint64_t gen, uint64_t id,
		   struct bfs_plan *ret_plan);
/* Keeps a plan (takes a reference of its own) in place of that of another
 * opening. May drop older ones. */
void bfs_plans_put(struct bfs_engine *engine, uint64_t gen, uint64_t id,
		   const struct bfs_plan *plan);
/* Drops all plans of a generation (0: of all). */
void bfs_plans_drop(struct bfs_engine *engine, uint64_t gen);
void bfs_plans_init(struct bfs_engine *engine);
void bfs_plans_release(struct bfs_engine *engine);

#endif
