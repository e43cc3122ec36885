/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_container_blocks.c - what a container decodes for itself lies in the
 * cache that it was given, once, and counts to its budget.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/call.h"
#include "container/blocks.h"
#include "container/index.h"

#include "support/build.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LEN ((size_t)64 << 10)
#define BLOCK 8192
#define N_BLOCKS (LEN / BLOCK)
#define MIB (UINT64_C(1) << 20)
#define PLACE 24		/* of the chunk in its source */

static uint8_t data[LEN];
static struct build file;

static void make_file(int delta)
{
	struct build_chunk c = { .data = data, .len = LEN, .typesize = 8,
				 .blocksize = BLOCK, .codec = BUILD_LZ4,
				 .delta = delta };

	build_fill(data, LEN, 11);
	file = (struct build){ 0 };
	for (size_t i = 0; i < PLACE; i++)
		build_byte(&file, 0xee);
	build_chunk(&file, &c);
}

static struct bfs_source *open_source(void)
{
	struct bfs_source *source;

	assert_int_equal(bfs_source_memory(file.p, file.len, false, &source,
					   NULL), BFS_OK);
	return source;
}

static struct bfs_blocks *open_blocks(struct bfs_cache *cache)
{
	static const struct bfs_codec_env env = { .typesize = 8 };
	struct bfs_source *source = open_source();
	struct bfs_blocks *blocks;
	struct bfs_chunk *chunk;

	assert_int_equal(bfs_chunk_open(source, PLACE, file.len - PLACE,
					UINT32_MAX, &env, &chunk, NULL),
			 BFS_OK);
	assert_int_equal(bfs_blocks_new(cache, source, PLACE, chunk, &blocks,
					NULL), BFS_OK);
	bfs_source_unref(source);
	return blocks;
}

static struct bfs_cache *make_cache(void)
{
	struct bfs_cache *cache;

	assert_int_equal(bfs_cache_new(MIB, &cache), BFS_OK);
	return cache;
}

static void expect_all(struct bfs_blocks *blocks)
{
	for (uint32_t k = N_BLOCKS; k-- > 0;) {
		struct bfs_cache_pin pin;

		assert_int_equal(bfs_blocks_pin(blocks, k, &pin, NULL),
				 BFS_OK);
		assert_int_equal(pin.len, BLOCK);
		assert_memory_equal(pin.data, data + k * BLOCK, BLOCK);
		bfs_blocks_unpin(blocks, &pin);
	}
}

static struct bfs_cache_stats stats_of(struct bfs_cache *cache)
{
	struct bfs_cache_stats stats;

	bfs_cache_get_stats(cache, &stats);
	return stats;
}

static void blocks_lie_in_the_cache_that_is_shared(void **state)
{
	struct bfs_cache *cache = make_cache();
	struct bfs_blocks *blocks, *others;

	(void)state;
	make_file(0);
	blocks = open_blocks(cache);
	others = open_blocks(cache);
	expect_all(blocks);
	assert_int_equal(stats_of(cache).misses, N_BLOCKS);
	expect_all(blocks);
	assert_int_equal(stats_of(cache).misses, N_BLOCKS);
	assert_int_equal(stats_of(cache).hits, N_BLOCKS);
	assert_true(stats_of(cache).held_len >= LEN);
	/* Of another opening they are other blocks. */
	expect_all(others);
	assert_int_equal(stats_of(cache).misses, 2 * N_BLOCKS);
	/* What was trimmed is decoded anew. */
	bfs_cache_trim(cache);
	assert_int_equal(stats_of(cache).held_len, 0);
	expect_all(blocks);
	bfs_blocks_free(blocks);
	bfs_blocks_free(others);
	bfs_cache_free(cache);
	free(file.p);
}

static void without_a_cache_they_have_one(void **state)
{
	struct bfs_blocks *blocks;

	(void)state;
	for (int delta = 0; delta < 2; delta++) {
		make_file(delta);
		blocks = open_blocks(NULL);
		expect_all(blocks);
		expect_all(blocks);
		bfs_blocks_free(blocks);
		free(file.p);
	}
}

static void blocks_of_a_delta_are_decoded_with_the_first(void **state)
{
	struct bfs_cache *cache = make_cache();
	struct bfs_blocks *blocks;

	(void)state;
	make_file(1);
	blocks = open_blocks(cache);
	assert_true(bfs_blocks_chunk(blocks)->needs_ref);
	expect_all(blocks);
	assert_int_equal(stats_of(cache).misses, N_BLOCKS);
	bfs_blocks_free(blocks);
	bfs_cache_free(cache);
	free(file.p);
}

