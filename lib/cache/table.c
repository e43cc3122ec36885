/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.c - the cache's sharded hash table.
 *
 * Chains through the slots. A shard has n buckets, not always a power of two: a
 * hash's low bits name one, by one bit less where that bucket is not there yet.
 * So one more bucket takes slots from one other only. Where memory for it is
 * lacking the chains are just longer.
 */
#include "cache/table.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

#define MIN_BUCKETS 16
/* Buckets that an insertion adds, or takes away, at most: two add up to more
 * than it needs, so that what could not grow for a while catches up. */
#define STEP 2
/* Buckets taken away at once where nobody waits for a block. */
#define SHRINK_STEP 64

#define SEGMENT_LEN (BFS_SEGMENT * sizeof(struct bfs_slot *))

/* Files choose which keys exist, so the hash must not be foreseeable. */
static uint64_t make_seed(const void *salt)
{
	struct timespec now;
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) ==
	    (ssize_t)sizeof(seed))
		return seed;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return ((uint64_t)now.tv_sec << 32) ^ ((uint64_t)now.tv_nsec << 16) ^
	       (uint64_t)(uintptr_t)salt;
}

static bool init_shard(struct bfs_shard *shard)
{
	shard->segments = bfs_zalloc(1, sizeof(*shard->segments));
	if (!shard->segments)
		return false;
	shard->segments[0] = bfs_zalloc(1, SEGMENT_LEN);
	if (!shard->segments[0]) {
		bfs_free(shard->segments);
		return false;
	}
	shard->max_segments = 1;
	shard->n_buckets = MIN_BUCKETS;
	shard->mask = MIN_BUCKETS - 1;
	shard->n_slots = 0;
	shard->most_moved = 0;
	pthread_mutex_init(&shard->lock, NULL);
	return true;
}

static size_t n_segments(const struct bfs_shard *shard)
{
	return (shard->n_buckets + BFS_SEGMENT - 1) / BFS_SEGMENT;
}

static void release_shard(struct bfs_shard *shard)
{
	size_t n = n_segments(shard);

	pthread_mutex_destroy(&shard->lock);
	while (n--)
		bfs_free(shard->segments[n]);
	bfs_free(shard->segments);
}

enum bfs_err bfs_table_init(struct bfs_table *table,
			    _Atomic uint64_t *held_len)
{
	unsigned i;

	table->seed = make_seed(table);
	table->held_len = held_len;
	for (i = 0; i < BFS_N_SHARDS; i++) {
		if (init_shard(&table->shards[i]))
			continue;
		while (i--)
			release_shard(&table->shards[i]);
		return BFS_ERR_NOMEM;
	}
	return BFS_OK;
}

