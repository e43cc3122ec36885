/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache.c - the block cache: pins, claims, and waiting.
 *
 * Two kinds of locks: a hit takes its shard's alone; a miss, an eviction and
 * whatever moves memory take the cache's, then a shard's where needed. Both
 * are held for list work only; mapping and unmapping, waiting and waking
 * happen outside, and so does all that callers do between the calls.
 *
 * room.c makes room for newcomers, trim.c has what leaves on demand, arena.c
 * the memory, table.c the keys, queues.c the order of leaving.
 */
#include "cache/cache.h"

#include "base/bytes.h"
#include "cache/priv.h"
#include "base/assert.h"
#include "base/call.h"
#include "base/mem.h"
#include "base/moment.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_BUDGET ((uint64_t)256 << 20)
/* How often a thread that waits for a block looks whether its call was
 * cancelled. */
#define LOOK_NS 20000000

#ifndef SYS_futex
#define SYS_futex SYS_futex_time64
#endif

enum bfs_err bfs_cache_new(uint64_t budget_len, struct bfs_cache **ret_cache)
{
	struct bfs_cache *cache = bfs_zalloc(1, sizeof(*cache));

	if (!cache)
		return BFS_ERR_NOMEM;
	bfs_arena_init(&cache->arena, budget_len ? budget_len :
		       DEFAULT_BUDGET);
	cache->room_len = cache->arena.budget_len;
	if (bfs_queues_init(&cache->queues, cache->arena.budget_len))
		goto fail;
	if (bfs_table_init(&cache->table, &cache->arena.held_len)) {
		bfs_queues_release(&cache->queues);
		goto fail;
	}
	pthread_mutex_init(&cache->lock, NULL);
	cache->next_gen = 1;
	*ret_cache = cache;
	return BFS_OK;
fail:
	bfs_free(cache);
	return BFS_ERR_NOMEM;
}

uint64_t bfs_cache_new_gen(struct bfs_cache *cache)
{
	return atomic_fetch_add_explicit(&cache->next_gen, 1,
					 memory_order_relaxed);
}

static void lock(struct bfs_cache *cache)
{
	pthread_mutex_lock(&cache->lock);
}

static void unlock(struct bfs_cache *cache)
{
	pthread_mutex_unlock(&cache->lock);
}

/* Waiting for one slot. */

/* Waits until it is filled, or this thread's call is stopped. */
static uint32_t wait_filled(struct bfs_slot *slot)
{
	const struct timespec look = { .tv_nsec = LOOK_NS };
	uint32_t state = atomic_load_explicit(&slot->state,
					      memory_order_acquire);

	while (state < BFS_SLOT_READY && bfs_call_check(NULL) == BFS_OK) {
		if (state == BFS_SLOT_AWAITED ||
		    atomic_compare_exchange_strong(&slot->state, &state,
						   BFS_SLOT_AWAITED))
			syscall(SYS_futex, &slot->state, FUTEX_WAIT_PRIVATE,
				BFS_SLOT_AWAITED, bfs_call_now ? &look : NULL,
				NULL, 0);
		state = atomic_load_explicit(&slot->state,
					     memory_order_acquire);
	}
	return state;
}

static void end_filling(struct bfs_slot *slot, enum bfs_slot_state state)
{
	uint32_t was = atomic_exchange_explicit(&slot->state, state,
						memory_order_acq_rel);

	/* A claim is committed or abandoned once. */
	BFS_CHECK(was < BFS_SLOT_READY);
	if (was == BFS_SLOT_AWAITED)
		syscall(SYS_futex, &slot->state, FUTEX_WAKE_PRIVATE, INT_MAX,
			NULL, NULL, 0);
}

/* Maps an extent outside the lock and adds it under it. */
static bool grow(struct bfs_cache *cache, const struct bfs_growth *growth,
		 struct bfs_link *out)
{
	struct bfs_extent *extent;

