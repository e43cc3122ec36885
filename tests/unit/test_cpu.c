/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cpu.c - the level that is found, and its cap.
 *
 * The level is found once a process, so each cap is tried in a process of
 * its own; this one never asks for its level.
 */
#include "base/cpu.h"

#include "base/compiler.h"

#if defined(BFS_X86)
#include <cpuid.h>
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* The level under BLOSCFS_CPU=cap (NULL: unset). */
static enum bfs_cpu level_under(const char *cap)
{
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		if (cap)
			setenv("BLOSCFS_CPU", cap, 1);
		else
			unsetenv("BLOSCFS_CPU");
		_exit(bfs_cpu_level());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) < BFS_N_CPUS);
	return (enum bfs_cpu)WEXITSTATUS(status);
}

static void levels_have_names(void **state)
{
	(void)state;
	assert_string_equal(bfs_cpu_name(BFS_CPU_SCALAR), "scalar");
	assert_string_equal(bfs_cpu_name(BFS_CPU_SSE2), "sse2");
	assert_string_equal(bfs_cpu_name(BFS_CPU_AVX2), "avx2");
	assert_string_equal(bfs_cpu_name(BFS_CPU_AVX512), "avx512");
	assert_string_equal(bfs_cpu_name(BFS_CPU_NEON), "neon");
	assert_string_equal(bfs_cpu_name((enum bfs_cpu)77), "unknown");
}

static void level_fits_the_architecture(void **state)
{
	enum bfs_cpu level = bfs_cpu_detect();

	(void)state;
#if defined(BFS_X86)
	assert_true(level <= BFS_CPU_AVX512);
#if defined(__x86_64__)
	assert_true(level >= BFS_CPU_SSE2);
#endif
#elif defined(BFS_ARM64)
	assert_int_equal(level, BFS_CPU_NEON);
#else
	assert_int_equal(level, BFS_CPU_SCALAR);
#endif
}

#if defined(BFS_X86)
static bool has_bits(unsigned word, unsigned long long bits)
{
	return (word & bits) == bits;
}

/* What the system saves of the registers on a task switch. */
static unsigned read_saved_registers(void)
{
	unsigned low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

static enum bfs_cpu ask_cpuid(void)
{
	unsigned a, b, c, d, saved = 0;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(d & bit_SSE2))
		return BFS_CPU_SCALAR;
	if (c & bit_OSXSAVE)
		saved = read_saved_registers();
	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has_bits(saved, 6) ||
	    !has_bits(b, bit_AVX2 | bit_BMI2))
		return BFS_CPU_SSE2;
	if (!has_bits(saved, 0xe6) || !has_bits(c, 1 << 1 | 1 << 8) ||
	    !has_bits(b, 1u << 16 | 1u << 30 | 1u << 31))
		return BFS_CPU_AVX2;
	return BFS_CPU_AVX512;
}

static void level_agrees_with_cpuid(void **state)
{
	(void)state;
	assert_int_equal(bfs_cpu_detect(), ask_cpuid());
}
#endif

static void cap_lowers_the_level_and_never_raises_it(void **state)
{
	enum bfs_cpu have = bfs_cpu_detect();
	unsigned i;

	(void)state;
	assert_int_equal(level_under(NULL), have);
	for (i = 0; i < BFS_N_CPUS; i++) {
		enum bfs_cpu cap = (enum bfs_cpu)i;
		enum bfs_cpu want = bfs_cpu_allows(have, cap) ? cap : have;

		assert_int_equal(level_under(bfs_cpu_name(cap)), want);
	}
	assert_int_equal(level_under("scalar"), BFS_CPU_SCALAR);
}

static void unknown_cap_is_ignored(void **state)
{
	(void)state;
	assert_int_equal(level_under("mmx"), bfs_cpu_detect());
	assert_int_equal(level_under(""), bfs_cpu_detect());
	assert_int_equal(level_under("SCALAR"), bfs_cpu_detect());
}

static void level_includes_the_lower_ones_of_its_kind(void **state)
{
	(void)state;
	assert_true(bfs_cpu_allows(BFS_CPU_AVX512, BFS_CPU_SSE2));
	assert_true(bfs_cpu_allows(BFS_CPU_AVX2, BFS_CPU_AVX2));
	assert_false(bfs_cpu_allows(BFS_CPU_SSE2, BFS_CPU_AVX2));
	assert_false(bfs_cpu_allows(BFS_CPU_AVX512, BFS_CPU_NEON));
	assert_false(bfs_cpu_allows(BFS_CPU_NEON, BFS_CPU_AVX2));
	assert_true(bfs_cpu_allows(BFS_CPU_NEON, BFS_CPU_SCALAR));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_have_names),
		cmocka_unit_test(level_fits_the_architecture),
#if defined(BFS_X86)
		cmocka_unit_test(level_agrees_with_cpuid),
#endif
		cmocka_unit_test(cap_lowers_the_level_and_never_raises_it),
		cmocka_unit_test(unknown_cap_is_ignored),
		cmocka_unit_test(level_includes_the_lower_ones_of_its_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