void bfs_table_release(struct bfs_table *table)
{
	for (unsigned i = 0; i < BFS_N_SHARDS; i++)
		release_shard(&table->shards[i]);
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

static struct bfs_slot **bucket_at(const struct bfs_shard *shard, size_t i)
{
	return &shard->segments[i / BFS_SEGMENT][i % BFS_SEGMENT];
}

static struct bfs_slot **bucket_of(const struct bfs_shard *shard,
				   uint64_t hash)
{
	size_t i = hash & shard->mask;

	if (i >= shard->n_buckets)
		i = hash & shard->mask >> 1;
	return bucket_at(shard, i);
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

static void charge(_Atomic uint64_t *held_len, size_t more, size_t less)
{
	atomic_fetch_add_explicit(held_len, (uint64_t)more - less,
				  memory_order_relaxed);
}

/* Room for n pointers to segments, of which n_used are there. */
static bool resize_list(struct bfs_shard *shard, size_t n, size_t n_used,
			_Atomic uint64_t *held_len)
{
	struct bfs_slot ***list = bfs_alloc(n * sizeof(*list));

	if (!list)
		return false;
	memcpy(list, shard->segments, n_used * sizeof(*list));
	bfs_free(shard->segments);
	charge(held_len, n * sizeof(*list),
	       shard->max_segments * sizeof(*list));
	shard->segments = list;
	shard->max_segments = n;
	return true;
}

/* Room for one more bucket. */
static bool add_room(struct bfs_shard *shard, _Atomic uint64_t *held_len)
{
	size_t n = n_segments(shard);

	if (shard->n_buckets % BFS_SEGMENT)
		return true;
	if (n == shard->max_segments && !resize_list(shard, 2 * n, n, held_len))
		return false;
	shard->segments[n] = bfs_zalloc(1, SEGMENT_LEN);
	if (!shard->segments[n])
		return false;
	charge(held_len, SEGMENT_LEN, 0);
	return true;
}

/* One more bucket, to which slots of one other move. Adds to *n_moved how many
 * were looked at; false without memory. */
static bool split(struct bfs_shard *shard, _Atomic uint64_t *held_len,
		  size_t *n_moved)
{
	size_t new = shard->n_buckets;
	struct bfs_slot **from, **to, *slot;

	BFS_ASSERT_HELD(&shard->lock);
	if (!add_room(shard, held_len))
		return false;
	if (new > shard->mask)
		shard->mask = 2 * shard->mask + 1;
	shard->n_buckets++;
	from = bucket_at(shard, new & shard->mask >> 1);
	to = bucket_at(shard, new);
	for (; (slot = *from); ++*n_moved) {
		if ((slot->hash & shard->mask) != new) {
			from = &slot->hash_next;
			continue;
		}
		*from = slot->hash_next;
		slot->hash_next = *to;
		*to = slot;
	}
	return true;
}

/* The last bucket's slots move to where they came from. */
static void merge(struct bfs_shard *shard, _Atomic uint64_t *held_len,
		  size_t *n_moved)
{
	size_t last = shard->n_buckets - 1;
	struct bfs_slot **from = bucket_at(shard, last);
	struct bfs_slot **to = bucket_at(shard, last & shard->mask >> 1);
	struct bfs_slot *slot;

	BFS_ASSERT_HELD(&shard->lock);
	BFS_ASSERT(last >= MIN_BUCKETS);
	for (; (slot = *from); ++*n_moved) {
		*from = slot->hash_next;
		slot->hash_next = *to;
		*to = slot;
	}
	shard->n_buckets = last;
	if (last == shard->mask / 2 + 1)
		shard->mask >>= 1;
	if (last % BFS_SEGMENT)
		return;
	bfs_free(shard->segments[last / BFS_SEGMENT]);
	charge(held_len, 0, SEGMENT_LEN);
}

/* A few buckets more or less, as the slots are. */
static void adapt(struct bfs_shard *shard, _Atomic uint64_t *held_len)
{
	size_t n_moved = 0;
	unsigned i;

	for (i = 0; i < STEP && shard->n_slots >= shard->n_buckets / 4 * 3; i++)
		if (!split(shard, held_len, &n_moved))
			break;
	for (i = 0; i < STEP && shard->n_buckets > MIN_BUCKETS &&
		    shard->n_slots < shard->n_buckets / 8; i++)
		merge(shard, held_len, &n_moved);
	if (n_moved > shard->most_moved)
		shard->most_moved = n_moved;
}

void bfs_table_insert(struct bfs_table *table, struct bfs_slot *slot)
{
	struct bfs_shard *shard = bfs_table_lock(table, slot->hash);
	struct bfs_slot **bucket;

	adapt(shard, table->held_len);
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

/* Some buckets less; false when there are no more than are needed. */
static bool shrink_some(struct bfs_shard *shard, _Atomic uint64_t *held_len)
{
	size_t want = (size_t)bfs_max(MIN_BUCKETS,
				      shard->n_slots / 3 * 4 + 4);
	size_t n_moved = 0, n;
	unsigned i;

	for (i = 0; i < SHRINK_STEP && shard->n_buckets > want; i++)
		merge(shard, held_len, &n_moved);
	if (n_moved > shard->most_moved)
		shard->most_moved = n_moved;
	if (shard->n_buckets > want)
		return true;
	n = n_segments(shard);
	if (n < shard->max_segments)
		(void)resize_list(shard, n, n, held_len);
	return false;
}

void bfs_table_shrink(struct bfs_table *table)
{
	bool more;

	for (unsigned i = 0; i < BFS_N_SHARDS; i++) {
		struct bfs_shard *shard = &table->shards[i];

		do {
			pthread_mutex_lock(&shard->lock);
			more = shrink_some(shard, table->held_len);
			bfs_shard_unlock(shard);
		} while (more);
	}
}
