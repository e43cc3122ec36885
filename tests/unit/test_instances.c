/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_instances.c - several instances in one process: each has a budget of its
 * own, and what one of them holds is nothing to another.
 */
#include "bloscfs.h"
#include "base/mem.h"
#include "support/frames.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define LIMIT (8 * MIB)
#define LEN (16 * MIB)		/* of the data: blocks of 256 KiB */
#define BLOCK (MIB / 4)
#define ROUNDS 4
/* What malloc may give beyond what was asked for, of all that is held. */
#define SLACK (MIB / 4)

static struct frame_bytes frame;
static uint8_t gathered[BLOCK];

static int set_up(void **state)
{
	uint8_t *data = malloc(LEN);
	struct frame_input in = {
		.data = data, .len = LEN, .chunksize = MIB,
		.blocksize = BLOCK, .typesize = 8,
	};

	if (!data || frames_setup(state))
		return 1;
	for (size_t i = 0; i < LEN; i++)
		data[i] = (uint8_t)(i / 3 + i / BLOCK);
	frame = frames_build(&in);
	free(data);
	return 0;
}

static int tear_down(void **state)
{
	free(frame.p);
	return frames_teardown(state);
}

static struct bloscfs *make(uint64_t memory, uint64_t cache)
{
	struct bloscfs_options options = {
		.size = sizeof(options), .max_memory = memory,
		.cache_size = cache, .threads = 2,
	};
	struct bloscfs *fs;

	assert_int_equal(bloscfs_new(&options, &fs, NULL), BLOSCFS_OK);
	return fs;
}

static struct bloscfs_stats stats_of(struct bloscfs *fs)
{
	struct bloscfs_stats stats = { .size = sizeof(stats) };

	bloscfs_stats_get(fs, &stats);
	return stats;
}

static struct bloscfs_file *open_frame(struct bloscfs *fs,
				       struct bloscfs_node *ret_data)
{
	struct bloscfs_file *file;

	assert_int_equal(bloscfs_open_memory(fs, frame.p, frame.len, NULL,
					     &file, NULL), BLOSCFS_OK);
	assert_true(bloscfs_lookup(file, NULL, "data.bin", ret_data));
	return file;
}

/* ---- limits ---------------------------------------------------------- */

static void each_instance_has_a_limit_of_its_own(void **state)
{
	struct bloscfs *a = make(64 * MIB, 256 * MIB);
	struct bloscfs *b = make(16 * MIB, 4 * MIB);
	struct bloscfs *c = make(BLOSCFS_NO_LIMIT, 0);

	(void)state;
	assert_int_equal(stats_of(a).memory_budget, 64 * MIB);
	/* The cache leaves some of it to decoding. */
	assert_int_equal(stats_of(a).cache_budget, 48 * MIB);
	assert_int_equal(stats_of(b).memory_budget, 16 * MIB);
	assert_int_equal(stats_of(b).cache_budget, 4 * MIB);
	assert_int_equal(stats_of(c).memory_budget, 0);
	assert_int_equal(stats_of(c).cache_budget, 256 * MIB);
	bloscfs_free(a);
	assert_int_equal(stats_of(b).memory_budget, 16 * MIB);
	bloscfs_free(c);
	bloscfs_free(b);
}

static void defaults_together_leave_something(void **state)
{
	struct bloscfs *all[6];
	uint64_t first, sum = 0, limit;

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		all[i] = make(0, UINT64_MAX / 4);
		limit = stats_of(all[i]).memory_budget;
		assert_true(limit > 0);
		if (i == 0)
			first = limit;
		assert_true(limit <= first);
		/* The first one has half, if not all of it that it wants. */
		if (i < 3)
			sum += limit;
		assert_true(sum <= 2 * first + 16);
	}
	for (size_t i = 0; i < 6; i++)
		bloscfs_free(all[i]);
	all[0] = make(0, UINT64_MAX / 4);
	limit = stats_of(all[0]).memory_budget;
	assert_true(limit > first / 8 * 7 && limit < first / 8 * 9);
	bloscfs_free(all[0]);
}

/* ---- one that is full ------------------------------------------------ */

/* Blocks of an instance that are held until it has no more. */
struct hog {
	struct bloscfs *fs;
	struct bloscfs_file *file;
	struct bloscfs_node data;
	struct bloscfs_pieces *pieces[LEN / BLOCK];
	size_t n;
};

static void fill(struct hog *hog)
{
	enum bloscfs_err err = BLOSCFS_OK;
	const struct iovec *iov;
	size_t n;

	*hog = (struct hog){ .fs = make(LIMIT, MIB) };
	hog->file = open_frame(hog->fs, &hog->data);
	while (hog->n < LEN / BLOCK) {
		hog->pieces[hog->n] = bloscfs_pieces_new();
		assert_non_null(hog->pieces[hog->n]);
		err = bloscfs_pin(hog->file, &hog->data, hog->n * BLOCK,
				  gathered, BLOCK, hog->pieces[hog->n], &iov,
				  &n, NULL);
		if (err != BLOSCFS_OK)
			break;
		hog->n++;
	}
	/* Who holds some does not wait for more. */
	assert_int_equal(err, BLOSCFS_ERR_NOMEM);
	bloscfs_pieces_free(hog->pieces[hog->n]);
	assert_true(hog->n > 8);
	assert_true(stats_of(hog->fs).memory <= LIMIT + SLACK);
}

static void let_go(struct hog *hog)
{
	while (hog->n > 0) {
		hog->n--;
		bloscfs_unpin(hog->file, hog->pieces[hog->n]);
		bloscfs_pieces_free(hog->pieces[hog->n]);
	}
}

