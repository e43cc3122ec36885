/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cache.c - the block cache in the hands of one thread: what it keeps,
 * what it gives up, and how it does when memory is short.
 */
#include "cache_blocks.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* One thread. */

static void claimed_block_is_a_hit_afterwards(void **state)
{
	struct bfs_cache *cache = make_cache(MIB);
	struct bfs_cache_stats stats;

	(void)state;
	assert_false(has(cache, 1, 7));
	assert_int_equal(use(cache, 7, 5000), BFS_CACHE_CLAIMED);
	assert_true(has(cache, 1, 7));
	assert_int_equal(use(cache, 7, 5000), BFS_CACHE_HIT);
	assert_int_equal(use(cache, 8, 5000), BFS_CACHE_CLAIMED);
	stats = get_stats(cache);
	assert_int_equal(stats.hits, 1);
	assert_int_equal(stats.misses, 2);
	assert_int_equal(stats.evictions, 0);
	assert_int_equal(stats.budget_len, MIB);
	assert_true(stats.held_len >= 10000);
	bfs_cache_free(cache);
}

static void default_budget_is_256_mib(void **state)
{
	struct bfs_cache *cache = make_cache(0);

	(void)state;
	assert_int_equal(get_stats(cache).budget_len, 256 * MIB);
	assert_int_equal(get_stats(cache).held_len, 0);
	bfs_cache_free(cache);
	bfs_cache_free(NULL);
}

static void empty_block_is_a_block(void **state)
{
	struct bfs_cache *cache = make_cache(MIB);

	(void)state;
	assert_int_equal(use(cache, 1, 0), BFS_CACHE_CLAIMED);
	assert_int_equal(use(cache, 1, 0), BFS_CACHE_HIT);
	bfs_cache_free(cache);
}

static void try_says_busy_while_another_decodes(void **state)
{
	struct bfs_cache *cache = make_cache(MIB);
	struct bfs_cache_key key = make_key(1, 1);
	struct bfs_cache_pin mine, other = { NULL, 77, NULL };
	enum bfs_cache_state is;

	(void)state;
	assert_int_equal(bfs_cache_try(cache, &key, 100, &is, &mine, NULL), 0);
	assert_int_equal(is, BFS_CACHE_CLAIMED);
	assert_true(has(cache, 1, 1));
	assert_int_equal(bfs_cache_try(cache, &key, 100, &is, &other, NULL), 0);
	assert_int_equal(is, BFS_CACHE_BUSY);
	assert_int_equal(other.len, 77);
	fill(&key, &mine);
	bfs_cache_commit(cache, &mine);
	assert_int_equal(bfs_cache_try(cache, &key, 100, &is, &other, NULL), 0);
	assert_int_equal(is, BFS_CACHE_HIT);
	assert_ptr_equal(other.data, mine.data);
	bfs_cache_unpin(cache, &mine, false);
	assert_true(is_filled(&key, &other));
	bfs_cache_unpin(cache, &other, false);
	bfs_cache_free(cache);
}

static void block_asked_for_with_two_lengths_is_refused(void **state)
{
	struct bfs_cache *cache = make_cache(MIB);
	struct bfs_cache_key key = make_key(1, 1);
	struct bfs_cache_pin pin;
	struct bfs_diag diag;
	enum bfs_cache_state is;

	(void)state;
	use(cache, 1, 100);
	assert_int_equal(bfs_cache_get(cache, &key, 99, &is, &pin, &diag),
			 BFS_ERR_INVALID);
	assert_int_equal(diag.err, BFS_ERR_INVALID);
	assert_int_equal(use(cache, 1, 100), BFS_CACHE_HIT);
	bfs_cache_free(cache);
}

static void abandoned_block_can_be_claimed_again(void **state)
{
	struct bfs_cache *cache = make_cache(MIB);
	struct bfs_cache_key key = make_key(1, 1);
	struct bfs_cache_pin pin;
	enum bfs_cache_state is;

	(void)state;
	assert_int_equal(bfs_cache_get(cache, &key, 100, &is, &pin, NULL), 0);
	bfs_cache_abandon(cache, &pin, BFS_ERR_CORRUPT, NULL);
	assert_null(pin.data);
	assert_false(has(cache, 1, 1));
	assert_int_equal(use(cache, 1, 120), BFS_CACHE_CLAIMED);
	bfs_cache_free(cache);
}

