/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * queues.h - which block leaves next.
 *
 * Newcomers enter a small queue and leave it soon, unless they are asked for
 * again: then they move to the main queue, where every further use buys
 * another round. Keys that left the small queue are remembered for a while
 * and enter the main queue when they come back. So one pass over much data
 * displaces little. Blocks that were consumed leave before all others.
 *
 * Uses in quick succession count as none: a reader that takes a block in
 * many pieces has still read it once. Time is measured in bytes inserted.
 * All calls but bfs_queues_touch need the cache's lock.
 */
#ifndef BFS_CACHE_QUEUES_H
#define BFS_CACHE_QUEUES_H

#include "cache/slot.h"
#include "cache/table.h"

#define BFS_N_GENS 256

struct bfs_ghost {
	uint32_t fingerprint;	/* of the key; 0: none */
	uint32_t stamp;		/* when it left */
};

struct bfs_queues {
	struct {
		struct bfs_link list;	/* who leaves first is first */
		uint64_t held_len;
		size_t n;
	} queues[BFS_N_QUEUES];
	struct bfs_link gens[BFS_N_GENS];	/* by hash of generation */
	uint64_t budget_len;	/* what may stay now: the cache's room */
	bool by_age;		/* room for the latest blocks only */
	uint64_t since_tick;	/* bytes inserted */
	_Atomic uint32_t now;	/* bytes inserted, in 256ths of the budget */
	struct bfs_ghost *ghosts;
	size_t n_ghosts;	/* a power of two */
};

enum bfs_err bfs_queues_init(struct bfs_queues *queues, uint64_t budget_len)
	BFS_MUST_CHECK;
void bfs_queues_release(struct bfs_queues *queues);

/* Puts a new slot (key, hash and extent are set) into a queue; takes it out. */
void bfs_queues_add(struct bfs_queues *queues, struct bfs_slot *slot);
void bfs_queues_remove(struct bfs_queues *queues, struct bfs_slot *slot);
static inline bool bfs_queues_has(const struct bfs_slot *slot)
{
	return !bfs_link_alone(&slot->of_gen);
}

/* Counts a use. The caller has a reference to the slot, and needs no lock. */
void bfs_queues_touch(const struct bfs_queues *queues, struct bfs_slot *slot);
/* A sequential reader has had all of it: it leaves first, unless used again. */
void bfs_queues_drain(struct bfs_queues *queues, struct bfs_slot *slot);

/* Evicts one slot from the table and the queues; NULL if none can be. */
struct bfs_slot *bfs_queues_evict(struct bfs_queues *queues,
				  struct bfs_table *table) BFS_MUST_CHECK;
/* The same for the first of one queue, however often it was used. If it is
 * pinned, it goes to the end and the answer is NULL. */
struct bfs_slot *bfs_queues_evict_first(struct bfs_queues *queues,
					struct bfs_table *table,
					enum bfs_slot_queue queue)
	BFS_MUST_CHECK;
/* A list, linked by of_gen, that has all slots of this generation and maybe
 * some of others. */
struct bfs_link *bfs_queues_gen(struct bfs_queues *queues, uint64_t gen);

/* Bytes of consumed blocks that are still there. */
static inline uint64_t bfs_queues_drained_len(const struct bfs_queues *queues)
{
	return queues->queues[BFS_QUEUE_DRAINED].held_len;
}

#endif
