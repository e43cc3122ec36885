/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_array_tell.c - what a source that wants to know is told before it is
 * read: headers, blocks, guesses where a wait is dear, and nothing outside of
 * it whatever the file says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "array/priv.h"
#include "base/bytes.h"
#include "source/callback.h"
#include "support/build.h"

#include <stdlib.h>
#include <string.h>

#define KIB ((size_t)1 << 10)
#define BLOCK (32 * KIB)
#define CHUNK (1024 * KIB)
#define N_CHUNKS 4

/* The far end of the container of a test. */
static struct {
	const uint8_t *p;
	size_t len;
	bool is_near;
	size_t n_calls, n;
	size_t n_first;		/* of the first call since `forget` */
	struct bfs_range ranges[1024];
} far_end;

static struct bfs_engine *engine;
static uint8_t *data;

static enum bfs_err read_far(void *arg, uint64_t off, void *buf, size_t len,
			     size_t *ret_len, struct bfs_diag *diag)
{
	(void)arg;
	(void)diag;
	memcpy(buf, far_end.p + off, len);
	*ret_len = len;
	return BFS_OK;
}

/* What is told lies inside, in order, with gaps between. */
static void hear(void *arg, const struct bfs_range *ranges, size_t n)
{
	(void)arg;
	assert_true(n > 0);
	for (size_t i = 0; i < n; i++) {
		assert_true(ranges[i].len > 0 &&
			    bfs_inside(ranges[i].off, ranges[i].len,
				       far_end.len));
		assert_true(i == 0 || ranges[i].off > ranges[i - 1].off +
						      ranges[i - 1].len);
		assert_true(far_end.n < 1024);
		far_end.ranges[far_end.n++] = ranges[i];
	}
	if (far_end.n_calls++ == 0)
		far_end.n_first = n;
}

static bool is_near(void *arg, uint64_t off, uint64_t len)
{
	(void)arg;
	assert_true(bfs_inside(off, len, far_end.len));
	return far_end.is_near;
}

static void forget(void)
{
	far_end.n = far_end.n_calls = far_end.n_first = 0;
}

/* Whether the first n ranges that were told have all of it. */
static bool has_told(size_t n, uint64_t off, uint64_t len)
{
	for (size_t i = 0; i < n; i++)
		if (far_end.ranges[i].off <= off &&
		    off + len <= far_end.ranges[i].off + far_end.ranges[i].len)
			return true;
	return false;
}

static uint64_t told_len(size_t n)
{
	uint64_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += far_end.ranges[i].len;
	return len;
}

static struct bfs_array *open_far(const struct build *out, uint64_t wait_cost)
{
	const struct bfs_callback how = { .read = read_far, .will_read = hear,
					  .is_near = is_near, .len = out->len,
					  .wait_cost = wait_cost };
	struct bfs_source *source = NULL;
	struct bfs_container *f = NULL;
	struct bfs_array *a = NULL;

	far_end.p = out->p;
	far_end.len = out->len;
	far_end.is_near = false;
	assert_int_equal(bfs_source_callback(&how, &source, NULL), BFS_OK);
	bfs_source_callback_own(source);
	assert_int_equal(bfs_container_open(source, NULL, NULL,
					    bfs_engine_cache(engine), &f,
					    NULL), BFS_OK);
	bfs_source_unref(source);
	assert_int_equal(bfs_array_open(engine, f, &a, NULL), BFS_OK);
	forget();
	return a;
}

/* N_CHUNKS chunks in blocks of `block`, which take about half of that. */
static void make(struct build *out, size_t block, int delta)
{
	struct build_frame f = { .chunksize = (int64_t)CHUNK, .typesize = 4 };
	struct build_chunk c = { .len = CHUNK, .typesize = 4,
				 .blocksize = (uint32_t)block,
				 .codec = BUILD_LZ4, .shuffle = 1,
				 .delta = delta };

	for (size_t i = 0; i < N_CHUNKS; i++) {
		c.data = data + i * CHUNK;
		build_frame_chunk(&f, &c);
	}
	build_frame_finish(&f, out);
}

static void check_read(struct bfs_array *a, uint64_t off, size_t len)
{
	static const struct bfs_stream joined = { BFS_STREAM_DATA, 0 };
	uint8_t *got = malloc(len);

	assert_non_null(got);
	assert_int_equal(bfs_array_read(a, &joined, off, got, len, NULL),
			 BFS_OK);
	assert_memory_equal(got, data + off, len);
	free(got);
}

/* Where a block lies in the container. */
static struct bfs_range block_range(struct bfs_array *a, uint64_t n,
				    uint32_t k)
{
	struct bfs_chunk *chunk;
	struct bfs_span span;
	uint32_t off, len;

	assert_int_equal(bfs_array_plan(a, n, &chunk, &span, NULL), BFS_OK);
	bfs_chunk_block_span(chunk, k, &off, &len);
	bfs_chunk_unref(chunk);
	return (struct bfs_range){ span.off + off, len };
}

