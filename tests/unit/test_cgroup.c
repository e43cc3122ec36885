/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cgroup.c - limits of memory in trees of control groups made here; of
 * CPUs in test_pool.c.
 */
#include "base/cgroup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/groups.h"

static uint64_t memory_of(const char *list)
{
	char path[100];

	return bfs_cgroup_memory(groups_list(list, path), groups_root);
}

static uint64_t all_memory(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) *
	       (uint64_t)sysconf(_SC_PAGESIZE);
}

static void memory_of_version_2_is_the_least_on_the_path(void **state)
{
	(void)state;
	groups_write("a/b/memory.max", "max\n");
	assert_int_equal(memory_of("0::/a/b\n"), all_memory());
	groups_write("a/memory.max", "30000000\n");
	assert_int_equal(memory_of("0::/a/b\n"), 30000000);
	groups_write("a/b/memory.max", "20000000\n");
	assert_int_equal(memory_of("0::/a/b\n"), 20000000);
	groups_write("a/b/memory.high", "10000000\n");
	assert_int_equal(memory_of("0::/a/b\n"), 10000000);
	/* The path may be the host's, of which only the root is seen. */
	groups_write("memory.max", "25000000\n");
	assert_int_equal(memory_of("0::/kept/out/of/sight\n"), 25000000);
}

static void memory_of_version_1_is_the_least_on_the_path(void **state)
{
	(void)state;
	/* So much means none. */
	groups_write("memory/c/d/memory.limit_in_bytes",
		   "9223372036854771712\n");
	assert_int_equal(memory_of("4:memory:/c/d\n"), all_memory());
	groups_write("memory/c/memory.limit_in_bytes", "40000000\n");
	assert_int_equal(memory_of("4:memory:/c/d\n"), 40000000);
	groups_write("memory/c/d/memory.limit_in_bytes", "35000000\n");
	assert_int_equal(memory_of("5:cpu,cpuacct:/c\n4:memory:/c/d\n"),
			 35000000);
	/* Another controller's group is none of memory's. */
	assert_int_equal(memory_of("5:cpu,cpuacct:/c/d\n"), all_memory());
}

static void own_limit_of_the_process_counts(void **state)
{
	struct rlimit was, less;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_DATA, &was), 0);
	less = was;
	less.rlim_cur = 123 << 20;
	assert_int_equal(setrlimit(RLIMIT_DATA, &less), 0);
	assert_int_equal(getrlimit(RLIMIT_DATA, &less), 0);
	if (less.rlim_cur != 123 << 20) {
		printf("# SKIP own_limit_of_the_process_counts: an emulator "
		       "that sets no limits\n");
		return;
	}
	assert_int_equal(memory_of("\n"), 123 << 20);
	assert_int_equal(setrlimit(RLIMIT_DATA, &was), 0);
}

static void lists_that_are_none_set_no_limit(void **state)
{
	(void)state;
	assert_int_equal(bfs_cgroup_memory("/nowhere/at/all", groups_root),
			 all_memory());
	assert_int_equal(memory_of("memory\n:::\n4\n"), all_memory());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_of_version_2_is_the_least_on_the_path),
		cmocka_unit_test(memory_of_version_1_is_the_least_on_the_path),
		cmocka_unit_test(own_limit_of_the_process_counts),
		cmocka_unit_test(lists_that_are_none_set_no_limit),
	};

	return cmocka_run_group_tests(tests, groups_make, groups_remove);
}
