/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cache_pages.c - the block cache where pages have 64 KiB, as in some
 * kernels for AArch64. The library is only told so here; that is enough,
 * since a multiple of 64 KiB is one of 4 KiB as well.
 */
#include "cache_blocks.h"

#define LARGE_PAGE (64 * KIB)

static int tell_large_pages(void **state)
{
	bfs_mem_set_page_len(LARGE_PAGE);
	return begin_test(state);
}

static void memory_is_counted_in_large_pages(void **state)
{
	void *p = bfs_map(1);

	(void)state;
	assert_non_null(p);
	assert_int_equal(bfs_mem_used() - base_len, LARGE_PAGE);
	bfs_unmap(p, 1, &bfs_process_budget);
}

/* What entered last is there, as far as half of the budget goes, but for a few
 * pages' worth: where the table of keys grows, a page with blocks goes. */
static void small_blocks_share_large_pages(void **state)
{
	static const size_t lens[] = { 1, 700, 4096, 9000, 30000 };

	(void)state;
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		const uint64_t n_fit = 4 * MIB / (lens[i] + 192);
		const uint64_t n_page = LARGE_PAGE / (lens[i] + 192) + 1;
		struct bfs_cache *cache = make_cache(8 * MIB);

		for (uint64_t n = 0; n < 4 * n_fit; n++)
			use(cache, n, lens[i]);
		assert_true(get_stats(cache).held_len <= 8 * MIB);
		assert_true(bfs_mem_used() - base_len <=
			    get_stats(cache).held_len + FIXED_LEN);
		assert_true(count_there(cache, 3 * n_fit, 4 * n_fit) +
			    4 * n_page >= n_fit);
		bfs_cache_free(cache);
	}
}

static void budget_holds_for_sizes_mixed_in_large_pages(void **state)
{
	struct bfs_cache *cache = make_cache(4 * MIB);
	uint64_t seed = 7, n;

	(void)state;
	for (n = 0; n < 5000; n++) {
		use(cache, n, (size_t)draw(&seed, n % 9 ? 9000 : 400000));
		assert_true(get_stats(cache).held_len <= 4 * MIB);
	}
	bfs_cache_trim(cache);
	assert_int_equal(get_stats(cache).held_len, 0);
	bfs_cache_free(cache);
}

#define LARGE(name)                                                          \
	cmocka_unit_test_setup_teardown(name, tell_large_pages, end_test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LARGE(memory_is_counted_in_large_pages),
		LARGE(small_blocks_share_large_pages),
		LARGE(budget_holds_for_sizes_mixed_in_large_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
