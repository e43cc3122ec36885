/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_filter_both.c - two filters undone in one pass, and planes that lie
 * apart: the same bytes as one filter after the other by scalar code.
 *
 * Which vector code runs is up to BLOSCFS_CPU, as for users; the test setups
 * go through the levels. All memory lies against inaccessible pages.
 */
#include "filter/filter.h"

#include "../support/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_LEN 65536
#define N_PLANES 8

static struct guard dst_guard, src_guard, ref_guard, apart[N_PLANES];
static uint32_t rng = 1;

static uint8_t draw(void)
{
	rng = rng * 1664525 + 1013904223;
	return (uint8_t)(rng >> 24);
}

static void fill(uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = draw();
}

static int setup(void **state)
{
	(void)state;
	guard_open(&dst_guard, MAX_LEN);
	guard_open(&src_guard, MAX_LEN);
	guard_open(&ref_guard, MAX_LEN);
	for (unsigned k = 0; k < N_PLANES; k++)
		guard_open(&apart[k], MAX_LEN);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	guard_close(&dst_guard);
	guard_close(&src_guard);
	guard_close(&ref_guard);
	for (unsigned k = 0; k < N_PLANES; k++)
		guard_close(&apart[k]);
	return 0;
}

/* Both rows by scalar code, through a buffer; next may be NULL. */
static void undo_slowly(const struct bfs_filter *first,
			const struct bfs_filter *next, uint8_t next_meta,
			struct bfs_filter_job job, uint8_t *dst)
{
	static uint8_t between[MAX_LEN];

	job.planes = NULL;
	job.dst = next ? between : dst;
	first->undo[BFS_CPU_SCALAR](&job);
	if (!next)
		return;
	job.src = between;
	job.dst = dst;
	job.meta = next_meta;
	next->undo[BFS_CPU_SCALAR](&job);
}

/* Each plane in memory of its own. */
static void scatter(const uint8_t *src, size_t len, uint32_t typesize,
		    const uint8_t **planes)
{
	const size_t each = len / typesize;

	for (uint32_t k = 0; k < typesize; k++) {
		uint8_t *p = guard_tail(&apart[k], each);

		memcpy(p, src + k * each, each);
		planes[k] = p;
	}
}

struct pair {
	const struct bfs_filter *first, *next;
	uint8_t meta, next_meta;
	bool has_ref, scattered;
};

/* Whether it was done at once; if so, it was done right. */
static bool try_pair(const struct pair *pair, uint32_t typesize, size_t len)
{
	static uint8_t want[MAX_LEN];
	const uint8_t *planes[N_PLANES];
	uint8_t *src = guard_tail(&src_guard, len);
	uint8_t *dst = guard_tail(&dst_guard, len);
	uint8_t *ref = guard_tail(&ref_guard, len);
	struct bfs_filter_job job = {
		.src = src, .dst = dst, .len = len, .typesize = typesize,
		.frame_typesize = typesize, .meta = pair->meta, .version = 5,
		.ref = pair->has_ref ? ref : NULL,
	};

	fill(src, len);
	fill(ref, len);
	memset(dst, 0xa5, len);
	undo_slowly(pair->first, pair->next, pair->next_meta, job, want);
	if (pair->scattered) {
		scatter(src, len, typesize, planes);
		job.planes = planes;
		job.src = guard_tail(&src_guard, 0);
	}
	if (!pair->first->undo_both(&job, pair->next, pair->next_meta)) {
		for (size_t i = 0; i < len; i++)
			assert_int_equal(dst[i], 0xa5);
		return false;
	}
	assert_memory_equal(dst, want, len);
	return true;
}

static const size_t lens[] = {
	0, 1, 7, 16, 63, 64, 65, 127, 128, 129, 255, 256, 511, 512, 513, 1023,
	1024, 1029, 4096, 4104, 8191, 16384, 16391, MAX_LEN,
};

/* All lengths and widths; returns how many were done at once. */
static unsigned try_all(const struct pair *pair)
{
	unsigned n = 0;

	for (size_t i = 0; i < BFS_ARRAY_LEN(lens); i++)
		for (uint32_t t = 1; t <= N_PLANES; t++) {
			size_t len = pair->scattered ? lens[i] / t * t :
						       lens[i];

			n += try_pair(pair, t, len);
		}
	return n;
}

/* Where vectors are wide enough, most of 2, 4 and 8 are done at once. */
static unsigned least(void)
{
	return bfs_cpu_allows(bfs_cpu_level(), BFS_CPU_AVX2) ||
	       bfs_cpu_allows(bfs_cpu_level(), BFS_CPU_NEON) ? 24 : 0;
}

static void bytedelta_and_shuffle_are_undone_at_once(void **state)
{
	const struct pair pair = { .first = &bfs_filter_bytedelta,
				   .next = &bfs_filter_shuffle };
	const struct pair scattered = { .first = &bfs_filter_bytedelta,
					.next = &bfs_filter_shuffle,
					.scattered = true };

	(void)state;
	assert_in_range(try_all(&pair), least(), 1000);
	assert_in_range(try_all(&scattered), least(), 1000);
}

static void shuffle_and_delta_are_undone_at_once(void **state)
{
	struct pair pair = { .first = &bfs_filter_shuffle,
			     .next = &bfs_filter_delta, .has_ref = true };
	unsigned n_bytes = BFS_ARRAY_LEN(lens);

	(void)state;
	/* Bytes are not shuffled at all, on any CPU. */
	assert_in_range(try_all(&pair), n_bytes + least(), 1000);
	pair.scattered = true;
	assert_in_range(try_all(&pair), n_bytes + least(), 1000);
	/* A block that is its own reference: only bytes. */
	pair.scattered = false;
	pair.has_ref = false;
	assert_int_equal(try_all(&pair), n_bytes);
}

static void shuffle_takes_planes_from_anywhere(void **state)
{
	const struct pair pair = { .first = &bfs_filter_shuffle,
				   .scattered = true };
	const struct pair plain = { .first = &bfs_filter_shuffle };

	(void)state;
	assert_in_range(try_all(&pair), least(), 1000);
	assert_int_equal(try_all(&plain), 0);
}

static void filters_of_other_widths_are_not_undone_at_once(void **state)
{
	const struct pair pairs[] = {
		{ &bfs_filter_bytedelta, &bfs_filter_shuffle, 9, 0, false,
		  false },
		{ &bfs_filter_bytedelta, &bfs_filter_shuffle, 0, 9, false,
		  false },
		{ &bfs_filter_shuffle, &bfs_filter_delta, 9, 0, true, false },
		{ &bfs_filter_bytedelta, &bfs_filter_delta, 0, 0, true,
		  false },
		{ &bfs_filter_shuffle, &bfs_filter_shuffle, 0, 0, false,
		  false },
	};

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(pairs); i++)
		assert_int_equal(try_all(&pairs[i]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytedelta_and_shuffle_are_undone_at_once),
		cmocka_unit_test(shuffle_and_delta_are_undone_at_once),
		cmocka_unit_test(shuffle_takes_planes_from_anywhere),
		cmocka_unit_test(
			filters_of_other_widths_are_not_undone_at_once),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
