/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_sweep.c - small reads in order: few of them reach the source, all give
 * the source's bytes.
 */
#include "source/sweep.h"
#include "base/bytes.h"
#include "container/container.h"
#include "support/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LEN ((size_t)4 << 20)

static struct bfs_source *make_source(uint8_t **ret_bytes, size_t len)
{
	struct bfs_source *source;

	*ret_bytes = malloc(len);
	assert_non_null(*ret_bytes);
	build_fill(*ret_bytes, len, 9);
	assert_int_equal(bfs_source_memory(*ret_bytes, len, false, &source,
					   NULL), BFS_OK);
	return source;
}

static void expect(struct bfs_source *sweep, const uint8_t *bytes,
		   uint64_t off, size_t len)
{
	uint8_t got[200000];

	assert_int_equal(bfs_source_read(sweep, off, got, len, NULL), BFS_OK);
	assert_memory_equal(got, bytes + off, len);
}

static void small_reads_in_order_are_few(void **state)
{
	struct bfs_source *source, *sweep;
	uint8_t *bytes;

	(void)state;
	source = make_source(&bytes, LEN);
	assert_int_equal(bfs_source_sweep(source, &sweep, NULL), BFS_OK);
	/* Two rows at once, as a table and what it names. */
	for (size_t i = 0; i < LEN / 64; i++) {
		expect(sweep, bytes, i * 8, 8);
		expect(sweep, bytes, LEN / 4 + i * 48, 16);
	}
	assert_true(source->n_reads < 512);
	assert_true(source->read_len < 2 * LEN);
	bfs_source_unref(sweep);
	bfs_source_unref(source);
	free(bytes);
}

static void scattered_reads_cost_little_more_than_their_bytes(void **state)
{
	struct bfs_source *source, *sweep;
	uint8_t *bytes;

	(void)state;
	source = make_source(&bytes, LEN);
	assert_int_equal(bfs_source_sweep(source, &sweep, NULL), BFS_OK);
	for (size_t i = 0; i < 256; i++)
		expect(sweep, bytes, i * 37 % 256 * 16384, 32);
	assert_true(source->read_len <= 256 * 512);
	bfs_source_unref(sweep);
	bfs_source_unref(source);
	free(bytes);
}

static void any_reads_give_the_bytes(void **state)
{
	struct bfs_source *source, *sweep;
	uint64_t seed = 12345;
	uint8_t *bytes, byte;
	size_t len = 300001;

	(void)state;
	source = make_source(&bytes, len);
	assert_int_equal(bfs_source_sweep(source, &sweep, NULL), BFS_OK);
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t off, n;

		seed = seed * UINT64_C(6364136223846793005) + 1442695;
		off = (seed >> 20) % len;
		n = (seed >> 40) % (i % 50 ? 700 : 150000);
		expect(sweep, bytes, off, (size_t)bfs_min(n, len - off));
	}
	assert_int_equal(bfs_source_read(sweep, len, &byte, 1, NULL),
			 BFS_ERR_TRUNCATED);
	bfs_source_sweep_end(sweep);
	expect(sweep, bytes, 77, 100);
	bfs_source_unref(sweep);
	bfs_source_unref(source);
	free(bytes);
}

/* 100,000 chunks of one byte behind each other. */
static void many_tiny_chunks_are_walked_in_few_reads(void **state)
{
	struct bfs_source *source;
	struct bfs_container *container;
	struct build out = { 0 };
	uint64_t off;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		uint8_t data = (uint8_t)i;
		struct build_chunk c = { &data, 1, 1, 1, BUILD_RAW, 0, 0, 0 };

		build_chunk(&out, &c);
	}
	assert_int_equal(bfs_source_memory(out.p, out.len, false, &source,
					   NULL), BFS_OK);
	assert_int_equal(
		bfs_container_open(source, NULL, NULL, NULL, &container, NULL),
		BFS_OK);
	assert_int_equal(container->n_chunks, 100000);
	assert_int_equal(container->nbytes, 100000);
	/* Their sizes are known by then. */
	assert_int_equal(bfs_container_chunk_off(container, 77777, &off, NULL),
			 BFS_OK);
	assert_int_equal(off, 77777);
	assert_true(source->n_reads < 500);
	bfs_container_close(container);
	bfs_source_unref(source);
	free(out.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_reads_in_order_are_few),
		cmocka_unit_test(
			scattered_reads_cost_little_more_than_their_bytes),
		cmocka_unit_test(any_reads_give_the_bytes),
		cmocka_unit_test(many_tiny_chunks_are_walked_in_few_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
