/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_source_behind.c - pages of a source are given back behind who reads it:
 * which ranges, how many calls, and that the bytes stay the same.
 */
#include "base/mem.h"
#include "source/behind.h"
#include "source/source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define PAGE ((uint64_t)4096)
#define FILE_LEN (12 * MIB + 1000)
#define MAX_CALLS 4096

/* What the product asks the kernel for; DONTNEED alone is kept. */
static struct bfs_range calls[MAX_CALLS];
static size_t n_calls;

/* In the place of the C library's. */
int posix_fadvise(int fd, off_t off, off_t len, int advice)
{
	if (advice == POSIX_FADV_DONTNEED) {
		assert_in_range(n_calls, 0, MAX_CALLS - 1);
		calls[n_calls++] = (struct bfs_range){ (uint64_t)off,
						       (uint64_t)len };
	}
	return (int)syscall(SYS_fadvise64, fd, off, len, advice);
}

static uint8_t *content;

static struct bfs_source *open_file(bool drop)
{
	char path[] = "/tmp/bloscfs-behind-XXXXXX";
	int fd = mkstemp(path);
	struct bfs_source *source;

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(write(fd, content, FILE_LEN), FILE_LEN);
	assert_int_equal(bfs_source_file(fd, &source, NULL), BFS_OK);
	if (drop)
		assert_true(bfs_source_drop_behind(source));
	n_calls = 0;
	return source;
}

static void read_all(struct bfs_source *source, uint64_t step)
{
	uint8_t *buf = malloc(step);

	assert_non_null(buf);
	for (uint64_t off = 0; off < FILE_LEN; off += step) {
		size_t len = off + step < FILE_LEN ? step : FILE_LEN - off;

		assert_int_equal(bfs_source_read(source, off, buf, len, NULL),
				 BFS_OK);
		assert_memory_equal(buf, content + off, len);
	}
	free(buf);
}

/* Whole pages, one after the other, with nothing between them, up to the
 * page that the file ends in. */
static void assert_all_given_back(void)
{
	uint64_t at = 0;

	for (size_t i = 0; i < n_calls; i++) {
		assert_int_equal(calls[i].off, at);
		assert_int_equal(calls[i].len % PAGE, 0);
		at += calls[i].len;
	}
	assert_true(at >= FILE_LEN && at - FILE_LEN < PAGE);
}

static void pages_stay_unless_asked_for(void **state)
{
	struct bfs_source *source = open_file(false);

	(void)state;
	read_all(source, 10000);
	bfs_source_rest(source);
	bfs_source_unref(source);
	assert_int_equal(n_calls, 0);
}

static void a_reader_in_order_costs_a_call_for_each_mib(void **state)
{
	static const uint64_t steps[] = { 100, 4096, 10000, 128 * KIB,
					  700 * KIB };

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct bfs_source *source = open_file(true);

		read_all(source, steps[i]);
		assert_all_given_back();
		assert_in_range(n_calls, 1, FILE_LEN / MIB + 1);
		bfs_source_unref(source);
		assert_in_range(n_calls, 1, FILE_LEN / MIB + 1);
	}
}

static void a_large_read_costs_one_call(void **state)
{
	struct bfs_source *source = open_file(true);

	(void)state;
	read_all(source, 5 * MIB);
	assert_int_equal(n_calls, 3);
	assert_all_given_back();
	bfs_source_unref(source);
}

/* Eight readers, each in order, take turns. */
static void readers_side_by_side_cost_no_more(void **state)
{
	struct bfs_source *source = open_file(true);
	const uint64_t part = 1536 * KIB, step = 16 * KIB;
	uint64_t given = 0;
	uint8_t buf[16 * KIB];

	(void)state;
	for (uint64_t off = 0; off < part; off += step)
		for (uint64_t k = 0; k < 8; k++)
			assert_int_equal(bfs_source_read(source,
							 k * part + off, buf,
							 step, NULL), BFS_OK);
	assert_int_equal(n_calls, 8);
	bfs_source_rest(source);
	assert_in_range(n_calls, 9, 16);
	for (size_t i = 0; i < n_calls; i++)
		given += calls[i].len;
	assert_int_equal(given, 8 * part);
	bfs_source_unref(source);
}