static uint64_t chunk_off(struct bfs_array *a, uint64_t n)
{
	struct bfs_span span;

	assert_int_equal(bfs_container_span(a->container, n, &span, NULL),
			 BFS_OK);
	return span.off;
}

static void the_header_is_told_first_and_then_the_block(void **state)
{
	struct build out = { 0 };
	struct bfs_array *a;
	struct bfs_range block;

	(void)state;
	make(&out, BLOCK, 0);
	a = open_far(&out, 0);
	check_read(a, CHUNK + 20 * BLOCK + 5, 100);
	assert_int_equal(far_end.n_calls, 2);
	assert_int_equal(far_end.n_first, 1);
	assert_int_equal(far_end.ranges[0].off, chunk_off(a, 1));
	assert_true(far_end.ranges[0].len < BLOCK);
	block = block_range(a, 1, 20);
	assert_int_equal(far_end.n, 2);
	assert_memory_equal(&far_end.ranges[1], &block, sizeof(block));
	/* What is known already is not told again. */
	forget();
	check_read(a, CHUNK + 20 * BLOCK + 50, 100);
	assert_int_equal(far_end.n, 0);
	check_read(a, CHUNK + 21 * BLOCK, 100);
	assert_int_equal(far_end.n_calls, 1);
	block = block_range(a, 1, 21);
	assert_memory_equal(&far_end.ranges[0], &block, sizeof(block));
	bfs_array_close(a);
	free(out.p);
}

static void the_reference_of_deltas_is_told_with_its_block(void **state)
{
	struct build out = { 0 };
	struct bfs_array *a;
	struct bfs_range first, block;

	(void)state;
	make(&out, BLOCK, 1);
	a = open_far(&out, 0);
	check_read(a, 2 * CHUNK + 9 * BLOCK, 100);
	first = block_range(a, 2, 0);
	block = block_range(a, 2, 9);
	assert_int_equal(far_end.n, 3);
	assert_memory_equal(&far_end.ranges[1], &first, sizeof(first));
	assert_memory_equal(&far_end.ranges[2], &block, sizeof(block));
	bfs_array_close(a);
	free(out.p);
}

/* Without a header blocks are where the others let expect them. */
static void where_a_wait_is_dear_blocks_come_with_the_header(void **state)
{
	static const uint32_t blocks[] = { 0, 1, 13, 30, 31 };
	struct build out = { 0 };

	(void)state;
	make(&out, BLOCK, 0);
	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
		struct bfs_array *a = open_far(&out, 1 << 20);
		struct bfs_range block;

		/* How long its blocks are no chunk has told yet. */
		check_read(a, 3 * CHUNK, 100);
		assert_true(told_len(far_end.n_first) < BLOCK);
		forget();
		check_read(a, CHUNK + blocks[i] * BLOCK, 100);
		block = block_range(a, 1, blocks[i]);
		assert_true(has_told(far_end.n_first, chunk_off(a, 1), 16));
		assert_true(has_told(far_end.n_first, block.off, block.len));
		/* No more than what is near, and the block with its half
		 * neighbours. */
		assert_true(told_len(far_end.n_first) < 128 * KIB + 4 * BLOCK);
		bfs_array_close(a);
	}
	free(out.p);
}

static void what_comes_without_a_wait_is_not_guessed(void **state)
{
	struct build out = { 0 };
	struct bfs_array *a;

	(void)state;
	make(&out, BLOCK, 0);
	a = open_far(&out, 1 << 20);
	check_read(a, 3 * CHUNK, 100);
	far_end.is_near = true;
	forget();
	check_read(a, CHUNK + 13 * BLOCK, 100);
	assert_int_equal(far_end.n_first, 1);
	assert_true(told_len(1) < BLOCK);
	bfs_array_close(a);
	free(out.p);
}

/* A longer guess costs more than the wait. */
static void much_is_not_guessed(void **state)
{
	static const struct bfs_stream second = { BFS_STREAM_CHUNK, 1 };
	const size_t chunk = N_CHUNKS * CHUNK;
	struct build_frame f = { .chunksize = (int64_t)chunk, .typesize = 1 };
	struct build_chunk c = { .data = data, .len = chunk, .typesize = 1,
				 .blocksize = BLOCK, .codec = BUILD_LZ4 };
	struct build out = { 0 };
	struct bfs_array *a;

	(void)state;
	build_frame_chunk(&f, &c);
	build_frame_chunk(&f, &c);
	build_frame_finish(&f, &out);
	a = open_far(&out, 1 << 20);
	check_read(a, 100, 100);
	assert_true(chunk_off(a, 1) - chunk_off(a, 0) > 2048 * KIB);
	forget();
	bfs_array_tell_now(a, &second, BLOCK, chunk - BLOCK);
	assert_int_equal(far_end.n_first, 1);
	assert_true(told_len(1) < BLOCK);
	assert_true(told_len(far_end.n) > 2048 * KIB);
	bfs_array_close(a);
	free(out.p);
}

