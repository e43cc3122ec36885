/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cache_table.c - the table of blocks grows and shrinks a little at a
 * time, and each block is found at any size of it.
 */
#include "base/mem.h"
#include "cache/table.h"

#include "cache_blocks.h"

#include <stdlib.h>

#define N_SLOTS ((size_t)1 << 18)
/* Slots that one hold of a lock may move. A table that is hashed anew at once
 * moves a sixteenth of all. */
#define MOST_BY_INSERT 100
#define MOST_BY_SHRINK 600

struct filled {
	struct bfs_table table;
	_Atomic uint64_t held_len;
	struct bfs_slot *slots;
};

static void prepare(struct filled *f)
{
	memset(f, 0, sizeof(*f));
	assert_int_equal(bfs_table_init(&f->table, &f->held_len), BFS_OK);
	f->slots = calloc(N_SLOTS, sizeof(*f->slots));
	assert_non_null(f->slots);
}

static void insert(struct filled *f, size_t i)
{
	struct bfs_slot *slot = &f->slots[i];

	slot->key = make_key(1, i);
	slot->hash = bfs_table_hash(&f->table, &slot->key);
	atomic_store(&slot->refs, 1);
	bfs_table_insert(&f->table, slot);
}

static struct bfs_slot *find(struct filled *f, size_t i)
{
	struct bfs_cache_key key = make_key(1, i);
	uint64_t hash = bfs_table_hash(&f->table, &key);
	struct bfs_shard *shard = bfs_table_lock(&f->table, hash);
	struct bfs_slot *slot = bfs_shard_find(shard, hash, &key);

	bfs_shard_unlock(shard);
	return slot;
}

/* Slots from first to end are in the table, none else. */
static void assert_found(struct filled *f, size_t first, size_t end)
{
	for (size_t i = 0; i < N_SLOTS; i++)
		if (find(f, i) !=
		    (i >= first && i < end ? &f->slots[i] : NULL))
			fail_msg("slot %zu is not as it should be", i);
}

static size_t most_moved(const struct filled *f)
{
	size_t most = 0;

	for (unsigned i = 0; i < BFS_N_SHARDS; i++)
		if (f->table.shards[i].most_moved > most)
			most = f->table.shards[i].most_moved;
	return most;
}

static size_t n_buckets(const struct filled *f)
{
	size_t n = 0;

	for (unsigned i = 0; i < BFS_N_SHARDS; i++)
		n += f->table.shards[i].n_buckets;
	return n;
}

/* No shard lags behind the slots it had before the last one, at any number of
 * them. */
static void assert_grown(const struct filled *f, size_t i)
{
	const struct bfs_shard *shard =
		&f->table.shards[f->slots[i].hash >> 60];

	if (shard->n_slots > shard->n_buckets / 4 * 3 + 1)
		fail_msg("%zu slots in %zu buckets", shard->n_slots,
			 shard->n_buckets);
}

static void finish(struct filled *f)
{
	bfs_table_release(&f->table);
	free(f->slots);
}

static void a_growing_table_moves_few_slots_under_one_lock(void **state)
{
	struct filled f;

	(void)state;
	prepare(&f);
	for (size_t i = 0; i < N_SLOTS; i++) {
		insert(&f, i);
		assert_grown(&f, i);
		if (i == 1000 || i == 33333)
			assert_found(&f, 0, i + 1);
	}
	assert_found(&f, 0, N_SLOTS);
	assert_true(n_buckets(&f) >= N_SLOTS);
	print_message("# most slots moved under one lock: %zu\n",
		      most_moved(&f));
	assert_in_range(most_moved(&f), 1, MOST_BY_INSERT);
	finish(&f);
}

static void a_shrinking_table_moves_few_slots_under_one_lock(void **state)
{
	struct filled f;
	size_t i;

	(void)state;
	prepare(&f);
	for (i = 0; i < N_SLOTS; i++)
		insert(&f, i);
	assert_true(f.held_len >= N_SLOTS * sizeof(void *));
	/* Just fewer than are needed for all buckets, then almost none. */
	for (i = 0; i < N_SLOTS / 16; i++)
		assert_true(bfs_table_evict(&f.table, &f.slots[i]));
	bfs_table_shrink(&f.table);
	assert_found(&f, N_SLOTS / 16, N_SLOTS);
	for (; i < N_SLOTS - 100; i++)
		assert_int_equal(bfs_table_unlink(&f.table, &f.slots[i]), 0);
	bfs_table_shrink(&f.table);
	assert_found(&f, N_SLOTS - 100, N_SLOTS);
	assert_in_range(n_buckets(&f), 1, 1000);
	print_message("# most slots moved under one lock: %zu\n",
		      most_moved(&f));
	assert_in_range(most_moved(&f), 1, MOST_BY_SHRINK);
	for (; i < N_SLOTS; i++)
		assert_true(bfs_table_evict(&f.table, &f.slots[i]));
	bfs_table_shrink(&f.table);
	assert_int_equal(f.held_len, 0);
	finish(&f);
}

/* As in a cache whose blocks have become large: few are left, and each that
 * comes in lets some buckets go. */
static void a_table_shrinks_by_insertions(void **state)
{
	struct filled f;
	size_t n_before, i;

	(void)state;
	prepare(&f);
	for (i = 0; i < N_SLOTS; i++)
		insert(&f, i);
	n_before = n_buckets(&f);
	for (i = 1000; i < N_SLOTS; i++)
		assert_true(bfs_table_evict(&f.table, &f.slots[i]));
	for (i = 1000; i < N_SLOTS; i++) {
		insert(&f, i);
		if (i < N_SLOTS - 1000)
			assert_true(bfs_table_evict(&f.table, &f.slots[i]));
	}
	assert_true(n_buckets(&f) < n_before / 4);
	for (i = 0; i < 1000; i++)
		assert_ptr_equal(find(&f, i), &f.slots[i]);
	assert_in_range(most_moved(&f), 1, MOST_BY_INSERT);
	finish(&f);
}

static void a_table_that_cannot_grow_finds_all_and_grows_later(void **state)
{
	struct filled f;
	size_t i;

	(void)state;
	prepare(&f);
	for (i = 0; i < 20000; i++) {
		/* Each allocation fails, of segments and of their list. */
		bfs_mem_fail_at(1);
		insert(&f, i);
	}
	bfs_mem_fail_at(0);
	assert_int_equal(f.held_len, 0);
	assert_found(&f, 0, 20000);
	for (; i < 60000; i++)
		insert(&f, i);
	assert_found(&f, 0, 60000);
	assert_true(n_buckets(&f) >= 60000);
	finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_growing_table_moves_few_slots_under_one_lock),
		TEST(a_shrinking_table_moves_few_slots_under_one_lock),
		TEST(a_table_shrinks_by_insertions),
		TEST(a_table_that_cannot_grow_finds_all_and_grows_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