static void check_budget(size_t budget_len, size_t len)
{
	struct bfs_cache *cache = make_cache(budget_len);
	uint64_t n, n_blocks = 3 * budget_len / (len + 192) + 8;

	for (n = 0; n < n_blocks; n++) {
		struct bfs_cache_stats stats;

		use(cache, n, len);
		if (n % 16)
			continue;
		stats = get_stats(cache);
		if (stats.held_len > budget_len ||
		    bfs_mem_used() - base_len > stats.held_len + FIXED_LEN)
			fail_msg("block %u of %zu bytes: holds %u, really %u",
				 (unsigned)n, len, (unsigned)stats.held_len,
				 (unsigned)(bfs_mem_used() - base_len));
	}
	/* And most of it is used: what entered last is there. */
	n = count_there(cache, n_blocks - budget_len * 5 / 8 / (len + 192),
			n_blocks);
	assert_true(n >= budget_len / 2 / (len + 192));
	bfs_cache_free(cache);
}

static void budget_holds_for_blocks_of_every_size(void **state)
{
	static const size_t lens[] = { 1, 64, 65, 700, 4096, 4097, 9000, 40000,
				       65536, 70000, 131072, 262144 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		check_budget(MIB, lens[i]);
		check_budget(5 * MIB + 12345, lens[i]);
	}
}

static void budget_holds_for_sizes_mixed(void **state)
{
	/* So many pages that each size may have some of its own. */
	const uint64_t budget_len = 1024 * bfs_page_len();
	struct bfs_cache *cache = make_cache(budget_len);
	uint64_t seed = 99, i, n_hits = 0;

	(void)state;
	for (i = 0; i < 12000; i++) {
		uint64_t n = draw(&seed, 3) ? draw(&seed, 50) :
			     draw(&seed, 3000);
		size_t len = (size_t)(n * n * 7919 % (n % 9 ? 9000 : 400000));

		n_hits += use(cache, n, len) == BFS_CACHE_HIT;
		if (get_stats(cache).held_len > budget_len)
			fail_msg("holds %u",
				 (unsigned)get_stats(cache).held_len);
	}
	assert_true(n_hits > 6000);
	bfs_cache_free(cache);
}

static void memory_moves_between_sizes(void **state)
{
	static const size_t lens[] = { 262144, 500, 1, 30000, 262144, 1 };
	struct bfs_cache *cache = make_cache(4 * MIB);
	uint64_t first = 0, n, i;

	(void)state;
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		uint64_t n_fit = 4 * MIB / (lens[i] + 192);

		for (n = first; n < first + 2 * n_fit; n++)
			use(cache, n, lens[i]);
		assert_true(get_stats(cache).held_len <= 4 * MIB);
		assert_true(count_there(cache, first + n_fit, n) >=
			    n_fit * 3 / 4);
		first = n;
	}
	bfs_cache_free(cache);
}

static void scattered_blocks_do_not_hold_memory_of_others(void **state)
{
	struct bfs_cache *cache = make_cache(16 * MIB);
	unsigned round;
	uint64_t n;

	(void)state;
	/* Of short blocks every tenth is used again and again; */
	for (round = 0; round < 3; round++) {
		for (n = 0; n < 3500; n++) {
			if (round == 0 || n % 10 == 0)
				use(cache, n, 4096);
		}
	}
	/* then come long ones: nearly all of the memory must be theirs. */
	for (n = 10000; n < 10300; n++)
		use(cache, n, 65536);
	assert_true(count_there(cache, 10000, 10300) >= 215);
	bfs_cache_free(cache);
}