	if (!growth->n_slots)
		return false;
	unlock(cache);
	bfs_arena_unmap(out);
	extent = bfs_arena_map(growth);
	lock(cache);
	if (extent)
		bfs_arena_add(&cache->arena, extent);
	else
		bfs_arena_cancel(&cache->arena, growth);
	return extent != NULL;
}

/* Asking. */

/* What one asker wants, and where the answer goes. */
struct ask {
	const struct bfs_cache_key *key;
	uint64_t hash;
	size_t len;
	bool wait;
	enum bfs_cache_state *ret_state;
	struct bfs_cache_pin *ret_pin;
	struct bfs_diag *diag;
};

static void answer(const struct ask *ask, struct bfs_slot *slot,
		   enum bfs_cache_state state)
{
	ask->ret_pin->data = slot->data;
	ask->ret_pin->len = slot->len;
	ask->ret_pin->slot = slot;
	*ask->ret_state = state;
}

/* Gives back a slot that has left the table, with the last reference. */
static void retire(struct bfs_cache *cache, struct bfs_slot *slot)
{
	struct bfs_link out;

	bfs_link_init(&out);
	lock(cache);
	bfs_room_free_slot(cache, slot);
	bfs_room_shrink(cache, &out);
	unlock(cache);
	bfs_arena_unmap(&out);
}

static void unref(struct bfs_cache *cache, struct bfs_slot *slot)
{
	uint32_t refs = atomic_fetch_sub_explicit(&slot->refs, 1,
						  memory_order_acq_rel);

	BFS_CHECK(refs > 0);
	if (refs == 1)
		retire(cache, slot);
	else if (bfs_arena_held(&cache->arena) > bfs_room_len(cache))
		bfs_room_shrink_now(cache);
}

/* Whether the thread that was to fill it gave it up for a reason that says
 * nothing about the block: its own call was stopped, or had no memory. */
static bool is_given_up(const struct bfs_slot *slot)
{
	return slot->err == BFS_ERR_CANCELLED ||
	       slot->err == BFS_ERR_TOO_MUCH || slot->err == BFS_ERR_NOMEM;
}

/* Sets *ret_again where the block is to be asked for once more, because the
 * thread that was to fill it gave it up: then the caller fills it, or another
 * one that asks first. */
static enum bfs_err await(struct bfs_cache *cache, struct bfs_slot *slot,
			  const struct ask *ask, bool *ret_again)
{
	uint32_t state = wait_filled(slot);
	enum bfs_err err;

	if (state == BFS_SLOT_READY) {
		answer(ask, slot, BFS_CACHE_HIT);
		return BFS_OK;
	}
	err = bfs_call_check(ask->diag);
	if (err == BFS_OK && is_given_up(slot))
		*ret_again = true;
	if (err != BFS_OK || *ret_again) {
		unref(cache, slot);
		return err;
	}
	err = bfs_fail(ask->diag, (enum bfs_err)slot->err, 0,
		       "failed in another thread");
	if (slot->diag && ask->diag)
		*ask->diag = *slot->diag;
	unref(cache, slot);
	return err;
}

