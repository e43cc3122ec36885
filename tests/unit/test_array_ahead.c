/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_array_ahead.c - decoding ahead of readers that go in order or in
 * steps, and sharing what a large request needs, as seen by what the cache
 * holds afterwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "array/priv.h"
#include "support/arrays.h"
#include "support/build.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void what_a_sequential_reader_wants_next_is_decoded(void **state)
{
	struct bfs_engine *e = arrays_engine(64 << 20);
	struct build out = { 0 };
	uint8_t *data = arrays_make_big(&out, BUILD_LZ4, 1), got[32 << 10];
	struct bfs_array *a = arrays_open(e, out.p, out.len);
	size_t off;

	(void)state;
	for (off = 0; off < 8 * sizeof(got); off += sizeof(got))
		assert_int_equal(bfs_array_read(a, &arrays_data, off, got,
						sizeof(got), NULL), BFS_OK);
	bfs_pool_wait(e->pool);
	assert_true(arrays_have_block(a, 0, 3));
	assert_true(arrays_have_block(a, 0, 10));
	assert_false(arrays_have_block(a, 0, 40));
	/* To the end of one chunk and into the next. */
	for (off = ARRAYS_CHUNK - 8 * sizeof(got); off < ARRAYS_CHUNK;
	     off += sizeof(got))
		assert_int_equal(bfs_array_read(a, &arrays_data, off, got,
						sizeof(got), NULL), BFS_OK);
	bfs_pool_wait(e->pool);
	assert_true(arrays_have_block(a, 1, 2));
	bfs_array_close(a);
	bfs_engine_free(e);
	free(data);
	free(out.p);
}

static void random_reader_makes_nobody_decode_ahead(void **state)
{
	static const unsigned blocks[] = { 40, 3, 99, 61, 17, 120, 80, 9 };
	struct bfs_engine *e = arrays_engine(64 << 20);
	struct build out = { 0 };
	uint8_t *data = arrays_make_big(&out, BUILD_LZ4, 0), got[4096];
	struct bfs_array *a = arrays_open(e, out.p, out.len);
	struct bfs_engine_stats stats;
	size_t i;

	(void)state;
	for (i = 0; i < 8; i++)
		assert_int_equal(bfs_array_read(a, &arrays_data,
						blocks[i] * ARRAYS_BLOCK + 77,
						got, 4096, NULL), BFS_OK);
	bfs_pool_wait(e->pool);
	bfs_engine_get_stats(e, &stats);
	assert_int_equal(stats.decoded_len, 8 * ARRAYS_BLOCK);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(data);
	free(out.p);
}

static void closing_waits_for_what_is_decoded_ahead(void **state)
{
	struct build out = { 0 };
	uint8_t *data = arrays_make_big(&out, BUILD_ZSTD, 1), got[32 << 10];
	int round;

	(void)state;
	for (round = 0; round < 20; round++) {
		struct bfs_engine *e = arrays_engine(64 << 20);
		struct bfs_array *a = arrays_open(e, out.p, out.len);
		size_t off;

		for (off = 0; off < 6 * sizeof(got); off += sizeof(got))
			assert_int_equal(bfs_array_read(a, &arrays_data, off,
							got, sizeof(got),
							NULL), BFS_OK);
		bfs_array_close(a);
		bfs_engine_free(e);
	}
	free(data);
	free(out.p);
}


/* Reads 4 KiB n times; the blocks decoded by then and afterwards. */
static uint64_t read_in_steps(struct bfs_engine *e, struct bfs_array *a,
			      const uint8_t *data, uint64_t first,
			      int64_t step, unsigned n)
{
	struct bfs_engine_stats stats;
	uint8_t got[4096];
	unsigned i;

	for (i = 0; i < n; i++) {
		uint64_t off = first + (uint64_t)(step * (int64_t)i);

		assert_int_equal(bfs_array_read(a, &arrays_data, off, got,
						sizeof(got), NULL), BFS_OK);
		assert_memory_equal(got, data + off, sizeof(got));
	}
	bfs_pool_wait(e->pool);
	bfs_engine_get_stats(e, &stats);
	return stats.decoded_len / ARRAYS_BLOCK;
}

static void what_a_stepping_reader_wants_next_is_decoded(void **state)
{
	static const size_t steps[] = { 3, 5, 40 };
	struct build out = { 0 };
	uint8_t *data = arrays_make_big(&out, BUILD_LZ4, 0);
	size_t i, k;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct bfs_engine *e = arrays_engine(64 << 20);
		struct bfs_array *a = arrays_open(e, out.p, out.len);
		/* 128 blocks in all, at most 16 of them ahead. */
		size_t last = 4 * steps[i], n = 4;

		/* The fourth read tells that it steps. */
		assert_int_equal(read_in_steps(e, a, data, 1000, (int64_t)
				 (steps[i] * ARRAYS_BLOCK), 3), 3);
		n += 16;
		if (last + 16 * steps[i] > 128)
			n = (127 + steps[i]) / steps[i];
		assert_int_equal(read_in_steps(e, a, data, 1000 + 3 *
				 steps[i] * ARRAYS_BLOCK, (int64_t)(steps[i] *
				 ARRAYS_BLOCK), 1), n);
		for (k = 0; k < 128; k++)
			assert_int_equal(arrays_have_block(a, k / 64, k % 64),
					 k % steps[i] == 0 &&
					 k / steps[i] < n);
		bfs_array_close(a);
		bfs_engine_free(e);
	}
	free(data);
	free(out.p);
}

