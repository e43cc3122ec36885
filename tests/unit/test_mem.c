/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_mem.c - counting, the limit, planned failures and touched pages.
 */
#include "base/mem.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB ((size_t)1 << 20)

static _Atomic unsigned n_wrong;

/* Every test must give back what it took. */
static int end_test(void **state)
{
	(void)state;
	bfs_budget_set_limit(&bfs_process_budget, 0);
	bfs_mem_fail_at(0);
	return bfs_mem_used() != 0;
}

static void allocations_are_counted_and_given_back(void **state)
{
	static const size_t lens[] = { 0, 1, 100, 5000, 1 << 20 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		uint8_t *p = bfs_alloc(lens[i]);

		assert_non_null(p);
		memset(p, 1, lens[i] ? lens[i] : 1);
		assert_true(bfs_mem_used() >= lens[i]);
		assert_true(bfs_mem_used() <= lens[i] + bfs_page_len() + 64);
		bfs_free(p);
		assert_int_equal(bfs_mem_used(), 0);
	}
	bfs_free(NULL);
	bfs_unmap(NULL, 10, &bfs_process_budget);
}

static void zeroed_memory_is_zero(void **state)
{
	uint8_t *p = bfs_alloc(3000);
	size_t i;

	(void)state;
	memset(p, 0xff, 3000);
	bfs_free(p);
	p = bfs_zalloc(1000, 3);
	assert_non_null(p);
	for (i = 0; i < 3000; i++)
		assert_int_equal(p[i], 0);
	bfs_free(p);
	p = bfs_zalloc(0, 3);
	assert_int_equal(p[0], 0);
	bfs_free(p);
}

static void sizes_that_overflow_are_refused(void **state)
{
	(void)state;
	assert_null(bfs_zalloc(SIZE_MAX / 2, 3));
	assert_null(bfs_zalloc(SIZE_MAX, SIZE_MAX));
	assert_null(bfs_memdup0("", SIZE_MAX));
	assert_null(bfs_map(SIZE_MAX));
	assert_null(bfs_map(SIZE_MAX - 4096));
	assert_null(bfs_map(SIZE_MAX / 2));
	assert_int_equal(bfs_mem_used(), 0);
}

static void grown_block_keeps_its_bytes(void **state)
{
	uint8_t *p = bfs_realloc(NULL, 10);
	size_t i;

	(void)state;
	assert_non_null(p);
	for (i = 0; i < 10; i++)
		p[i] = (uint8_t)i;
	p = bfs_realloc(p, 500000);
	assert_non_null(p);
	for (i = 0; i < 10; i++)
		assert_int_equal(p[i], i);
	assert_true(bfs_mem_used() >= 500000);
	p = bfs_realloc(p, 0);
	assert_non_null(p);
	assert_true(bfs_mem_used() < bfs_page_len() + 1000);
	bfs_free(p);
}

static void copy_ends_in_a_nul(void **state)
{
	char *copy = bfs_memdup0("abcdef", 3);

	(void)state;
	assert_string_equal(copy, "abc");
	bfs_free(copy);
	copy = bfs_memdup0(NULL, 0);
	assert_string_equal(copy, "");
	bfs_free(copy);
}

static void cleanup_frees_a_variable(void **state)
{
	(void)state;
	{
		char *p BFS_CLEANUP(bfs_freep) = bfs_alloc(100);

		assert_non_null(p);
		assert_true(bfs_mem_used() > 0);
	}
	assert_int_equal(bfs_mem_used(), 0);
}

static void limit_holds_for_all_kinds(void **state)
{
	uint8_t *p, *q;

	(void)state;
	bfs_budget_set_limit(&bfs_process_budget, 100000);
	p = bfs_alloc(60000);
	assert_non_null(p);
	assert_null(bfs_alloc(60000));
	assert_null(bfs_zalloc(10, 6000));
	assert_null(bfs_map(60000));
	assert_null(bfs_realloc(p, 120000));
	p[59999] = 1;		/* still there */
	q = bfs_alloc(20000);
	assert_non_null(q);
	assert_true(bfs_mem_used() <= 100000);
	bfs_free(p);
	p = bfs_map(60000);
	assert_non_null(p);
	bfs_unmap(p, 60000, &bfs_process_budget);
	bfs_free(q);
	bfs_budget_set_limit(&bfs_process_budget, 0);
	p = bfs_alloc(200000);
	assert_non_null(p);
	bfs_free(p);
}

static void only_the_nth_allocation_fails(void **state)
{
	void *p, *q;

	(void)state;
	bfs_mem_fail_at(1);
	assert_null(bfs_alloc(10));
	p = bfs_alloc(10);
	assert_non_null(p);
	bfs_mem_fail_at(3);
	q = bfs_zalloc(1, 10);
	assert_non_null(q);
	p = bfs_realloc(p, 20);
	assert_non_null(p);
	assert_null(bfs_map(10));
	assert_null(bfs_map(SIZE_MAX));
	bfs_free(q);
	q = bfs_map(10);
	assert_non_null(q);
	bfs_mem_fail_at(1);
	assert_null(bfs_realloc(p, 30));
	bfs_mem_fail_at(2);
	bfs_mem_fail_at(0);
	p = bfs_realloc(p, 40);
	p = bfs_realloc(p, 50);
	assert_non_null(p);
	bfs_free(p);
	bfs_unmap(q, 10, &bfs_process_budget);
}

