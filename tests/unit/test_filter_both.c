/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_filter_both.c - two filters undone in one pass, and planes that lie
 * apart: the same bytes as one filter after the other by scalar code.
 *
 * Which vector code runs is up to BLOSCFS_CPU, as for users; the test setups
 * go through the levels. All memory lies against inaccessible pages.
 */
#include "filter/filter.h"

#include "../support/decode.h"
#include "../support/guard.h"
#include "../support/oracle.h"

#include <lz4.h>
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
	return bfs_cpu_allows(bfs_cpu_level(), BFS_CPU_AVX2) ? 24 : 0;
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

/* ---- In a chunk whose streams are stored, packed and runs ---- */

static size_t put32(uint8_t *p, size_t at, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		p[at + i] = (uint8_t)(v >> 8 * i);
	return at + 4;
}

/* One stream of `each` bytes; kind 0 stored, 1 zeros, 2 packed, 3 a run. */
static size_t put_stream(uint8_t *p, size_t at, size_t each, unsigned kind)
{
	static uint8_t plain[MAX_LEN];
	int n;

	switch (kind) {
	case 0:
		at = put32(p, at, (uint32_t)each);
		fill(p + at, each);
		return at + each;
	case 1:
		return put32(p, at, 0);
	case 2:
		for (size_t i = 0; i < each; i++)
			plain[i] = (uint8_t)(i / 7);
		n = LZ4_compress_default((const char *)plain,
					 (char *)p + at + 4, (int)each,
					 MAX_LEN);
		assert_in_range(n, 1, each - 1);
		put32(p, at, (uint32_t)n);
		return at + 4 + (size_t)n;
	default:
		at = put32(p, at, (uint32_t)-77);
		p[at] = 1;
		return at + 1;
	}
}

/* Two split blocks and a short one. `kinds` has two bits a stream. */
static size_t put_chunk(uint8_t *p, uint32_t typesize, size_t block,
			const char filters[6], unsigned kinds)
{
	const size_t rest = 3 * (size_t)typesize, n_blocks = 3;
	size_t at = 32 + 4 * n_blocks;

	memset(p, 0, at);
	memcpy(p, "\5\1\x25", 3);
	p[3] = (uint8_t)typesize;
	put32(p, 4, (uint32_t)(2 * block + rest));
	put32(p, 8, (uint32_t)block);
	memcpy(p + 16, filters, 6);
	p[22] = 1;
	for (unsigned i = 0; i < 6; i++)
		if (filters[i] == 35)
			p[24 + i] = (uint8_t)typesize;
	for (size_t b = 0; b < 2; b++) {
		put32(p, 32 + 4 * b, (uint32_t)at);
		for (uint32_t k = 0; k < typesize; k++, kinds = kinds >> 2 |
							(kinds & 3) << 30)
			at = put_stream(p, at, block / typesize, kinds & 3);
	}
	put32(p, 40, (uint32_t)at);
	at = put_stream(p, at, rest, 0);
	put32(p, 12, (uint32_t)at);
	return at;
}

static void expect_as_oracle(const uint8_t *chunk, size_t len)
{
	struct bfs_diag diag = { 0 };
	struct oracle_bytes want;
	char err[ORACLE_ERR];
	uint8_t *got;
	size_t got_len;

	assert_int_equal(oracle_chunk(chunk, len, NULL, &want, err),
			 ORACLE_GOOD);
	assert_int_equal(decode_chunk(chunk, len, 0, &got, &got_len, &diag),
			 BFS_OK);
	assert_int_equal(got_len, want.len);
	assert_memory_equal(got, want.data, want.len);
	free(got);
	oracle_release(&want);
}

static void streams_of_all_kinds_make_one_block(void **state)
{
	static const char pipelines[][6] = {
		{ 0, 0, 0, 0, 0, 1 }, { 0, 0, 0, 0, 1, 35 },
		{ 0, 0, 0, 0, 3, 1 }, { 0, 0, 0, 3, 1, 35 },
		{ 0, 0, 0, 0, 0, 35 }, { 0, 0, 0, 0, 35, 1 },
		{ 0, 0, 0, 0, 1, 2 }, { 0, 0, 0, 0, 1, 1 },
		{ 0, 0, 0, 1, 3, 1 }, { 0, 0, 0, 0, 0, 0 },
	};
	static const unsigned kinds[] = {
		0x00000000, 0x93c61b2e, 0xe4e4e4e4, 0x55aa0f00, 0xffffffff,
	};
	uint8_t *chunk = malloc(4 * MAX_LEN);

	(void)state;
	assert_non_null(chunk);
	for (size_t i = 0; i < BFS_ARRAY_LEN(pipelines); i++)
		for (size_t j = 0; j < BFS_ARRAY_LEN(kinds); j++)
			for (uint32_t t = 1; t <= 9; t++) {
				size_t len = put_chunk(chunk, t,
						       (size_t)t * 1000,
						       pipelines[i], kinds[j]);

				expect_as_oracle(chunk, len);
			}
	free(chunk);
}

static void a_missing_stream_is_found_among_planes(void **state)
{
	static const char filters[6] = { 0, 0, 0, 0, 0, 1 };
	struct bfs_diag diag = { 0 };
	uint8_t *chunk = malloc(4 * MAX_LEN), *got;
	size_t len = put_chunk(chunk, 4, 4000, filters, 0), got_len;

	(void)state;
	/* The last stream of the first block ends in the second. */
	put32(chunk, 36, (uint32_t)(32 + 12 + 3 * 1004 + 8));
	assert_int_equal(decode_chunk(chunk, len, 0, &got, &got_len, &diag),
			 BFS_ERR_CORRUPT);
	free(chunk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytedelta_and_shuffle_are_undone_at_once),
		cmocka_unit_test(shuffle_and_delta_are_undone_at_once),
		cmocka_unit_test(shuffle_takes_planes_from_anywhere),
		cmocka_unit_test(
			filters_of_other_widths_are_not_undone_at_once),
		cmocka_unit_test(streams_of_all_kinds_make_one_block),
		cmocka_unit_test(a_missing_stream_is_found_among_planes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
