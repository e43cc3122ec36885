/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.h - from key to slot, in shards that are locked apart.
 *
 * A hit takes its shard's lock and nothing else. Whoever inserts, evicts or
 * unlinks holds the cache's lock as well, and takes it first. A shard grows and
 * shrinks by a few buckets at a time (linear hashing), so that no lock is held
 * for longer where there are more slots. What the tables grow beyond their
 * first size is charged to *held_len.
 */
#ifndef BFS_CACHE_TABLE_H
#define BFS_CACHE_TABLE_H

#include "cache/slot.h"

#include <pthread.h>

#define BFS_N_SHARDS 16
#define BFS_SEGMENT 32	/* larger costs small caches, smaller large ones */

struct bfs_shard {
	pthread_mutex_t lock;		/* guards buckets and chains */
	/* Arrays of BFS_SEGMENT buckets; room for max_segments of them. */
	struct bfs_slot ***segments;
	size_t max_segments;
	size_t n_buckets;
	size_t mask;			/* the least 2^k - 1 that names all */
	size_t n_slots;
	size_t most_moved;		/* slots looked at to move them, under
					 * one hold of the lock */
	_Atomic uint64_t hits;
	_Atomic uint64_t misses;
	_Atomic uint64_t waits;
	char apart[64];			/* from the next one's cache line */
};

struct bfs_table {
	uint64_t seed;
	_Atomic uint64_t *held_len;	/* where buckets are charged */
	struct bfs_shard shards[BFS_N_SHARDS];
};

enum bfs_err bfs_table_init(struct bfs_table *table,
			    _Atomic uint64_t *held_len) BFS_MUST_CHECK;
void bfs_table_release(struct bfs_table *table);

uint64_t bfs_table_hash(const struct bfs_table *table,
			const struct bfs_cache_key *key);
struct bfs_shard *bfs_table_lock(struct bfs_table *table, uint64_t hash);
static inline void bfs_shard_unlock(struct bfs_shard *shard)
{
	pthread_mutex_unlock(&shard->lock);
}
/* With the shard locked. */
struct bfs_slot *bfs_shard_find(const struct bfs_shard *shard, uint64_t hash,
				const struct bfs_cache_key *key);

/* These lock the shard. Evict unlinks a slot that the table alone holds and
 * makes refs 0, else returns false; unlink drops the table's reference and
 * returns how many are left. */
void bfs_table_insert(struct bfs_table *table, struct bfs_slot *slot);
bool bfs_table_evict(struct bfs_table *table, struct bfs_slot *slot)
	BFS_MUST_CHECK;
uint32_t bfs_table_unlink(struct bfs_table *table, struct bfs_slot *slot)
	BFS_MUST_CHECK;
/* Gives back buckets that are not needed now, letting others have the locks
 * between steps. */
void bfs_table_shrink(struct bfs_table *table);

#endif
