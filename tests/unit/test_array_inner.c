/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_array_inner.c - a container in the decoded bytes of another one: its
 * bytes, its faults, and what a call may spend on both.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "array/priv.h"
#include "base/call.h"
#include "staged_source.h"
#include "support/arrays.h"
#include "support/build.h"

#include <stdlib.h>
#include <string.h>

#define LEN ((size_t)1 << 20)
#define BLOCK ((size_t)512 << 10)

static uint8_t *data, *got;

/* A frame of one chunk with `len` bytes, in blocks that are claimed late. */
static struct build pack(const uint8_t *bytes, size_t len)
{
	struct build_frame f = { .chunksize = (int64_t)len, .typesize = 1 };
	struct build_chunk c = { .data = bytes, .len = len, .typesize = 1,
				 .blocksize = BLOCK, .codec = BUILD_LZ4 };
	struct build out = { 0 };

	build_frame_chunk(&f, &c);
	build_frame_finish(&f, &out);
	return out;
}

static struct bfs_array *open_source(struct bfs_engine *engine,
				     struct bfs_source *source)
{
	struct bfs_container *f = NULL;
	struct bfs_array *a = NULL;

	assert_int_equal(bfs_container_open(source, NULL, NULL,
					    bfs_engine_cache(engine), &f,
					    NULL), BFS_OK);
	bfs_source_unref(source);
	assert_int_equal(bfs_array_open(engine, f, &a, NULL), BFS_OK);
	return a;
}

static struct bfs_array *open_inner(struct bfs_engine *engine,
				    struct bfs_array *outer)
{
	struct bfs_source *source = NULL;
	uint64_t len;

	assert_int_equal(bfs_array_len(outer, &arrays_data, &len, NULL),
			 BFS_OK);
	assert_int_equal(bfs_array_as_source(outer, &arrays_data, 0, len,
					     &source, NULL), BFS_OK);
	assert_int_equal(bfs_array_as_source(outer, &arrays_data, 1, len,
					     &source, NULL), BFS_ERR_RANGE);
	return open_source(engine, source);
}

static void containers_in_containers_need_no_memory_for_a_block_each(
	void **state)
{
	enum { DEPTH = 6 };
	/* For three blocks, of which each level has one. */
	struct bfs_engine *e = arrays_engine(3 * BLOCK);
	struct build packed[DEPTH];
	struct bfs_array *arrays[DEPTH];

	(void)state;
	packed[0] = pack(data, LEN);
	for (int i = 1; i < DEPTH; i++)
		packed[i] = pack(packed[i - 1].p, packed[i - 1].len);
	arrays[0] = arrays_open(e, packed[DEPTH - 1].p, packed[DEPTH - 1].len);
	for (int i = 1; i < DEPTH; i++)
		arrays[i] = open_inner(e, arrays[i - 1]);
	for (size_t off = 0; off < LEN; off += 100000) {
		assert_int_equal(bfs_array_read(arrays[DEPTH - 1],
						&arrays_data, off, got, 10,
						NULL), BFS_OK);
		assert_memory_equal(got, data + off, 10);
	}
	for (int i = DEPTH - 1; i >= 0; i--) {
		bfs_array_close(arrays[i]);
		free(packed[i].p);
	}
	bfs_engine_free(e);
}

/* The n-th read from now on fails (0: none). */
static unsigned fail_at;

static enum bfs_err fail_one(uint64_t off, uint8_t *buf, size_t len)
{
	(void)off;
	(void)buf;
	(void)len;
	return fail_at && --fail_at == 0 ? BFS_ERR_IO : BFS_OK;
}

static void an_outer_fault_is_the_inner_ones_of_the_moment(void **state)
{
	struct bfs_engine *e = arrays_engine(64 << 20);
	struct build inner = pack(data, LEN), outer = pack(inner.p, inner.len);
	struct bfs_array *a, *b;
	struct staged staged;
	struct bfs_diag diag = { 0 };

	(void)state;
	staged_begin(&staged, outer.p, outer.len);
	staged.base.refs++;
	staged.act = fail_one;
	a = open_source(e, &staged.base);
	b = open_inner(e, a);
	fail_at = 1;
	/* The second block, whose bytes nobody has read for opening. */
	assert_int_equal(bfs_array_read(b, &arrays_data, LEN - 10, got, 10,
					&diag), BFS_ERR_IO);
	assert_int_equal(diag.chunk, 0);
	assert_non_null(strstr(diag.text, "a failure of the test"));
	/* Nobody is left to wait for. */
	assert_int_equal(bfs_array_read(b, &arrays_data, LEN - 10, got, 10,
					&diag), BFS_OK);
	assert_memory_equal(got, data + LEN - 10, 10);
	bfs_array_close(b);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(outer.p);
	free(inner.p);
}

static void a_call_pays_for_what_is_around_it(void **state)
{
	struct bfs_engine *e = arrays_engine(64 << 20);
	struct build inner = pack(data, LEN), outer = pack(inner.p, inner.len);
	struct bfs_array *a = arrays_open(e, outer.p, outer.len);
	struct bfs_array *b = open_inner(e, a);
	struct bfs_diag diag = { 0 };
	struct bfs_call call, *before;

	(void)state;
	bfs_call_init(&call);
	before = bfs_call_enter(&call);
	/* Less than the block has; enough for it alone; all blocks are there
	 * then, and cost nothing. */
	bfs_call_start(&call, BLOCK / 2, 0, 0);
	assert_int_equal(bfs_array_read(b, &arrays_data, 0, got, 10, &diag),
			 BFS_ERR_TOO_MUCH);
	bfs_call_start(&call, 8 * BLOCK, 0, 0);
	assert_int_equal(bfs_array_read(b, &arrays_data, 0, got, 10, &diag),
			 BFS_OK);
	assert_true(call.spent >= BLOCK);
	bfs_call_start(&call, 100, 0, 0);
	assert_int_equal(bfs_array_read(b, &arrays_data, 10, got, 10, &diag),
			 BFS_OK);
	bfs_call_leave(before);
	assert_memory_equal(got, data + 10, 10);
	bfs_array_close(b);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(outer.p);
	free(inner.p);
}

static int setup(void **state)
{
	uint32_t x = 7;

	(void)state;
	data = malloc(LEN);
	got = malloc(LEN);
	if (!data || !got)
		return -1;
	/* Noise: the containers around it have as many blocks. */
	for (size_t i = 0; i < LEN; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = (uint8_t)(x >> 24);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(data);
	free(got);
	return 0;
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(containers_in_containers_need_no_memory_for_a_block_each),
		T(an_outer_fault_is_the_inner_ones_of_the_moment),
		T(a_call_pays_for_what_is_around_it),
	};

	return cmocka_run_group_tests_name("array_inner", tests, setup,
					   teardown);
}