static void steps_that_change_or_go_back_decode_nothing_ahead(void **state)
{
	static const uint8_t blocks[] = { 10, 13, 16, 20, 24, 27, 33, 39, 44 };
	struct bfs_engine *e = arrays_engine(64 << 20);
	struct build out = { 0 };
	uint8_t *data = arrays_make_big(&out, BUILD_LZ4, 0);
	struct bfs_array *a = arrays_open(e, out.p, out.len);
	uint64_t n = 0;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(blocks); i++)
		n = read_in_steps(e, a, data, blocks[i] * ARRAYS_BLOCK, 0, 1);
	assert_int_equal(n, sizeof(blocks));
	n = read_in_steps(e, a, data, 120 * ARRAYS_BLOCK,
			  -5 * (int64_t)ARRAYS_BLOCK, 8);
	assert_int_equal(n, sizeof(blocks) + 8);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(data);
	free(out.p);
}

static void readers_in_order_are_told_from_each_other(void **state)
{
	struct bfs_engine *e = arrays_engine(64 << 20);
	struct build out = { 0 };
	uint8_t *data = arrays_make_big(&out, BUILD_LZ4, 0);
	struct bfs_array *a = arrays_open(e, out.p, out.len);
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		read_in_steps(e, a, data, i * 4096, 0, 1);
		read_in_steps(e, a, data, ARRAYS_CHUNK + i * 4096, 0, 1);
	}
	assert_true(arrays_have_block(a, 0, 8));
	assert_true(arrays_have_block(a, 1, 8));
	assert_false(arrays_have_block(a, 0, 40));
	assert_false(arrays_have_block(a, 1, 40));
	bfs_array_close(a);
	bfs_engine_free(e);
	free(data);
	free(out.p);
}

static void a_single_cpu_decodes_nothing_ahead(void **state)
{
	struct bfs_engine_options o = { .cache_len = 64 << 20,
					.n_threads = 1 };
	struct bfs_engine *e = NULL;
	struct build out = { 0 };
	uint8_t *data = arrays_make_big(&out, BUILD_LZ4, 0);
	struct bfs_array *a;

	(void)state;
	assert_int_equal(bfs_engine_new(&o, &e), BFS_OK);
	a = arrays_open(e, out.p, out.len);
	assert_int_equal(read_in_steps(e, a, data, 0, 4096, 40), 2);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(data);
	free(out.p);
}

/* What the system was told of, by the one source of a test. */
static struct {
	struct bfs_source_ops ops;
	pthread_mutex_t lock;
	uint64_t off[8], len[8];
	unsigned n;
} told = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void hear(struct bfs_source *s, uint64_t off, uint64_t len)
{
	(void)s;
	pthread_mutex_lock(&told.lock);
	if (told.n < 8) {
		told.off[told.n] = off;
		told.len[told.n] = len;
	}
	told.n++;
	pthread_mutex_unlock(&told.lock);
}

static void the_system_is_told_of_chunks_that_come_next(void **state)
{
	struct bfs_engine *e = arrays_engine(64 << 20);
	struct build out = { 0 };
	uint8_t *data = arrays_make_big(&out, BUILD_LZ4, 0);
	struct bfs_array *a = arrays_open(e, out.p, out.len);
	struct bfs_chunk *chunk;
	struct bfs_span span;

	(void)state;
	told.ops = *a->container->source->ops;
	told.ops.will_need = hear;
	a->container->source->ops = &told.ops;
	/* Within the first chunk, up to where the second is near. */
	read_in_steps(e, a, data, 0, 4096, 6);
	assert_int_equal(told.n, 0);
	read_in_steps(e, a, data, ARRAYS_CHUNK - 40000, 4096, 8);
	assert_int_equal(told.n, 1);
	assert_int_equal(bfs_array_plan(a, 1, &chunk, &span, NULL), BFS_OK);
	assert_int_equal(told.off[0], span.off);
	assert_int_equal(told.len[0], chunk->head.cbytes);
	bfs_chunk_unref(chunk);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(data);
	free(out.p);
}

#define DEPTH 8
#define HEIGHT 64
#define WIDTH 1024

static uint32_t item_at(size_t i, size_t j, size_t k)
{
	return (uint32_t)((i * HEIGHT + j) * WIDTH + k) * 2654435761u;
}

/* DEPTH x HEIGHT x WIDTH items in chunks of 8 x 64 x 256 and blocks of
 * 8 x 16 x 256 (128 KiB): a plane touches each of the 16 blocks. */
