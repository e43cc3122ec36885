/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_container_sizes.c - chunk sizes that only a walk over all headers tells:
 * of walks side by side, and of one that fails on its way.
 *
 * The second walk goes on within a read of the first, so that each order of
 * events is the same every time.
 */
#include "container/container.h"
#include "base/bytes.h"
#include "staged_source.h"
#include "support/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Further apart than what is read at once. */
#define CHUNK ((size_t)40000)
#define SPECIAL ((size_t)1234)
#define N_STORED 4u

static struct build frame;
static struct staged stage;
static struct bfs_container *container;

static struct {
	bool inside_now;	/* the second walk is being made */
	uint64_t at;		/* where the third chunk's header lies */
	bool inside_damaged, outside_fails;
	enum bfs_err inside;	/* what the walk inside was told */
	bool done;
} walk;

/* Four stored chunks of different sizes, then one of zeros without a size. */
static void make_frame(void)
{
	struct build_frame f = { .typesize = 1 };
	static uint8_t data[CHUNK + N_STORED];

	build_fill(data, sizeof(data), 5);
	for (unsigned i = 0; i < N_STORED; i++)
		build_frame_chunk(&f, &(struct build_chunk){
			.data = data, .len = CHUNK + i, .typesize = 1,
			.blocksize = CHUNK, .codec = BUILD_RAW });
	build_frame_special(&f, UINT64_C(0x81) << 56, SPECIAL);
	build_frame_finish(&f, &frame);
}

static int begin(void **state)
{
	struct bfs_span span;

	(void)state;
	memset(&walk, 0, sizeof(walk));
	memset(&frame, 0, sizeof(frame));
	make_frame();
	staged_begin(&stage, frame.p, frame.len);
	assert_int_equal(bfs_container_open(&stage.base, "x.b2frame", NULL,
					    NULL, &container, NULL), BFS_OK);
	assert_int_equal(container->n_chunks, N_STORED + 1);
	assert_int_equal(container->chunksize, 0);
	assert_int_equal(bfs_container_span(container, 2, &span, NULL),
			 BFS_OK);
	walk.at = span.off;
	return 0;
}

static int end(void **state)
{
	(void)state;
	bfs_container_close(container);
	free(frame.p);
	return 0;
}

static enum bfs_err ask(uint32_t *ret_len)
{
	*ret_len = 0;
	return bfs_container_chunk_len(container, N_STORED, ret_len, NULL);
}

static void expect_truth(void)
{
	uint32_t len;

	stage.act = NULL;
	assert_int_equal(ask(&len), BFS_OK);
	assert_int_equal(len, SPECIAL);
}

static bool is_third(uint64_t off, size_t len)
{
	return off <= walk.at && walk.at - off < len;
}

static enum bfs_err fail_third(uint64_t off, uint8_t *buf, size_t len)
{
	(void)buf;
	return is_third(off, len) ? BFS_ERR_IO : BFS_OK;
}

static enum bfs_err damage_third(uint64_t off, uint8_t *buf, size_t len)
{
	if (is_third(off, len))
		buf[walk.at - off + 4] ^= 1;
	return BFS_OK;
}

/* In the first walk's read of the third header the second walk is made. */
static enum bfs_err walk_inside(uint64_t off, uint8_t *buf, size_t len)
{
	uint32_t ret_len;

	if (!is_third(off, len))
		return BFS_OK;
	if (walk.inside_now) {
		/* This is the second: its chunk has another size. */
		if (walk.inside_damaged)
			buf[walk.at - off + 4] ^= 1;
		return BFS_OK;
	}
	if (walk.done)
		return BFS_OK;
	walk.inside_now = true;
	walk.inside = ask(&ret_len);
	walk.inside_now = false;
	walk.done = true;
	if (walk.inside == BFS_OK)
		assert_int_equal(ret_len, SPECIAL);
	return walk.outside_fails ? BFS_ERR_IO : BFS_OK;
}

static void a_walk_that_fails_keeps_nothing(void **state)
{
	uint32_t len;

	(void)state;
	stage.act = fail_third;
	for (int i = 0; i < 2; i++)
		assert_int_equal(ask(&len), BFS_ERR_IO);
	assert_null(container->starts);
	assert_int_equal(container->starts_err, BFS_OK);
	expect_truth();
}

static void both_walks_may_find_the_same(void **state)
{
	uint32_t len;

	(void)state;
	stage.act = walk_inside;
	assert_int_equal(ask(&len), BFS_OK);
	assert_int_equal(len, SPECIAL);
	assert_true(walk.done);
	assert_int_equal(walk.inside, BFS_OK);
	expect_truth();
}

static void a_failure_beside_a_finding_is_told_and_costs_it_nothing(
	void **state)
{
	uint32_t len;

	(void)state;
	walk.outside_fails = true;
	stage.act = walk_inside;
	assert_int_equal(ask(&len), BFS_ERR_IO);
	assert_true(walk.done);
	assert_int_equal(walk.inside, BFS_OK);
	expect_truth();
}

/* Who finds sizes beside one who found that there are none is told that, and
 * not handed what nobody kept. */
static void who_comes_second_is_told_what_the_first_found(void **state)
{
	uint32_t len;

	(void)state;
	walk.inside_damaged = true;
	stage.act = walk_inside;
	assert_int_equal(ask(&len), BFS_ERR_CORRUPT);
	assert_true(walk.done);
	assert_int_equal(walk.inside, BFS_ERR_CORRUPT);
	assert_int_equal(ask(&len), BFS_ERR_CORRUPT);
}

/* An error of the moment beside damage is not what is kept of it. */
static void a_failure_beside_damage_is_told_as_itself(void **state)
{
	uint32_t len;

	(void)state;
	walk.inside_damaged = walk.outside_fails = true;
	stage.act = walk_inside;
	assert_int_equal(ask(&len), BFS_ERR_IO);
	assert_int_equal(walk.inside, BFS_ERR_CORRUPT);
	assert_int_equal(container->starts_err, BFS_ERR_CORRUPT);
}

static void what_a_walk_found_is_told_without_another(void **state)
{
	uint32_t len;

	(void)state;
	expect_truth();
	stage.act = fail_third;
	assert_int_equal(ask(&len), BFS_OK);
	assert_int_equal(len, SPECIAL);
}

static void damage_that_a_walk_found_is_told_without_another(void **state)
{
	uint32_t len;

	(void)state;
	stage.act = damage_third;
	assert_int_equal(ask(&len), BFS_ERR_CORRUPT);
	stage.act = fail_third;
	assert_int_equal(ask(&len), BFS_ERR_CORRUPT);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_walk_that_fails_keeps_nothing),
		T(both_walks_may_find_the_same),
		T(a_failure_beside_a_finding_is_told_and_costs_it_nothing),
		T(who_comes_second_is_told_what_the_first_found),
		T(a_failure_beside_damage_is_told_as_itself),
		T(what_a_walk_found_is_told_without_another),
		T(damage_that_a_walk_found_is_told_without_another),
	};

	return cmocka_run_group_tests_name("container_sizes", tests, NULL,
					   NULL);
}