static void pins_survive_eviction_and_drop(void **state)
{
	struct bfs_cache *cache = make_cache(MIB);
	struct bfs_cache_key key = make_key(1, 0), dropped = make_key(2, 0);
	struct bfs_cache_pin pin, pin2;
	uint64_t n;

	(void)state;
	pin_block(cache, 1, 0, 10000, &pin);
	pin_block(cache, 2, 0, 10000, &pin2);
	bfs_cache_drop(cache, 2);
	assert_false(has(cache, 2, 0));
	for (n = 1; n < 1000; n++)
		use(cache, n, 10000);
	assert_true(has(cache, 1, 0));
	assert_true(is_filled(&key, &pin));
	assert_true(is_filled(&dropped, &pin2));
	bfs_cache_trim(cache);
	assert_true(is_filled(&key, &pin));
	assert_true(is_filled(&dropped, &pin2));
	bfs_cache_unpin(cache, &pin2, true);
	bfs_cache_unpin(cache, &pin, false);
	for (n = 1000; n < 2000; n++)
		use(cache, n, 10000);
	assert_false(has(cache, 1, 0));
	bfs_cache_free(cache);
}

static void drop_forgets_one_generation_only(void **state)
{
	struct bfs_cache *cache = make_cache(4 * MIB);
	struct bfs_cache_pin pin;
	uint64_t gen, n;

	(void)state;
	for (n = 0; n < 1000; n++) {
		for (gen = 0; gen < 3; gen++) {
			pin_block(cache, gen, n, 100, &pin);
			bfs_cache_unpin(cache, &pin, false);
		}
	}
	bfs_cache_drop(cache, 1);
	for (n = 0; n < 1000; n++) {
		assert_true(has(cache, 0, n));
		assert_false(has(cache, 1, n));
		assert_true(has(cache, 2, n));
	}
	bfs_cache_free(cache);
}

static void block_dropped_in_flight_still_ends(void **state)
{
	struct bfs_cache *cache = make_cache(MIB);
	struct bfs_cache_key key = make_key(1, 1);
	struct bfs_cache_pin one, two, three;
	enum bfs_cache_state is;

	(void)state;
	assert_int_equal(bfs_cache_get(cache, &key, 9000, &is, &one, NULL), 0);
	bfs_cache_drop(cache, 1);
	assert_int_equal(bfs_cache_get(cache, &key, 9000, &is, &two, NULL), 0);
	assert_int_equal(is, BFS_CACHE_CLAIMED);
	bfs_cache_drop(cache, 1);
	assert_int_equal(pin_block(cache, 1, 1, 9000, &three),
			 BFS_CACHE_CLAIMED);
	fill(&key, &one);
	bfs_cache_commit(cache, &one);
	bfs_cache_unpin(cache, &one, true);
	bfs_cache_abandon(cache, &two, BFS_ERR_IO, NULL);
	bfs_cache_unpin(cache, &three, false);
	assert_int_equal(use(cache, 1, 9000), BFS_CACHE_HIT);
	bfs_cache_free(cache);
}

static void block_beyond_the_budget_stays_until_another_comes(void **state)
{
	struct bfs_cache *cache = make_cache(MIB);
	struct bfs_cache_pin pin, again;

	(void)state;
	use(cache, 1, 1000);
	pin_block(cache, 1, 2, 3 * MIB, &pin);
	assert_true(get_stats(cache).held_len >= 3 * MIB);
	assert_true(get_stats(cache).held_len <= 4 * MIB);
	assert_int_equal(pin_block(cache, 1, 2, 3 * MIB, &again),
			 BFS_CACHE_HIT);
	bfs_cache_unpin(cache, &pin, false);
	bfs_cache_unpin(cache, &again, false);
	assert_true(has(cache, 1, 2));
	use(cache, 3, 1000);
	assert_false(has(cache, 1, 2));
	assert_true(get_stats(cache).held_len <= MIB);
	bfs_cache_free(cache);
}