/* A read of [off, off + len) of chunks that are stored plainly; how much is
 * asked for at once where the first of them begins. */
static uint64_t beginning(const struct build *out, uint64_t wait_cost,
			  uint64_t off, size_t len)
{
	struct bfs_array *a = open_far(out, wait_cost);
	uint64_t told = 0;

	check_read(a, off, len);
	if (far_end.n > 0 && far_end.ranges[0].off == chunk_off(a, 0))
		told = far_end.ranges[0].len;
	bfs_array_close(a);
	return told;
}

static void a_long_read_at_the_beginning_asks_for_more(void **state)
{
	struct build_frame f = { .chunksize = (int64_t)CHUNK, .typesize = 4 };
	struct build_frame one = f;
	struct build_chunk c = { .data = data, .len = CHUNK, .typesize = 4,
				 .blocksize = BLOCK, .codec = BUILD_RAW };
	struct build out = { 0 }, less = { 0 };

	(void)state;
	build_frame_chunk(&one, &c);
	build_frame_finish(&one, &less);
	for (size_t i = 0; i < N_CHUNKS; i++) {
		c.data = data + i * CHUNK;
		build_frame_chunk(&f, &c);
	}
	build_frame_finish(&f, &out);
	assert_int_equal(beginning(&out, 1, 0, 64 * KIB), 512 * KIB);
	assert_int_equal(beginning(&out, 700 * KIB, 0, 64 * KIB), 1400 * KIB);
	assert_int_equal(beginning(&out, 1 << 30, 0, 64 * KIB), 4096 * KIB);
	/* No more than there is. */
	assert_true(beginning(&less, 1 << 30, 0, 64 * KIB) > CHUNK);
	/* A short one, one elsewhere, one where waiting is cheap. */
	assert_true(beginning(&out, 1 << 30, 0, 64 * KIB - 1) < 512 * KIB);
	assert_true(beginning(&out, 1 << 30, 1, 64 * KIB) < 512 * KIB);
	assert_true(beginning(&out, 0, 0, 64 * KIB) < 512 * KIB);
	free(less.p);
	free(out.p);
}

/* Two dimensions, whose first row lies in all chunks. */
static void no_beginning_is_told_where_chunks_are_not_in_order(void **state)
{
	struct build_frame f = { .chunksize = 512 * 1024, .typesize = 1,
				 .ndim = 2, .dtype = "|u1",
				 .shape = { 512, 2048 },
				 .chunkshape = { 512, 1024 },
				 .blockshape = { 64, 1024 } };
	struct build_chunk c = { .len = 512 * 1024, .typesize = 1,
				 .blocksize = 64 * 1024, .codec = BUILD_RAW };
	static const struct bfs_stream whole = { BFS_STREAM_DATA, 0 };
	static const struct bfs_stream tile = { BFS_STREAM_TILE, 1 };
	static const struct bfs_stream chunk = { BFS_STREAM_CHUNK, 1 };
	struct build out = { 0 };
	struct bfs_array *a;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		c.data = data + i * c.len;
		build_frame_chunk(&f, &c);
	}
	build_frame_finish(&f, &out);
	a = open_far(&out, 1 << 20);
	assert_true(a->has_nd);
	bfs_array_tell_now(a, &whole, 0, 64 * KIB);
	/* The header of each chunk, and where its blocks are likely to be. */
	assert_int_equal(far_end.n_first, 2);
	assert_int_equal(far_end.ranges[0].off, chunk_off(a, 0));
	assert_int_equal(far_end.ranges[1].off, chunk_off(a, 1));
	assert_true(far_end.ranges[0].len < 300 * KIB);
	bfs_array_close(a);
	a = open_far(&out, 1 << 20);
	bfs_array_tell_now(a, &tile, 0, 64 * KIB);
	assert_int_equal(far_end.n_first, 1);
	assert_int_equal(far_end.ranges[0].off, chunk_off(a, 1));
	assert_true(far_end.ranges[0].len < 300 * KIB);
	bfs_array_close(a);
	a = open_far(&out, 1 << 20);
	bfs_array_tell_now(a, &chunk, 0, 64 * KIB);
	assert_int_equal(far_end.ranges[0].off, chunk_off(a, 1));
	assert_true(far_end.ranges[0].len >= 512 * KIB);
	bfs_array_close(a);
	free(out.p);
}