static void end(struct hog *hog)
{
	let_go(hog);
	bloscfs_close(hog->file);
	bloscfs_free(hog->fs);
}

/* A thread that reads all of a file, and what it saw meanwhile. */
struct reader {
	pthread_t thread;
	struct bloscfs *fs;
	enum bloscfs_patience patience;
	enum bloscfs_err err;
	bool is_wrong;
	uint64_t peak;
};

static bool is_right(const uint8_t *buf, uint64_t off, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (buf[i] != (uint8_t)((off + i) / 3 + (off + i) / BLOCK))
			return false;
	return true;
}

static void *run_reader(void *arg)
{
	struct reader *r = arg;
	struct bloscfs_call_limits limits = { .size = sizeof(limits),
					      .patience = r->patience };
	struct bloscfs_call *call = bloscfs_call_new(r->fs);
	struct bloscfs_file *file = NULL;
	struct bloscfs_node data;
	uint8_t *buf = malloc(MIB);
	size_t len;

	bloscfs_call_start(call, &limits);
	r->err = bloscfs_open_memory(r->fs, frame.p, frame.len, NULL, &file,
				     NULL);
	if (r->err == BLOSCFS_OK &&
	    !bloscfs_lookup(file, NULL, "data.bin", &data))
		r->err = BLOSCFS_ERR_CORRUPT;
	for (uint64_t i = 0; r->err == BLOSCFS_OK && i < ROUNDS * LEN / MIB;
	     i++) {
		/* Not in order: nothing is decoded ahead. */
		uint64_t off = i * 7 % (LEN / MIB) * MIB, held;

		r->err = bloscfs_read(file, &data, off, buf, MIB, &len, NULL);
		r->is_wrong |= r->err == BLOSCFS_OK &&
			       !is_right(buf, off, len);
		held = stats_of(r->fs).memory;
		if (held > r->peak)
			r->peak = held;
	}
	bloscfs_call_end(call);
	bloscfs_close(file);
	bloscfs_call_free(call);
	free(buf);
	return NULL;
}

static void start(struct reader *r, struct bloscfs *fs,
		  enum bloscfs_patience patience)
{
	*r = (struct reader){ .fs = fs, .patience = patience };
	assert_int_equal(pthread_create(&r->thread, NULL, run_reader, r), 0);
}

static void join(struct reader *r)
{
	assert_int_equal(pthread_join(r->thread, NULL), 0);
	assert_false(r->is_wrong);
}

static void a_full_instance_holds_up_no_other(void **state)
{
	struct bloscfs *other = make(LIMIT, MIB);
	struct reader readers[2], waiter;
	struct hog hog;

	(void)state;
	fill(&hog);
	start(&waiter, hog.fs, BLOSCFS_WAITS);
	while (stats_of(hog.fs).memory_waits == 0)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	for (size_t i = 0; i < 2; i++)
		start(&readers[i], other, BLOSCFS_WAITS_NEVER);
	for (size_t i = 0; i < 2; i++) {
		join(&readers[i]);
		assert_int_equal(readers[i].err, BLOSCFS_OK);
		assert_true(readers[i].peak <= LIMIT + SLACK);
	}
	assert_int_equal(stats_of(other).memory_waits, 0);
	assert_int_equal(stats_of(other).memory_refused, 0);
	/* Who waits still does, and goes on when there is some. */
	assert_true(stats_of(hog.fs).memory <= LIMIT + SLACK);
	let_go(&hog);
	join(&waiter);
	assert_int_equal(waiter.err, BLOSCFS_OK);
	assert_true(waiter.peak <= LIMIT + SLACK);
	end(&hog);
	bloscfs_free(other);
}

static void a_thread_may_serve_both(void **state)
{
	struct bloscfs *other = make(LIMIT, MIB);
	struct reader reader = { .fs = other };
	uint64_t before;
	struct hog hog;

	(void)state;
	/* What it holds of the one does not count for the other. */
	fill(&hog);
	before = stats_of(hog.fs).memory;
	run_reader(&reader);
	assert_int_equal(reader.err, BLOSCFS_OK);
	assert_false(reader.is_wrong);
	assert_true(reader.peak <= LIMIT + SLACK);
	/* Jobs that decode ahead of it may have ended meanwhile; the blocks
	 * that are held stay. */
	assert_true(stats_of(hog.fs).memory <= before);
	assert_true(stats_of(hog.fs).memory >= hog.n * BLOCK);
	end(&hog);
	bloscfs_free(other);
}

/* ---- what outlives one ----------------------------------------------- */

static void what_is_freed_late_is_its_own_instances(void **state)
{
	uint64_t before = bfs_mem_used();
	struct bloscfs_pieces *pieces = bloscfs_pieces_new();
	const struct iovec *iov;
	struct bloscfs_node data;
	struct bloscfs_file *file;
	char buf[1];
	size_t n;

	(void)state;
	/* Pieces serve one instance after another. */
	for (int i = 0; i < 3; i++) {
		struct bloscfs *fs = make(LIMIT, MIB);

		file = open_frame(fs, &data);
		assert_int_equal(bloscfs_pin(file, &data, 5, buf, 1, pieces,
					     &iov, &n, NULL), BLOSCFS_OK);
		bloscfs_unpin(file, pieces);
		bloscfs_close(file);
		assert_true(stats_of(fs).memory > 0);
		bloscfs_free(fs);
	}
	bloscfs_pieces_free(pieces);
	assert_int_equal(bfs_mem_used(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_instance_has_a_limit_of_its_own),
		cmocka_unit_test(defaults_together_leave_something),
		cmocka_unit_test(a_full_instance_holds_up_no_other),
		cmocka_unit_test(a_thread_may_serve_both),
		cmocka_unit_test(what_is_freed_late_is_its_own_instances),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
