/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpu.h - which vector instructions this CPU has, as one ascending level.
 *
 * Found once; the environment variable BLOSCFS_CPU (scalar, sse2, avx2,
 * avx512, neon) caps it. A level includes all lower ones of its architecture.
 */
#ifndef BFS_BASE_CPU_H
#define BFS_BASE_CPU_H

enum bfs_cpu {
	BFS_CPU_SCALAR = 0,
	BFS_CPU_SSE2,	/* x86-64 baseline */
	BFS_CPU_AVX2,	/* with BMI2 */
	BFS_CPU_AVX512,	/* F, BW, VL, VBMI, GFNI */
	BFS_CPU_NEON,	/* arm64 baseline */
	BFS_N_CPUS
};

/* The level to use. */
enum bfs_cpu bfs_cpu_level(void);
/* What the CPU can, regardless of the cap. */
enum bfs_cpu bfs_cpu_detect(void);
/* "scalar", "sse2", ...; never NULL. */
const char *bfs_cpu_name(enum bfs_cpu level);
/* Whether code for `level` may run where `have` is the level in use. */
static inline int bfs_cpu_allows(enum bfs_cpu have, enum bfs_cpu level)
{
	return level == BFS_CPU_SCALAR || level == have ||
	       (level < have && have != BFS_CPU_NEON);
}

#endif
