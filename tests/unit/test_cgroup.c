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

static char root[80];

static void write_file(const char *name, const char *text)
{
	char path[300], *slash;
	FILE *file;

	assert_true(snprintf(path, sizeof(path), "%s/%s", root, name) < 300);
	for (slash = strchr(path + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static uint64_t memory_of(const char *list)
{
	char path[100];

	write_file("list", list);
	snprintf(path, sizeof(path), "%s/list", root);
	return bfs_cgroup_memory(path, root);
}

static int make_root(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	if (snprintf(root, sizeof(root), "%s/bfs-test-XXXXXX",
		     tmp && strlen(tmp) < 40 ? tmp : "/tmp") < 0)
		return 1;
	return !mkdtemp(root);
}

static int remove_root(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	return system(command);
}

static uint64_t all_memory(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) *
	       (uint64_t)sysconf(_SC_PAGESIZE);
}

static void memory_of_version_2_is_the_least_on_the_path(void **state)
{
	(void)state;
	write_file("a/b/memory.max", "max\n");
	assert_int_equal(memory_of("0::/a/b\n"), all_memory());
	write_file("a/memory.max", "30000000\n");
	assert_int_equal(memory_of("0::/a/b\n"), 30000000);
	write_file("a/b/memory.max", "20000000\n");
	assert_int_equal(memory_of("0::/a/b\n"), 20000000);
	write_file("a/b/memory.high", "10000000\n");
	assert_int_equal(memory_of("0::/a/b\n"), 10000000);
	/* The path may be the host's, of which only the root is seen. */
	write_file("memory.max", "25000000\n");
	assert_int_equal(memory_of("0::/kept/out/of/sight\n"), 25000000);
}

static void memory_of_version_1_is_the_least_on_the_path(void **state)
{
	(void)state;
	/* So much means none. */
	write_file("memory/c/d/memory.limit_in_bytes",
		   "9223372036854771712\n");
	assert_int_equal(memory_of("4:memory:/c/d\n"), all_memory());
	write_file("memory/c/memory.limit_in_bytes", "40000000\n");
	assert_int_equal(memory_of("4:memory:/c/d\n"), 40000000);
	write_file("memory/c/d/memory.limit_in_bytes", "35000000\n");
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
	assert_int_equal(memory_of("\n"), 123 << 20);
	assert_int_equal(setrlimit(RLIMIT_DATA, &was), 0);
}

static void lists_that_are_none_set_no_limit(void **state)
{
	(void)state;
	assert_int_equal(bfs_cgroup_memory("/nowhere/at/all", root),
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

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