/* More ranges than are told at once, each with a gap to the next. */
static void many_ranges_are_told_in_parts(void **state)
{
	static const struct bfs_stream joined = { BFS_STREAM_DATA, 0 };
	const size_t block = 4 * KIB, n = N_CHUNKS * CHUNK / block;
	struct build out = { 0 };
	struct bfs_array *a;
	uint8_t byte;

	(void)state;
	make(&out, block, 0);
	a = open_far(&out, 0);
	for (size_t k = 0; k < n; k += 2)
		assert_int_equal(bfs_array_sample(a, &joined, k * block, &byte,
						  1, NULL), BFS_OK);
	forget();
	check_read(a, 0, N_CHUNKS * CHUNK);
	assert_true(far_end.n_calls > 1);
	assert_int_equal(far_end.n, n / 2);
	bfs_array_close(a);
	free(out.p);
}

/* ---- files that lie -------------------------------------------------- */

/* Offsets of chunks that go back, and beyond the end. */
static void what_a_file_says_of_places_is_not_told_outside_it(void **state)
{
	static const struct bfs_stream first = { BFS_STREAM_CHUNK, 0 };
	static const uint64_t places[] = { UINT64_C(1) << 40, INT64_MAX, 1, 0 };
	static uint8_t got[100];

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct build_frame f = { .chunksize = (int64_t)CHUNK,
					 .typesize = 4 };
		struct build_chunk c = { .data = data, .len = CHUNK,
					 .typesize = 4, .blocksize = BLOCK,
					 .codec = BUILD_LZ4 };
		struct build out = { 0 };
		struct bfs_array *a;
		enum bfs_err err;

		build_frame_special(&f, places[i], CHUNK);
		build_frame_chunk(&f, &c);
		build_frame_finish(&f, &out);
		a = open_far(&out, 1 << 20);
		bfs_array_tell_now(a, &first, 0, CHUNK);
		err = bfs_array_read(a, &first, BLOCK, got, sizeof(got), NULL);
		/* The last one is where the other chunk is, and no lie. */
		assert_int_equal(err == BFS_OK, places[i] == 0);
		forget();
		check_read(a, CHUNK + 7 * BLOCK, 0);
		bfs_array_close(a);
		free(out.p);
	}
}

static void chunks_out_of_order_are_guessed_within_the_file(void **state)
{
	struct build out = { 0 };
	struct build_frame f = { .chunksize = (int64_t)CHUNK, .typesize = 4 };
	struct build_chunk c = { .len = CHUNK, .typesize = 4,
				 .blocksize = BLOCK, .codec = BUILD_LZ4 };
	struct bfs_array *a;
	uint8_t entry[8];

	(void)state;
	c.data = data + CHUNK;
	build_frame_chunk(&f, &c);
	c.data = data;
	build_frame_chunk(&f, &c);
	memcpy(entry, f.index.p, 8);
	memmove(f.index.p, f.index.p + 8, 8);
	memcpy(f.index.p + 8, entry, 8);
	build_frame_finish(&f, &out);
	a = open_far(&out, 1 << 20);
	assert_true(chunk_off(a, 0) > chunk_off(a, 1));
	check_read(a, 0, 10);
	check_read(a, CHUNK + 31 * BLOCK, 10);
	bfs_array_close(a);
	a = open_far(&out, 1 << 20);
	check_read(a, CHUNK, 10);
	check_read(a, 31 * BLOCK, 10);
	check_read(a, 0, 2 * CHUNK);
	bfs_array_close(a);
	free(out.p);
}

/* One thread: what is decoded ahead would be told as well. */
static int setup(void **state)
{
	struct bfs_engine_options o = { .cache_len = 64 << 20,
					.n_threads = 1 };

	(void)state;
	data = malloc(N_CHUNKS * CHUNK);
	if (!data)
		return -1;
	build_fill(data, N_CHUNKS * CHUNK, 11);
	return bfs_engine_new(&o, &engine) != BFS_OK;
}

static int teardown(void **state)
{
	(void)state;
	bfs_engine_free(engine);
	free(data);
	return 0;
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_header_is_told_first_and_then_the_block),
		T(the_reference_of_deltas_is_told_with_its_block),
		T(where_a_wait_is_dear_blocks_come_with_the_header),
		T(what_comes_without_a_wait_is_not_guessed),
		T(much_is_not_guessed),
		T(a_long_read_at_the_beginning_asks_for_more),
		T(no_beginning_is_told_where_chunks_are_not_in_order),
		T(many_ranges_are_told_in_parts),
		T(what_a_file_says_of_places_is_not_told_outside_it),
		T(chunks_out_of_order_are_guessed_within_the_file),
	};

	return cmocka_run_group_tests_name("array_tell", tests, setup,
					   teardown);
}
