/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_chunk_planes.c - split blocks whose streams are stored, packed, runs
 * or missing, under filters that take planes from where they lie: what comes
 * out is what the slow decoder makes of them.
 */
#include "chunk/plan.h"

#include "../support/decode.h"
#include "../support/oracle.h"

#include <lz4.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_LEN 65536

static uint32_t rng = 1;

static void fill(uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		rng = rng * 1664525 + 1013904223;
		p[i] = (uint8_t)(rng >> 24);
	}
}

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
		cmocka_unit_test(streams_of_all_kinds_make_one_block),
		cmocka_unit_test(a_missing_stream_is_found_among_planes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
