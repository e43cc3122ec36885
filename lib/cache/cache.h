/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache.h - decoded blocks: a byte budget, pins, one decode per key.
 *
 * A key is (generation, chunk, block): generations are unique to one opened
 * container or to what it reads for itself, and never reused. Asking for a key
 * pins it. Whoever is told CLAIMED must fill the buffer and then call commit or
 * abandon; all others that ask meanwhile sleep on that block alone. No lock is
 * held while a block is claimed or pinned. The budget counts blocks in flight.
 * A block larger than the budget is charged and served all the same, and stays
 * until a reader has consumed it or another block comes; so do the last few
 * blocks where the budget is less than these. All calls may run at once in any
 * threads.
 */
#ifndef BFS_CACHE_CACHE_H
#define BFS_CACHE_CACHE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bfs_cache;

struct bfs_cache_key {
	uint64_t gen;
	uint64_t chunk;
	uint64_t block;
};

/* One pinned or claimed block. data is valid for len bytes while the pin is
 * held; it may be written only by its claimer before commit. */
struct bfs_cache_pin {
	uint8_t *data;
	size_t len;
	void *slot;		/* private */
};

enum bfs_cache_state {
	BFS_CACHE_HIT,		/* pinned and ready */
	BFS_CACHE_CLAIMED,	/* the caller is to fill it */
	BFS_CACHE_BUSY,		/* only from try: another thread decodes it */
};

struct bfs_cache_stats {
	uint64_t hits, misses, waits, evictions;
	uint64_t held_len;	/* bytes held now, in flight included */
	uint64_t budget_len;
};

/* budget in bytes; 0: 256 MiB. */
enum bfs_err bfs_cache_new(uint64_t budget_len, struct bfs_cache **ret_cache)
	BFS_MUST_CHECK;
/* No pin may be left. NULL is fine. */
void bfs_cache_free(struct bfs_cache *cache);

/* A generation that nobody else has. */
uint64_t bfs_cache_new_gen(struct bfs_cache *cache);

/* Pins or claims a block of len bytes. Waits while another thread decodes it,
 * or until the waiting thread's own call is stopped (call.h). If the other one
 * fails, returns its error and diagnosis, unless that thread's call was stopped
 * or had no memory: then one of those that wait claims the block. NOMEM when no
 * buffer can be had. */
enum bfs_err bfs_cache_get(struct bfs_cache *cache,
			   const struct bfs_cache_key *key, size_t len,
			   enum bfs_cache_state *ret_state,
			   struct bfs_cache_pin *ret_pin,
			   struct bfs_diag *diag) BFS_MUST_CHECK;
/* The same without waiting: BUSY (no pin) when another thread decodes it. */
enum bfs_err bfs_cache_try(struct bfs_cache *cache,
			   const struct bfs_cache_key *key, size_t len,
			   enum bfs_cache_state *ret_state,
			   struct bfs_cache_pin *ret_pin,
			   struct bfs_diag *diag) BFS_MUST_CHECK;
/* Whether the block is there or being decoded; pins nothing. */
bool bfs_cache_has(struct bfs_cache *cache, const struct bfs_cache_key *key);

/* The claimed block is ready; the claim becomes a pin. */
void bfs_cache_commit(struct bfs_cache *cache, struct bfs_cache_pin *pin);
/* The claimed block cannot be made; those that wait get err and diag, or claim
 * the block themselves where err says nothing about it (bfs_cache_get). */
void bfs_cache_abandon(struct bfs_cache *cache, struct bfs_cache_pin *pin,
		       enum bfs_err err, const struct bfs_diag *diag);
/* Gives a pin back. `consumed`: a sequential reader has had all of it, so it
 * may leave first. */
void bfs_cache_unpin(struct bfs_cache *cache, struct bfs_cache_pin *pin,
		     bool consumed);

/* Drops all blocks of a generation that nobody holds; those held leave with
 * their last pin. */
void bfs_cache_drop(struct bfs_cache *cache, uint64_t gen);
/* These give memory that is not pinned back to the system. Trim: all of it;
 * shed: at least len bytes, where there are so many; settle: what is beyond the
 * budget. */
void bfs_cache_trim(struct bfs_cache *cache);
void bfs_cache_shed(struct bfs_cache *cache, uint64_t len);
void bfs_cache_settle(struct bfs_cache *cache);
void bfs_cache_get_stats(struct bfs_cache *cache,
			 struct bfs_cache_stats *ret_stats);

#endif