/* The slot is in the table: pins it, or waits for it. Unlocks the shard. */
static enum bfs_err join(struct bfs_cache *cache, struct bfs_shard *shard,
			 struct bfs_slot *slot, const struct ask *ask,
			 bool *ret_again)
{
	bool ready = atomic_load_explicit(&slot->state,
					  memory_order_acquire) ==
		     BFS_SLOT_READY;

	if (slot->len != ask->len) {
		bfs_shard_unlock(shard);
		return bfs_fail(ask->diag, BFS_ERR_INVALID, 0,
				"one block asked for with two lengths");
	}
	if (!ready && !ask->wait) {
		bfs_shard_unlock(shard);
		*ask->ret_state = BFS_CACHE_BUSY;
		return BFS_OK;
	}
	atomic_fetch_add_explicit(&slot->refs, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(ready ? &shard->hits : &shard->waits, 1,
				  memory_order_relaxed);
	bfs_shard_unlock(shard);
	bfs_queues_touch(&cache->queues, slot);
	if (!ready)
		return await(cache, slot, ask, ret_again);
	answer(ask, slot, BFS_CACHE_HIT);
	return BFS_OK;
}

static bool knows(struct bfs_cache *cache, const struct bfs_cache_key *key,
		  uint64_t hash)
{
	struct bfs_shard *shard = bfs_table_lock(&cache->table, hash);
	bool found = bfs_shard_find(shard, hash, key) != NULL;

	bfs_shard_unlock(shard);
	return found;
}

/* A free slot for the key. NULL without memory; NULL and *ret_known set where
 * another thread has claimed the key meanwhile. */
static struct bfs_slot *obtain(struct bfs_cache *cache, const struct ask *ask,
			       struct bfs_link *out, bool *ret_known)
{
	unsigned cls = bfs_arena_class(&cache->arena, ask->len);
	unsigned n_failed = 0;

	bfs_room_set(cache, ask->len);
	while (n_failed < 2) {
		struct bfs_growth growth;
		struct bfs_slot *slot;

		if (knows(cache, ask->key, ask->hash)) {
			*ret_known = true;
			return NULL;
		}
		slot = bfs_room_find_slot(cache, cls, ask->len, n_failed > 0,
					  out, &growth);
		if (slot)
			return slot;
		if (!grow(cache, &growth, out))
			n_failed++;
	}
	return NULL;
}

/* A fresh slot gets its key, and others can find it. */
static void publish(struct bfs_cache *cache, struct bfs_slot *slot,
		    const struct ask *ask)
{
	BFS_ASSERT(ask->len <= slot->extent->slot_len);
	slot->key = *ask->key;
	slot->hash = ask->hash;
	slot->len = ask->len;
	atomic_store_explicit(&slot->state, BFS_SLOT_FILLING,
			      memory_order_relaxed);
	atomic_store_explicit(&slot->refs, 2, memory_order_relaxed);
	bfs_queues_add(&cache->queues, slot);
	bfs_table_insert(&cache->table, slot);
	answer(ask, slot, BFS_CACHE_CLAIMED);
}

/* Claims the key, unless it turns out to be known: then the caller looks it
 * up again. */
static enum bfs_err claim(struct bfs_cache *cache, const struct ask *ask,
			  bool *ret_known)
{
	uint64_t mark = bfs_moment_mark();
	struct bfs_slot *slot;
	struct bfs_link out;

	bfs_link_init(&out);
	*ret_known = false;
	lock(cache);
	slot = obtain(cache, ask, &out, ret_known);
	if (slot)
		publish(cache, slot, ask);
	unlock(cache);
	bfs_arena_unmap(&out);
	if (slot || *ret_known) {
		/* Mapping may have failed, but a slot was found without it. */
		bfs_moment_forget(mark);
		return BFS_OK;
	}
	return bfs_fail(ask->diag, BFS_ERR_NOMEM, 0,
			"no memory for a block of %zu bytes", ask->len);
}

static enum bfs_err get_block(struct bfs_cache *cache, const struct ask *ask)
{
	struct bfs_shard *shard;
	struct bfs_slot *slot;
	bool again;

	do {
		again = false;
		shard = bfs_table_lock(&cache->table, ask->hash);
		slot = bfs_shard_find(shard, ask->hash, ask->key);
		if (slot) {
			BFS_TRY(join(cache, shard, slot, ask, &again));
			continue;
		}
		bfs_shard_unlock(shard);
		BFS_TRY(claim(cache, ask, &again));
	} while (again);
	return BFS_OK;
}

enum bfs_err bfs_cache_get(struct bfs_cache *cache,
			   const struct bfs_cache_key *key, size_t len,
			   enum bfs_cache_state *ret_state,
			   struct bfs_cache_pin *ret_pin,
			   struct bfs_diag *diag)
{
	struct ask ask = { key, bfs_table_hash(&cache->table, key), len, true,
			   ret_state, ret_pin, diag };

	return get_block(cache, &ask);
}

enum bfs_err bfs_cache_try(struct bfs_cache *cache,
			   const struct bfs_cache_key *key, size_t len,
			   enum bfs_cache_state *ret_state,
			   struct bfs_cache_pin *ret_pin,
			   struct bfs_diag *diag)
{
	struct ask ask = { key, bfs_table_hash(&cache->table, key), len, false,
			   ret_state, ret_pin, diag };

	return get_block(cache, &ask);
}

bool bfs_cache_has(struct bfs_cache *cache, const struct bfs_cache_key *key)
{
	return knows(cache, key, bfs_table_hash(&cache->table, key));
}

/* Giving back. */

static struct bfs_slot *take_pin(struct bfs_cache_pin *pin)
{
	struct bfs_slot *slot = pin->slot;

	/* A pin is given back once. */
	BFS_CHECK(slot);
	pin->data = NULL;
	pin->len = 0;
	pin->slot = NULL;
	return slot;
}

void bfs_cache_commit(struct bfs_cache *cache, struct bfs_cache_pin *pin)
{
	(void)cache;
	BFS_CHECK(pin->slot);
	end_filling(pin->slot, BFS_SLOT_READY);
}

void bfs_cache_abandon(struct bfs_cache *cache, struct bfs_cache_pin *pin,
		       enum bfs_err err, const struct bfs_diag *diag)
{
	struct bfs_slot *slot = take_pin(pin);
	bool awaited;

	lock(cache);
	if (bfs_queues_has(slot))
		(void)!bfs_room_disown(cache, slot);
	unlock(cache);
	/* The slot has left the table, so no further thread can begin to wait
	 * for it: a single reference is the claim itself, and stays alone. */
	awaited = atomic_load_explicit(&slot->refs, memory_order_relaxed) > 1;
	slot->err = (uint8_t)err;
	if (awaited && diag)
		slot->diag = bfs_alloc(sizeof(*slot->diag));
	if (slot->diag) {
		*slot->diag = *diag;
		slot->diag->err = err;
	}
	end_filling(slot, BFS_SLOT_FAILED);
	unref(cache, slot);
}

void bfs_cache_unpin(struct bfs_cache *cache, struct bfs_cache_pin *pin,
		     bool consumed)
{
	struct bfs_slot *slot = take_pin(pin);

	BFS_CHECK(atomic_load_explicit(&slot->state, memory_order_relaxed) ==
		  BFS_SLOT_READY);
	if (consumed) {
		lock(cache);
		bfs_queues_drain(&cache->queues, slot);
		unlock(cache);
	}
	unref(cache, slot);
	if (consumed &&
	    bfs_arena_held(&cache->arena) > cache->arena.budget_len)
		bfs_room_shrink_now(cache);
}

void bfs_cache_free(struct bfs_cache *cache)
{
	if (!cache)
		return;
	bfs_cache_trim(cache);
	bfs_table_release(&cache->table);
	/* No pin may be left. */
	BFS_CHECK(!bfs_arena_held(&cache->arena));
	bfs_queues_release(&cache->queues);
	pthread_mutex_destroy(&cache->lock);
	bfs_free(cache);
}

void bfs_cache_get_stats(struct bfs_cache *cache,
			 struct bfs_cache_stats *ret_stats)
{
	struct bfs_cache_stats sum = { 0 };
	unsigned i;

	for (i = 0; i < BFS_N_SHARDS; i++) {
		struct bfs_shard *shard = &cache->table.shards[i];

		sum.hits += atomic_load_explicit(&shard->hits,
						 memory_order_relaxed);
		sum.misses += atomic_load_explicit(&shard->misses,
						   memory_order_relaxed);
		sum.waits += atomic_load_explicit(&shard->waits,
						  memory_order_relaxed);
	}
	sum.held_len = bfs_arena_held(&cache->arena);
	sum.budget_len = cache->arena.budget_len;
	lock(cache);
	sum.evictions = cache->n_evictions;
	unlock(cache);
	*ret_stats = sum;
}