static void *read_in_thread(void *blocks)
{
	for (unsigned i = 0; i < 50; i++)
		expect_all(blocks);
	return NULL;
}

static void threads_decode_each_block_once(void **state)
{
	struct bfs_cache *cache = make_cache();
	struct bfs_blocks *blocks;
	pthread_t threads[4];

	(void)state;
	make_file(1);
	blocks = open_blocks(cache);
	for (size_t i = 0; i < BFS_ARRAY_LEN(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						read_in_thread, blocks), 0);
	for (size_t i = 0; i < BFS_ARRAY_LEN(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(stats_of(cache).misses, N_BLOCKS);
	bfs_blocks_free(blocks);
	bfs_cache_free(cache);
	free(file.p);
}

static void a_call_claims_no_block_that_it_may_not_decode(void **state)
{
	struct bfs_cache *cache = make_cache();
	struct bfs_cache_pin pin;
	struct bfs_blocks *blocks;
	struct bfs_call call;

	(void)state;
	make_file(0);
	blocks = open_blocks(cache);
	assert_int_equal(bfs_blocks_pin(blocks, 1, &pin, NULL), BFS_OK);
	bfs_blocks_unpin(blocks, &pin);
	bfs_call_init(&call);
	bfs_call_start(&call, BLOCK / 2, 0, 0);
	bfs_call_enter(&call);
	assert_int_equal(bfs_blocks_pin(blocks, 0, &pin, NULL),
			 BFS_ERR_TOO_MUCH);
	assert_int_equal(stats_of(cache).misses, 1);
	bfs_call_leave(NULL);
	expect_all(blocks);
	bfs_blocks_free(blocks);
	bfs_cache_free(cache);
	free(file.p);
}

static void block_that_is_damaged_fails_at_its_place(void **state)
{
	struct bfs_cache *cache = make_cache();
	struct bfs_cache_pin pin;
	struct bfs_blocks *blocks;
	struct bfs_diag diag = { .err = BFS_OK };
	uint32_t at, len;

	(void)state;
	make_file(0);
	blocks = open_blocks(cache);
	bfs_chunk_block_span(bfs_blocks_chunk(blocks), 3, &at, &len);
	memset(file.p + PLACE + at, 0xff, 4);	/* the length of its stream */
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(bfs_blocks_pin(blocks, 3, &pin, &diag),
				 BFS_ERR_CORRUPT);
		assert_true(diag.off >= PLACE + at &&
			    diag.off < PLACE + at + len);
	}
	assert_int_equal(bfs_blocks_pin(blocks, 2, &pin, NULL), BFS_OK);
	assert_memory_equal(pin.data, data + (size_t)2 * BLOCK, BLOCK);
	bfs_blocks_unpin(blocks, &pin);
	bfs_blocks_free(blocks);
	bfs_cache_free(cache);
	free(file.p);
}

static void entries_of_an_index_come_out_of_the_cache(void **state)
{
	struct bfs_cache *cache = make_cache();
	struct bfs_source *source;
	struct bfs_index *index;
	uint64_t n;

	(void)state;
	make_file(0);
	source = open_source();
	assert_int_equal(bfs_index_open(cache, source, PLACE, file.len - PLACE,
					&index, &n, NULL), BFS_OK);
	assert_int_equal(n, LEN / 8);
	/* Opening decodes none. */
	assert_int_equal(stats_of(cache).misses, 0);
	for (uint64_t i = 0; i < n; i++) {
		int64_t entry;

		assert_int_equal(bfs_index_get(index, i, &entry, NULL),
				 BFS_OK);
		assert_int_equal(entry, (int64_t)bfs_le64(data + 8 * i));
	}
	assert_int_equal(stats_of(cache).misses, N_BLOCKS);
	assert_true(stats_of(cache).held_len >= LEN);
	bfs_index_close(index);
	bfs_source_unref(source);
	bfs_cache_free(cache);
	free(file.p);
}

int main(void)
{
#define T(name) cmocka_unit_test(name)
	const struct CMUnitTest tests[] = {
		T(blocks_lie_in_the_cache_that_is_shared),
		T(without_a_cache_they_have_one),
		T(blocks_of_a_delta_are_decoded_with_the_first),
		T(threads_decode_each_block_once),
		T(a_call_claims_no_block_that_it_may_not_decode),
		T(block_that_is_damaged_fails_at_its_place),
		T(entries_of_an_index_come_out_of_the_cache),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