static void reads_here_and_there_cost_a_call_each_at_most(void **state)
{
	struct bfs_source *source = open_file(true);
	const size_t n = 200;
	uint8_t buf[100];

	(void)state;
	for (size_t i = 0; i < n; i++)
		assert_int_equal(bfs_source_read(source, i * 7919 % 190 *
						 60000 + 4090, buf,
						 sizeof(buf), NULL), BFS_OK);
	assert_in_range(n_calls, n - 8 - 20, n);
	bfs_source_rest(source);
	assert_in_range(n_calls, n - 20, n);
	for (size_t i = 0; i < n_calls; i++) {
		assert_int_equal(calls[i].off % PAGE, 0);
		assert_in_range(calls[i].len, PAGE, 2 * PAGE);
	}
	bfs_source_unref(source);
}

static void what_rests_is_given_back_once(void **state)
{
	struct bfs_source *source = open_file(true), *window;
	uint8_t buf[2000];

	(void)state;
	assert_int_equal(bfs_source_window(source, 500, 100000, &window, NULL),
			 BFS_OK);
	assert_int_equal(bfs_source_read(window, 3000, buf, sizeof(buf), NULL),
			 BFS_OK);
	assert_int_equal(n_calls, 0);
	bfs_source_rest(window);
	assert_int_equal(n_calls, 1);
	assert_int_equal(calls[0].off, 0);
	assert_int_equal(calls[0].len, 2 * PAGE);
	bfs_source_rest(window);
	bfs_source_unref(window);
	bfs_source_unref(source);
	assert_int_equal(n_calls, 1);
}

/* A length of 0 would mean all to the end of the file. */
/* Whoever asked for it ahead may have left before it was read. */
static void what_was_wanted_and_not_read_is_given_back(void **state)
{
	struct bfs_source *source = open_file(true);

	(void)state;
	bfs_source_will_need(source, MIB, MIB);
	bfs_source_rest(source);
	assert_int_equal(n_calls, 1);
	assert_int_equal(calls[0].off, 0);
	assert_int_equal(calls[0].len, FILE_LEN);
	bfs_source_rest(source);
	assert_int_equal(n_calls, 1);
	bfs_source_unref(source);
}

static void no_call_is_for_no_bytes(void **state)
{
	struct bfs_source *source = open_file(true);
	static uint8_t buf[1 << 20];

	(void)state;
	assert_int_equal(bfs_source_read(source, 0, buf, sizeof(buf), NULL),
			 BFS_OK);
	assert_int_equal(n_calls, 1);
	bfs_source_rest(source);
	bfs_source_unref(source);
	assert_int_equal(n_calls, 1);
	assert_int_equal(calls[0].len, MIB);
}

static void no_memory_is_told(void **state)
{
	struct bfs_source *source = open_file(false);

	(void)state;
	bfs_mem_fail_at(1);
	assert_false(bfs_source_drop_behind(source));
	bfs_mem_fail_at(0);
	bfs_source_unref(source);
}

static int setup(void **state)
{
	(void)state;
	content = malloc(FILE_LEN);
	if (!content)
		return -1;
	for (uint64_t i = 0; i < FILE_LEN; i++)
		content[i] = (uint8_t)(i * 7 + i / 4096);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(content);
	return bfs_mem_used() != 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_stay_unless_asked_for),
		cmocka_unit_test(a_reader_in_order_costs_a_call_for_each_mib),
		cmocka_unit_test(a_large_read_costs_one_call),
		cmocka_unit_test(readers_side_by_side_cost_no_more),
		cmocka_unit_test(reads_here_and_there_cost_a_call_each_at_most),
		cmocka_unit_test(what_rests_is_given_back_once),
		cmocka_unit_test(what_was_wanted_and_not_read_is_given_back),
		cmocka_unit_test(no_call_is_for_no_bytes),
		cmocka_unit_test(no_memory_is_told),
	};

	bfs_mem_set_page_len(PAGE);
	return cmocka_run_group_tests(tests, setup, teardown);
}
