/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpu.c - the vector level of this CPU, found once and capped by the
 * environment.
 *
 * The compiler's own run-time check is used: it asks the operating system
 * too (xgetbv) whether the wide registers are saved.
 */
#include "base/cpu.h"

#include "base/compiler.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[BFS_N_CPUS] = {
	[BFS_CPU_SCALAR] = "scalar",
	[BFS_CPU_SSE2] = "sse2",
	[BFS_CPU_AVX2] = "avx2",
	[BFS_CPU_AVX512] = "avx512",
	[BFS_CPU_NEON] = "neon",
};

enum bfs_cpu bfs_cpu_detect(void)
{
#if defined(BFS_X86)
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("sse2"))
		return BFS_CPU_SCALAR;
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2"))
		return BFS_CPU_SSE2;
	if (!__builtin_cpu_supports("avx512f") ||
	    !__builtin_cpu_supports("avx512bw") ||
	    !__builtin_cpu_supports("avx512vl") ||
	    !__builtin_cpu_supports("avx512vbmi") ||
	    !__builtin_cpu_supports("gfni"))
		return BFS_CPU_AVX2;
	return BFS_CPU_AVX512;
#elif defined(BFS_ARM64)
	return BFS_CPU_NEON;
#else
	return BFS_CPU_SCALAR;
#endif
}

/* A name that is unknown, or of another architecture, caps nothing. */
static enum bfs_cpu cap_level(enum bfs_cpu have, const char *cap)
{
	unsigned i;

	for (i = 0; cap && i < BFS_N_CPUS; i++) {
		if (!strcmp(cap, names[i]) &&
		    bfs_cpu_allows(have, (enum bfs_cpu)i))
			return (enum bfs_cpu)i;
	}
	return have;
}

enum bfs_cpu bfs_cpu_level(void)
{
	static _Atomic int known;	/* level + 1; 0: not found yet */
	int level = atomic_load_explicit(&known, memory_order_relaxed);

	if (BFS_UNLIKELY(!level)) {
		level = (int)cap_level(bfs_cpu_detect(),
				       getenv("BLOSCFS_CPU")) + 1;
		atomic_store_explicit(&known, level, memory_order_relaxed);
	}
	return (enum bfs_cpu)(level - 1);
}

const char *bfs_cpu_name(enum bfs_cpu level)
{
	if ((unsigned)level >= BFS_N_CPUS)
		return "unknown";
	return names[level];
}