static void block_beyond_the_budget_leaves_when_its_reader_has_passed(
	void **state)
{
	struct bfs_cache *cache = make_cache(MIB);
	struct bfs_cache_pin pin;

	(void)state;
	pin_block(cache, 1, 2, 3 * MIB, &pin);
	bfs_cache_unpin(cache, &pin, false);
	assert_int_equal(pin_block(cache, 1, 2, 3 * MIB, &pin),
			 BFS_CACHE_HIT);
	bfs_cache_unpin(cache, &pin, true);
	assert_false(has(cache, 1, 2));
	assert_true(get_stats(cache).held_len <= MIB);
	bfs_cache_free(cache);
}

static void settling_brings_back_the_budget(void **state)
{
	struct bfs_cache *cache = make_cache(MIB);

	(void)state;
	use(cache, 2, 3 * MIB);
	assert_true(get_stats(cache).held_len >= 3 * MIB);
	bfs_cache_settle(cache);
	assert_true(get_stats(cache).held_len <= MIB);
	bfs_cache_free(cache);
}

/* A few readers take their blocks in pieces, one piece each in turn. */
static void read_in_turns(uint64_t budget_len, size_t len, unsigned n_readers)
{
	struct bfs_cache *cache = make_cache(budget_len);
	uint64_t block, piece, reader;

	for (block = 0; block < 20; block++)
		for (piece = 0; piece < 16; piece++)
			for (reader = 0; reader < n_readers; reader++)
				use(cache, 1000 * reader + block, len);
	assert_int_equal(get_stats(cache).misses, 20 * n_readers);
	assert_true(get_stats(cache).held_len <=
		    budget_len + 17 * (len + 8192));
	bfs_cache_free(cache);
}

static void block_stays_for_its_reader_in_a_budget_of_its_own_length(
	void **state)
{
	(void)state;
	read_in_turns(64 * KIB, 64 * KIB, 1);
	read_in_turns(64 * KIB, 64 * KIB, 8);
}

static void blocks_stay_for_their_readers_in_a_budget_of_nothing(void **state)
{
	(void)state;
	read_in_turns(1, 64 * KIB, 1);
	read_in_turns(1, 4096, 8);
	read_in_turns(1, 13, 4);
}

/* The sanitizers see a header that is not aligned. */
static void tiny_budgets_take_blocks_of_odd_lengths(void **state)
{
	uint64_t budget_len, n;

	(void)state;
	for (budget_len = 1; budget_len < 2100; budget_len += 37) {
		struct bfs_cache *cache = make_cache(budget_len);

		for (n = 0; n < 60; n++) {
			struct bfs_cache_pin pin;

			pin_block(cache, 1, n, (size_t)(1 + 61 * n), &pin);
			assert_int_equal((uintptr_t)pin.data % 64, 0);
			bfs_cache_unpin(cache, &pin, n % 2);
		}
		bfs_cache_free(cache);
	}
}

static void pins_beyond_the_budget_are_given_and_made_good(void **state)
{
	struct bfs_cache *cache = make_cache(MIB);
	struct bfs_cache_pin pins[40];
	unsigned i;

	(void)state;
	for (i = 0; i < 40; i++)
		pin_block(cache, 1, i, 100000, &pins[i]);
	assert_true(get_stats(cache).held_len >= 4000000);
	for (i = 0; i < 40; i++) {
		struct bfs_cache_key key = make_key(1, i);

		assert_true(is_filled(&key, &pins[i]));
		bfs_cache_unpin(cache, &pins[i], false);
	}
	assert_true(get_stats(cache).held_len <= MIB);
	assert_true(bfs_mem_used() - base_len <= MIB + FIXED_LEN);
	/* Each has pages of its own. */
	assert_true(count_there(cache, 0, 40) >=
		    MIB / (100000 + bfs_page_len()) - 2);
	bfs_cache_free(cache);
}

static void consumed_blocks_leave_first(void **state)
{
	struct bfs_cache *cache = make_cache(4 * MIB);
	uint64_t n;

	(void)state;
	for (n = 0; n < 50; n++)
		use(cache, n, 64 * KIB);
	/* The youngest are consumed; one of them is wanted again. */
	for (n = 40; n < 50; n++)
		consume(cache, n, 64 * KIB);
	use(cache, 45, 64 * KIB);
	for (n = 50; n < 72; n++)
		use(cache, n, 64 * KIB);
	assert_int_equal(count_there(cache, 0, 40), 40);
	assert_int_equal(count_there(cache, 40, 50), 1);
	assert_true(has(cache, 1, 45));
	assert_int_equal(count_there(cache, 50, 72), 22);
	bfs_cache_free(cache);
}