static void make_deep(struct build *out)
{
	struct build_frame f = { .typesize = 4, .ndim = 3, .dtype = "<u4",
				 .shape = { DEPTH, HEIGHT, WIDTH },
				 .chunkshape = { 8, 64, 256 },
				 .blockshape = { 8, 16, 256 },
				 .chunksize = 512 << 10 };
	struct build_chunk c = { .typesize = 4, .blocksize = 128 << 10,
				 .codec = BUILD_LZ4, .shuffle = 1,
				 .len = 512 << 10 };
	uint32_t *items = malloc(c.len);
	size_t chunk, n;

	assert_non_null(items);
	for (chunk = 0; chunk < 4; chunk++) {
		for (n = 0; n < c.len / 4; n++)
			items[n] = item_at(n / 4096 % 8,
					   n / 32768 * 16 + n / 256 % 16,
					   chunk * 256 + n % 256);
		c.data = (const uint8_t *)items;
		build_frame_chunk(&f, &c);
	}
	build_frame_finish(&f, out);
	free(items);
}

static void large_requests_are_shared_and_right(void **state)
{
	const size_t len = HEIGHT * WIDTH * 4;
	uint32_t *got = malloc(len);
	struct build out = { 0 };
	size_t i, n;
	int round;

	(void)state;
	assert_non_null(got);
	make_deep(&out);
	for (round = 0; round < 50; round++) {
		struct bfs_engine *e = arrays_engine(64 << 20);
		struct bfs_array *a = arrays_open(e, out.p, out.len);
		struct bfs_engine_stats stats;

		i = (size_t)round % DEPTH;
		assert_int_equal(bfs_array_read(a, &arrays_data, i * len, got,
						len, NULL), BFS_OK);
		for (n = 0; n < len / 4; n++)
			if (got[n] != item_at(i, n / WIDTH, n % WIDTH))
				fail_msg("item %zu of plane %zu", n, i);
		/* Closing waits for those who help, and nothing is decoded
		 * twice. */
		bfs_array_close(a);
		bfs_engine_get_stats(e, &stats);
		assert_int_equal(stats.decoded_len, 16 * ARRAYS_BLOCK);
		bfs_engine_free(e);
	}
	free(got);
	free(out.p);
}

static void other_threads_begin_with_the_later_parts(void **state)
{
	struct bfs_engine *e = arrays_engine(64 << 20);
	struct build out = { 0 };
	struct bfs_shares *shares;
	struct bfs_array *a;

	(void)state;
	make_deep(&out);
	a = arrays_open(e, out.p, out.len);
	shares = bfs_shares_start(a, 0, HEIGHT * WIDTH * 4);
	assert_non_null(shares);
	bfs_pool_wait(e->pool);
	bfs_shares_end(shares);
	/* Two parts, of which the first is the asker's. */
	assert_false(arrays_have_block(a, 0, 0));
	assert_true(arrays_have_block(a, 0, 3));
	assert_true(arrays_have_block(a, 3, 3));
	bfs_array_close(a);
	bfs_engine_free(e);
	free(out.p);
}

static void what_a_reader_of_one_tile_wants_next_is_decoded(void **state)
{
	static const struct bfs_stream tile = { BFS_STREAM_TILE, 2 };
	struct bfs_engine *e = arrays_engine(64 << 20);
	struct build out = { 0 };
	struct bfs_array *a;
	uint32_t got[1024];
	size_t i, n;

	(void)state;
	make_deep(&out);
	a = arrays_open(e, out.p, out.len);
	/* Its first sixteen rows lie in one block. */
	for (i = 0; i < 4; i++) {
		assert_int_equal(bfs_array_read(a, &tile, i * sizeof(got), got,
						sizeof(got), NULL), BFS_OK);
		for (n = 0; n < 1024; n++)
			assert_int_equal(got[n], item_at(0, 4 * i + n / 256,
							 512 + n % 256));
	}
	bfs_pool_wait(e->pool);
	for (i = 0; i < 4; i++) {
		assert_true(arrays_have_block(a, 2, i));
		assert_false(arrays_have_block(a, 0, i));
	}
	bfs_array_close(a);
	bfs_engine_free(e);
	free(out.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			what_a_sequential_reader_wants_next_is_decoded),
		cmocka_unit_test(random_reader_makes_nobody_decode_ahead),
		cmocka_unit_test(closing_waits_for_what_is_decoded_ahead),
		cmocka_unit_test(
			what_a_stepping_reader_wants_next_is_decoded),
		cmocka_unit_test(
			steps_that_change_or_go_back_decode_nothing_ahead),
		cmocka_unit_test(readers_in_order_are_told_from_each_other),
		cmocka_unit_test(a_single_cpu_decodes_nothing_ahead),
		cmocka_unit_test(the_system_is_told_of_chunks_that_come_next),
		cmocka_unit_test(large_requests_are_shared_and_right),
		cmocka_unit_test(other_threads_begin_with_the_later_parts),
		cmocka_unit_test(
			what_a_reader_of_one_tile_wants_next_is_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