/* What the kernel does by itself, an emulator of programs may leave. */
static bool pages_are_touched_here(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char in_core = 0;
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mincore(p, 1, &in_core), 0);
	munmap(p, page);
	return in_core & 1;
}

static void mapped_pages_are_touched_already(void **state)
{
	static const size_t lens[] = { 1, 4096, 300000, 2 * MIB,
				       5 * MIB + 123, 8 * MIB };
	size_t i, off, page = (size_t)sysconf(_SC_PAGESIZE);

	(void)state;
	if (!pages_are_touched_here()) {
		printf("# SKIP mapped_pages_are_touched_already: an emulator "
		       "that touches none\n");
		return;
	}
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t all = (lens[i] + page - 1) / page * page;
		uint8_t *p = bfs_map(lens[i]);

		assert_non_null(p);
		assert_int_equal(bfs_mem_used(), all);
		assert_int_equal((uintptr_t)p % page, 0);
		for (off = 0; off < all; off += page) {
			unsigned char in_core = 0;

			assert_int_equal(mincore(p + off, 1, &in_core), 0);
			assert_int_equal(in_core & 1, 1);
		}
		for (off = 0; off < all; off++)
			n_wrong += p[off] != 0;
		assert_int_equal(n_wrong, 0);
		memset(p, 1, all);
		bfs_unmap(p, lens[i], &bfs_process_budget);
		assert_int_equal(bfs_mem_used(), 0);
	}
}

static void unmapped_pages_are_gone(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), off;
	unsigned char in_core;
	uint8_t *p = bfs_map(5 * MIB);

	(void)state;
	assert_non_null(p);
	bfs_unmap(p, 5 * MIB, &bfs_process_budget);
	for (off = 0; off < 5 * MIB; off += page)
		assert_int_not_equal(mincore(p + off, 1, &in_core), 0);
}

static void *churn(void *arg)
{
	unsigned i, seed = (unsigned)(uintptr_t)arg;

	for (i = 0; i < 3000; i++) {
		size_t len = (seed = seed * 1664525 + 1013904223) >> 18;
		void *p = i % 8 ? bfs_alloc(len) : bfs_map(len);

		/* What malloc rounds up comes on top, once a thread. */
		n_wrong += bfs_mem_used() > 40000 + 4 * 4200;
		if (i % 8)
			bfs_free(p);
		else
			bfs_unmap(p, len, &bfs_process_budget);
	}
	return NULL;
}

static void threads_together_keep_the_limit(void **state)
{
	pthread_t threads[4];
	uintptr_t i;

	(void)state;
	n_wrong = 0;
	bfs_budget_set_limit(&bfs_process_budget, 40000);
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, churn,
						(void *)(i + 1)), 0);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(n_wrong, 0);
	assert_int_equal(bfs_mem_used(), 0);
}

/* What others hold leaves that much less, but three quarters in any case. */
static void what_is_held_beside_counts_up_to_a_quarter(void **state)
{
	void *p;

	(void)state;
	bfs_budget_set_limit(&bfs_process_budget, 32 * MIB);
	p = bfs_map(29 * MIB);
	assert_non_null(p);
	bfs_unmap(p, 29 * MIB, &bfs_process_budget);
	bfs_budget_set_beside(&bfs_process_budget, 3 * MIB);
	assert_int_equal(bfs_mem_used(), 3 * MIB);
	assert_null(bfs_map(29 * MIB));
	bfs_budget_set_beside(&bfs_process_budget, 100 * MIB);
	assert_int_equal(bfs_mem_used(), 8 * MIB);
	p = bfs_map(22 * MIB);
	assert_non_null(p);
	bfs_unmap(p, 22 * MIB, &bfs_process_budget);
	bfs_budget_set_beside(&bfs_process_budget, MIB);
	assert_int_equal(bfs_mem_used(), MIB);
	/* The room for little stays what it is. */
	p = bfs_map(28 * MIB);
	assert_non_null(p);
	bfs_budget_set_beside(&bfs_process_budget, 8 * MIB);
	assert_int_equal(bfs_mem_used(), 30 * MIB);
	bfs_unmap(p, 28 * MIB, &bfs_process_budget);
	bfs_budget_set_beside(&bfs_process_budget, 8 * MIB);
	assert_int_equal(bfs_mem_used(), 8 * MIB);
	bfs_budget_set_beside(&bfs_process_budget, 0);
	assert_int_equal(bfs_mem_used(), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, end_test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(allocations_are_counted_and_given_back),
		TEST(zeroed_memory_is_zero),
		TEST(sizes_that_overflow_are_refused),
		TEST(grown_block_keeps_its_bytes),
		TEST(copy_ends_in_a_nul),
		TEST(cleanup_frees_a_variable),
		TEST(limit_holds_for_all_kinds),
		TEST(only_the_nth_allocation_fails),
		TEST(mapped_pages_are_touched_already),
		TEST(unmapped_pages_are_gone),
		TEST(what_is_held_beside_counts_up_to_a_quarter),
		TEST(threads_together_keep_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
