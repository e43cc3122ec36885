/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_array_faults.c - the faults that were met: each chunk once, in order,
 * within a bound.
 */
#include "array/faults.h"
#include "base/mem.h"
#include "base/moment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct bfs_faults faults;

static int begin(void **state)
{
	(void)state;
	memset(&faults, 0, sizeof(faults));
	bfs_faults_init(&faults);
	return 0;
}

static int end(void **state)
{
	(void)state;
	bfs_faults_release(&faults);
	return 0;
}

static void note(uint64_t id)
{
	struct bfs_diag why = { .err = BFS_ERR_CORRUPT, .off = id };

	snprintf(why.text, sizeof(why.text), "bad %d", (int)id);
	bfs_faults_note(&faults, id, &why);
}

static struct bfs_faults_known copy(void)
{
	struct bfs_faults_known known;

	assert_int_equal(bfs_faults_copy(&faults, &known, NULL), BFS_OK);
	return known;
}

static void each_chunk_is_kept_once_and_in_order(void **state)
{
	static const uint64_t ids[] = { 7, 3, 7, 9, 3, UINT64_C(1) << 63, 0 };
	static const uint64_t sorted[] = { 0, 3, 7, 9, UINT64_C(1) << 63 };
	struct bfs_faults_known known;

	(void)state;
	assert_int_equal(bfs_faults_edition(&faults), 0);
	for (size_t i = 0; i < 7; i++)
		note(ids[i]);
	assert_int_equal(bfs_faults_edition(&faults), 5);
	known = copy();
	assert_int_equal(known.n, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(known.all[i].id, sorted[i]);
	assert_int_equal(known.n_told, 5);
	assert_string_equal(known.told[0].text, "bad 7");
	assert_int_equal(known.told[0].chunk, 7);
	assert_int_equal(known.told[3].chunk, -1);
	assert_false(known.more);
	bfs_free(known.all);
}

static void what_is_kept_is_bounded(void **state)
{
	struct bfs_faults_known known;

	(void)state;
	for (uint64_t id = 2 * BFS_FAULTS_MAX; id > 0; id--)
		note(id);
	assert_int_equal(bfs_faults_edition(&faults), BFS_FAULTS_MAX + 1);
	known = copy();
	assert_int_equal(known.n, BFS_FAULTS_MAX);
	assert_int_equal(known.n_told, BFS_FAULTS_TOLD);
	assert_true(known.more);
	assert_int_equal(known.all[0].id, BFS_FAULTS_MAX + 1);
	bfs_free(known.all);
}

static void want_of_memory_is_no_error_of_who_met_a_fault(void **state)
{
	uint64_t mark = bfs_moment_mark();
	struct bfs_faults_known known;

	(void)state;
	bfs_mem_fail_at(1);
	note(5);
	bfs_mem_fail_at(0);
	assert_int_equal(bfs_moment_settle(mark, BFS_ERR_CORRUPT, NULL),
			 BFS_ERR_CORRUPT);
	known = copy();
	assert_int_equal(known.n, 0);
	assert_true(known.more);
	bfs_free(known.all);
	note(5);
	known = copy();
	assert_int_equal(known.n, 1);
	assert_int_equal(known.n_told, 1);
	assert_false(known.more);
	bfs_free(known.all);
}

static void what_was_missed_is_kept_when_it_is_met_again(void **state)
{
	struct bfs_faults_known known;

	(void)state;
	for (unsigned at = 1; at < 3; at++) {
		bfs_mem_fail_at(at);
		note(5);
		bfs_mem_fail_at(0);
		known = copy();
		assert_int_equal(known.n, 0);
		assert_true(known.more);
		bfs_free(known.all);
	}
	/* Another one says nothing of it. */
	note(6);
	known = copy();
	assert_true(known.more);
	bfs_free(known.all);
	note(5);
	known = copy();
	assert_int_equal(known.n, 2);
	assert_int_equal(known.n_told, 2);
	assert_false(known.more);
	bfs_free(known.all);
}

static void two_that_were_missed_are_some_for_good(void **state)
{
	struct bfs_faults_known known;

	(void)state;
	for (uint64_t id = 5; id < 7; id++) {
		bfs_mem_fail_at(1);
		note(id);
		bfs_mem_fail_at(0);
	}
	assert_int_equal(bfs_faults_edition(&faults), 2);
	note(5);
	note(6);
	known = copy();
	assert_int_equal(known.n, 2);
	assert_true(known.more);
	bfs_free(known.all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			each_chunk_is_kept_once_and_in_order, begin, end),
		cmocka_unit_test_setup_teardown(what_is_kept_is_bounded,
						begin, end),
		cmocka_unit_test_setup_teardown(
			want_of_memory_is_no_error_of_who_met_a_fault, begin,
			end),
		cmocka_unit_test_setup_teardown(
			what_was_missed_is_kept_when_it_is_met_again,
			begin, end),
		cmocka_unit_test_setup_teardown(
			two_that_were_missed_are_some_for_good,
			begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
