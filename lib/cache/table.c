/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.c - the cache's sharded hash table.
 *
 * Chains through the slots; a shard's buckets double and shrink with its
 * slots, and where memory for that is lacking the chains are just longer.
 */
#include "cache/table.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <time.h>

#define MIN_BUCKETS 16

/* Files choose which keys exist, so the hash must not be foreseeable. */
static uint64_t make_seed(const void *salt)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return ((uint64_t)now.tv_sec << 32) ^ ((uint64_t)now.tv_nsec << 16) ^
	       (uint64_t)(uintptr_t)salt;
}

enum bfs_err bfs_table_init(struct bfs_table *table,
			    _Atomic uint64_t *held_len)
{
	unsigned i;

	table->seed = make_seed(table);
	table->held_len = held_len;
	for (i = 0; i < BFS_N_SHARDS; i++) {
		struct bfs_shard *shard = &table->shards[i];

		shard->buckets = bfs_zalloc(MIN_BUCKETS,
					    sizeof(*shard->buckets));
		if (!shard->buckets)
			goto fail;
		shard->n_buckets = MIN_BUCKETS;
		shard->n_slots = 0;
		pthread_mutex_init(&shard->lock, NULL);
	}
	return BFS_OK;
fail:
	while (i--) {
		pthread_mutex_destroy(&table->shards[i].lock);
		bfs_free(table->shards[i].buckets);
	}
	return BFS_ERR_NOMEM;
}

void bfs_table_release(struct bfs_table *table)
{
	unsigned i;

	for (i = 0; i < BFS_N_SHARDS; i++) {
		pthread_mutex_destroy(&table->shards[i].lock);
		bfs_free(table->shards[i].buckets);
	}
}

uint64_t bfs_table_hash(const struct bfs_table *table,
			const struct bfs_cache_key *key)
{
	uint64_t h = bfs_mix(table->seed ^ key->gen);

	h = bfs_mix(h ^ key->chunk);
	return bfs_mix(h ^ key->block);
}

/* The shard by the top bits, the bucket by the low ones. */
static struct bfs_shard *shard_of(struct bfs_table *table, uint64_t hash)
{
	return &table->shards[hash >> 60];
}

struct bfs_shard *bfs_table_lock(struct bfs_table *table, uint64_t hash)
{
	struct bfs_shard *shard = shard_of(table, hash);

	pthread_mutex_lock(&shard->lock);
	return shard;
}

static struct bfs_slot **bucket_of(const struct bfs_shard *shard,
				   uint64_t hash)
{
	return &shard->buckets[hash & (shard->n_buckets - 1)];
}

struct bfs_slot *bfs_shard_find(const struct bfs_shard *shard, uint64_t hash,
				const struct bfs_cache_key *key)
{
	struct bfs_slot *slot = *bucket_of(shard, hash);

	while (slot && (slot->key.block != key->block ||
			slot->key.chunk != key->chunk ||
			slot->key.gen != key->gen))
		slot = slot->hash_next;
	return slot;
}

static void resize(struct bfs_shard *shard, size_t n_buckets,
		   _Atomic uint64_t *held_len)
{
	struct bfs_slot **old = shard->buckets;
	size_t n_old = shard->n_buckets, i;
	struct bfs_slot **buckets = bfs_zalloc(n_buckets, sizeof(*buckets));

	BFS_ASSERT_HELD(&shard->lock);
	BFS_ASSERT((n_buckets & (n_buckets - 1)) == 0);
	if (!buckets)
		return;
	shard->buckets = buckets;
	shard->n_buckets = n_buckets;
	for (i = 0; i < n_old; i++) {
		while (old[i]) {
			struct bfs_slot *slot = old[i];
			struct bfs_slot **to = bucket_of(shard, slot->hash);

			old[i] = slot->hash_next;
			slot->hash_next = *to;
			*to = slot;
		}
	}
	bfs_free(old);
	atomic_fetch_add_explicit(held_len,
				  (uint64_t)(n_buckets - n_old) * sizeof(*old),
				  memory_order_relaxed);
}

void bfs_table_insert(struct bfs_table *table, struct bfs_slot *slot)
{
	struct bfs_shard *shard = bfs_table_lock(table, slot->hash);
	struct bfs_slot **bucket;

	if (shard->n_slots >= shard->n_buckets)
		resize(shard, shard->n_buckets * 2, table->held_len);
	else if (shard->n_buckets > MIN_BUCKETS &&
		 shard->n_slots < shard->n_buckets / 8)
		resize(shard, shard->n_buckets / 2, table->held_len);
	bucket = bucket_of(shard, slot->hash);
	slot->hash_next = *bucket;
	*bucket = slot;
	shard->n_slots++;
	atomic_fetch_add_explicit(&shard->misses, 1, memory_order_relaxed);
	bfs_shard_unlock(shard);
}

static void unchain(struct bfs_shard *shard, struct bfs_slot *slot)
{
	struct bfs_slot **at = bucket_of(shard, slot->hash);

	BFS_ASSERT_HELD(&shard->lock);
	while (*at != slot) {
		BFS_ASSERT(*at);
		at = &(*at)->hash_next;
	}
	*at = slot->hash_next;
	shard->n_slots--;
}

bool bfs_table_evict(struct bfs_table *table, struct bfs_slot *slot)
{
	struct bfs_shard *shard = bfs_table_lock(table, slot->hash);
	bool alone = atomic_load_explicit(&slot->refs,
					  memory_order_acquire) == 1;

	if (alone) {
		unchain(shard, slot);
		atomic_store_explicit(&slot->refs, 0, memory_order_relaxed);
	}
	bfs_shard_unlock(shard);
	return alone;
}

uint32_t bfs_table_unlink(struct bfs_table *table, struct bfs_slot *slot)
{
	struct bfs_shard *shard = bfs_table_lock(table, slot->hash);
	uint32_t left;

	unchain(shard, slot);
	left = atomic_fetch_sub_explicit(&slot->refs, 1,
					 memory_order_acq_rel) - 1;
	BFS_CHECK(left != UINT32_MAX);
	bfs_shard_unlock(shard);
	return left;
}

void bfs_table_shrink(struct bfs_table *table)
{
	unsigned i;

	for (i = 0; i < BFS_N_SHARDS; i++) {
		struct bfs_shard *shard = &table->shards[i];
		size_t n = MIN_BUCKETS;

		pthread_mutex_lock(&shard->lock);
		while (n < shard->n_slots)
			n *= 2;
		if (n < shard->n_buckets)
			resize(shard, n, table->held_len);
		bfs_shard_unlock(shard);
	}
}
