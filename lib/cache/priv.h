/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * priv.h - what the files of the cache share: its fields, and making room for a
 * block in it (cache/room.c).
 */
#ifndef BFS_CACHE_PRIV_H
#define BFS_CACHE_PRIV_H

#include "cache/arena.h"
#include "cache/cache.h"
#include "cache/queues.h"
#include "cache/slot.h"
#include "cache/table.h"

#include <pthread.h>
#include <stdatomic.h>

struct bfs_cache {
	pthread_mutex_t lock;		/* of arena, queues and evictions; taken
					 * before a shard's */
	struct bfs_arena arena;
	struct bfs_queues queues;
	struct bfs_table table;
	_Atomic uint64_t room_len;	/* what may stay, the budget at least */
	uint64_t n_evictions;
	_Atomic uint64_t next_gen;	/* from 1 on */
};

static inline uint64_t bfs_room_len(const struct bfs_cache *cache)
{
	return atomic_load_explicit(&cache->room_len, memory_order_relaxed);
}

/* The same as bfs_room_shrink, unlocked: locks, and unmaps outside. */
void bfs_room_shrink_now(struct bfs_cache *cache);

/* All below with the cache locked. */

/* The slot of an evicted or abandoned block is free again. */
void bfs_room_free_slot(struct bfs_cache *cache, struct bfs_slot *slot);

/* How much may stay, for a block of len bytes to come. */
void bfs_room_set(struct bfs_cache *cache, size_t len);

/* Brings the cache back inside its room as far as pins allow, and inside its
 * budget as far as readers have passed. What is to be unmapped goes to out. */
void bfs_room_shrink(struct bfs_cache *cache, struct bfs_link *out);

/* A free slot; or NULL and an extent to map, charged already (n_slots 0: no
 * such extent can be). Never waits: where pins hold all of the budget it is
 * exceeded until they go. `poor`: mapping has failed, so evict rather than
 * map. */
struct bfs_slot *bfs_room_find_slot(struct bfs_cache *cache, unsigned cls,
				    size_t len, bool poor,
				    struct bfs_link *out,
				    struct bfs_growth *ret_growth);

/* Out of the table and the queues, so that whoever asks from now on starts
 * anew. Returns how many references are left. */
uint32_t bfs_room_disown(struct bfs_cache *cache, struct bfs_slot *slot);

#endif