static void consumed_blocks_make_room_before_the_cache_grows(void **state)
{
	struct bfs_cache *cache = make_cache(8 * MIB);
	uint64_t n;

	(void)state;
	for (n = 0; n < 10; n++)
		use(cache, n, 64 * KIB);
	for (n = 10; n < 110; n++) {
		use(cache, n, 64 * KIB);
		consume(cache, n, 64 * KIB);
	}
	assert_int_equal(count_there(cache, 0, 10), 10);
	assert_true(count_there(cache, 10, 110) >= 30);
	/* A quarter of the budget, what is not consumed, and the newcomer. */
	assert_true(get_stats(cache).held_len <=
		    2 * MIB + 13 * (64 * KIB + 4096));
	bfs_cache_free(cache);
}

/* A scan that takes every block in `pieces` looks, ending at `end`. */
static void scan(struct bfs_cache *cache, uint64_t first, uint64_t end,
		 unsigned pieces)
{
	unsigned i;

	for (; first < end; first++) {
		for (i = 0; i < pieces; i++)
			use(cache, first, 64 * KIB);
	}
}

static void hot_blocks_survive_a_scan(void **state)
{
	struct bfs_cache *cache = make_cache(16 * MIB);	/* 256 blocks */
	uint64_t n, next = 1000000;
	unsigned round, n_hits = 0;

	(void)state;
	/* 120 hot blocks amid a slow scan, */
	for (round = 0; round < 5; round++) {
		for (n = 0; n < 120; n++) {
			use(cache, n, 64 * KIB);
			scan(cache, next, next + (n % 4 == 0), 8);
			next += n % 4 == 0;
		}
	}
	/* then a scan alone of four times the cache, */
	scan(cache, next, next + 1024, 8);
	n_hits = count_there(cache, 0, 120);
	print_message("# hot blocks left after a scan: %u of 120\n", n_hits);
	assert_true(n_hits >= 114);
	/* and one by a reader that says so. */
	for (next += 1024, n = 0; n < 1024; n++)
		consume(cache, next + n, 64 * KIB);
	n_hits = count_there(cache, 0, 120);
	print_message("# and after one that consumes: %u\n", n_hits);
	assert_true(n_hits >= 114);
	bfs_cache_free(cache);
}

static void scan_does_not_stay_hot(void **state)
{
	struct bfs_cache *cache = make_cache(16 * MIB);
	uint64_t n;
	unsigned round;

	(void)state;
	/* An old hot set makes way for a new one. */
	for (round = 0; round < 6; round++)
		for (n = 0; n < 200; n++)
			use(cache, n, 64 * KIB);
	for (round = 0; round < 6; round++)
		for (n = 1000; n < 1200; n++)
			use(cache, n, 64 * KIB);
	assert_true(count_there(cache, 1000, 1200) >= 190);
	bfs_cache_free(cache);
}

static long count_faults(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_minflt;
}

/* 1000 misses over blocks of one size, or of two as at a chunk's end. */
static long faults_of_misses(size_t len, size_t tail_len)
{
	struct bfs_cache *cache = make_cache(16 * MIB);
	uint64_t n, warm = 3 * 16 * MIB / len;
	long faults = 0;

	for (n = 0; n < warm + 1000; n++) {
		if (n == warm)
			faults = count_faults();
		use(cache, n, n % 16 == 15 ? tail_len : len);
	}
	faults = count_faults() - faults;
	assert_true(get_stats(cache).misses == warm + 1000);
	bfs_cache_free(cache);
	return faults;
}

static void steady_misses_touch_no_fresh_pages(void **state)
{
	static const size_t lens[][2] = {
		{ 262144, 262144 }, { 262144, 90000 }, { 65536, 65536 },
		{ 16384, 16384 }, { 16384, 3000 }, { 1000, 1000 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		long n = faults_of_misses(lens[i][0], lens[i][1]);

		print_message("# blocks of %zu and %zu: %ld faults in 1000 "
			      "misses\n", lens[i][0], lens[i][1], n);
		assert_true(n <= 50);
	}
}

/* How many allocations are left until the planned one fails: `most` if that
 * has happened. A sanitizer's own faults do not count here. */
static unsigned count_left(unsigned most)
{
	unsigned n;

	for (n = 0; n < most; n++) {
		void *p = bfs_alloc(1);

		if (!p)
			break;
		bfs_free(p);
	}
	bfs_mem_fail_at(0);
	return n;
}

static void misses_of_any_length_rarely_map(void **state)
{
	struct bfs_cache *cache = make_cache(16 * MIB);
	uint64_t seed = 4711;
	unsigned n;

	(void)state;
	for (n = 0; n < 9000; n++) {
		if (n == 8000)
			bfs_mem_fail_at(1000);
		use(cache, n, 1000 + (size_t)draw(&seed, 20000));
	}
	n = 999 - count_left(1000);
	print_message("# blocks of 1000 to 21000: %u allocations in 1000 "
		      "misses\n", n);
	assert_true(n <= 60);
	bfs_cache_free(cache);
}

static bool is_mapped(void *p)
{
	uintptr_t page = (uintptr_t)p & ~(bfs_page_len() - 1);
	unsigned char in_core[1];

	return mincore((void *)page, 1, in_core) == 0 || errno != ENOMEM;
}

static void trim_gives_memory_back(void **state)
{
	struct bfs_cache *cache = make_cache(8 * MIB);
	struct bfs_cache_pin pin;
	uint8_t *there;
	uint64_t n;

	(void)state;
	pin_block(cache, 1, 5, 300000, &pin);
	there = pin.data;
	bfs_cache_unpin(cache, &pin, false);
	for (n = 0; n < 20000; n++)
		use(cache, 100 + n, n % 100 ? 40 : 300000);
	pin_block(cache, 1, 7, 20000, &pin);
	assert_true(get_stats(cache).held_len > 4 * MIB);
	bfs_cache_trim(cache);
	assert_true(has(cache, 1, 7));
	assert_true(get_stats(cache).held_len <= 64 * KIB);
	assert_true(bfs_mem_used() - base_len <= 64 * KIB + FIXED_LEN);
	assert_false(is_mapped(there));
	bfs_cache_unpin(cache, &pin, false);
	bfs_cache_trim(cache);
	assert_int_equal(get_stats(cache).held_len, 0);
	assert_int_equal(use(cache, 7, 20000), BFS_CACHE_CLAIMED);
	bfs_cache_free(cache);
}

/* Short of memory. */

/* A miss that may lack memory; true if it did. */
static bool use_or_lack(struct bfs_cache *cache, uint64_t n, size_t len)
{
	struct bfs_cache_key key = make_key(1, n);
	struct bfs_diag diag = { 0 };
	struct bfs_cache_pin pin;
	enum bfs_cache_state is;
	enum bfs_err err = bfs_cache_get(cache, &key, len, &is, &pin, &diag);

	if (err) {
		assert_int_equal(err, BFS_ERR_NOMEM);
		assert_int_equal(diag.err, BFS_ERR_NOMEM);
		assert_false(bfs_cache_has(cache, &key));
		return true;
	}
	if (is == BFS_CACHE_CLAIMED) {
		fill(&key, &pin);
		bfs_cache_commit(cache, &pin);
	}
	assert_true(is_filled(&key, &pin));
	bfs_cache_unpin(cache, &pin, n % 3 == 0);
	return false;
}

/* Runs a cache whose fail_at-th allocation fails. False once the run needs
 * fewer than that. */
static bool run_with_failure(uint64_t fail_at)
{
	struct bfs_cache *cache = NULL;
	uint64_t n;
	void *p;

	bfs_mem_fail_at(fail_at);
	if (bfs_cache_new(256 * KIB, &cache))
		return true;
	for (n = 0; n < 24; n++)
		use_or_lack(cache, n, n % 7 ? 300 * n : 100000);
	for (n = 0; n < 60; n++)
		use_or_lack(cache, 1000 + n, 10);
	for (n = 0; n < 3; n++)
		use_or_lack(cache, 2000 + n, 200000);
	p = bfs_alloc(1);	/* fails only if no other one did */
	bfs_free(p);
	bfs_mem_fail_at(0);
	assert_true(get_stats(cache).held_len <= 256 * KIB);
	assert_int_equal(use(cache, 5000, 60000), BFS_CACHE_CLAIMED);
	assert_int_equal(use(cache, 5000, 60000), BFS_CACHE_HIT);
	bfs_cache_free(cache);
	return p != NULL;
}

static void any_allocation_may_fail(void **state)
{
	uint64_t n = 1;

	(void)state;
	while (run_with_failure(n)) {
		assert_int_equal(bfs_mem_used(), base_len);
		n++;
	}
	print_message("# %u allocations failed in turn\n", (unsigned)n);
	assert_true(n > 40);
}

static void memory_limit_below_the_budget_is_lived_with(void **state)
{
	struct bfs_cache *cache = make_cache(64 * MIB);
	uint64_t n;

	(void)state;
	bfs_budget_set_limit(&bfs_process_budget, bfs_mem_used() + 2 * MIB);
	for (n = 0; n < 300; n++)
		assert_false(use_or_lack(cache, n, n % 50 ? 100000 : 900000));
	assert_true(use_or_lack(cache, n, 3 * MIB));
	assert_int_equal(use(cache, n, 100000), BFS_CACHE_CLAIMED);
	bfs_budget_set_limit(&bfs_process_budget, 0);
	assert_int_equal(use(cache, n + 1, 3 * MIB), BFS_CACHE_CLAIMED);
	bfs_cache_free(cache);
}

static void length_beyond_all_memory_is_refused(void **state)
{
	static const size_t lens[] = { SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4 };
	struct bfs_cache *cache = make_cache(MIB);
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++)
		assert_true(use_or_lack(cache, i, lens[i]));
	assert_int_equal(get_stats(cache).held_len, 0);
	bfs_cache_free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(claimed_block_is_a_hit_afterwards),
		TEST(default_budget_is_256_mib),
		TEST(empty_block_is_a_block),
		TEST(try_says_busy_while_another_decodes),
		TEST(block_asked_for_with_two_lengths_is_refused),
		TEST(abandoned_block_can_be_claimed_again),
		TEST(budget_holds_for_blocks_of_every_size),
		TEST(budget_holds_for_sizes_mixed),
		TEST(memory_moves_between_sizes),
		TEST(scattered_blocks_do_not_hold_memory_of_others),
		TEST(pins_survive_eviction_and_drop),
		TEST(drop_forgets_one_generation_only),
		TEST(block_dropped_in_flight_still_ends),
		TEST(block_beyond_the_budget_stays_until_another_comes),
		TEST(block_beyond_the_budget_leaves_when_its_reader_has_passed),
		TEST(settling_brings_back_the_budget),
		TEST(block_stays_for_its_reader_in_a_budget_of_its_own_length),
		TEST(blocks_stay_for_their_readers_in_a_budget_of_nothing),
		TEST(tiny_budgets_take_blocks_of_odd_lengths),
		TEST(pins_beyond_the_budget_are_given_and_made_good),
		TEST(consumed_blocks_leave_first),
		TEST(consumed_blocks_make_room_before_the_cache_grows),
		TEST(hot_blocks_survive_a_scan),
		TEST(scan_does_not_stay_hot),
		TEST(steady_misses_touch_no_fresh_pages),
		TEST(misses_of_any_length_rarely_map),
		TEST(trim_gives_memory_back),
		TEST(any_allocation_may_fail),
		TEST(memory_limit_below_the_budget_is_lived_with),
		TEST(length_beyond_all_memory_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
