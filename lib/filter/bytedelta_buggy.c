/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bytedelta_buggy.c - undoing BYTEDELTA as its first writers did it.
 *
 * They took sixteen bytes at a time and forgot the sum before the last, less
 * than sixteen bytes of each channel; those are a run of their own. What is
 * left behind the last channel was never written by them and is copied.
 */
#include "filter/bytedelta.h"

static void undo_scalar(const struct bfs_filter_job *job)
{
	bfs_bytedelta_scalar(job, true);
}

#ifdef BFS_ARM64

static void undo_neon(const struct bfs_filter_job *job)
{
	bfs_bytedelta_neon(job, true);
}

#endif

#ifdef BFS_X86

static void undo_sse2(const struct bfs_filter_job *job)
{
	bfs_bytedelta_sse2(job, true);
}

static void undo_avx2(const struct bfs_filter_job *job)
{
	bfs_bytedelta_avx2(job, true);
}

static void undo_avx512(const struct bfs_filter_job *job)
{
	bfs_bytedelta_avx512(job, true);
}

#endif

/* One channel of 18 bytes. */
static const uint8_t sample_src[] = {
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 17, 1,
};
static const uint8_t sample_want[] = {
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
};

const struct bfs_filter bfs_filter_bytedelta_buggy = {
	.name = "bytedelta_buggy",
	.id = 34,
	.in_place = true,
	.check = bfs_bytedelta_check,
	.undo = BFS_UNDO_BY_LEVEL,
	.sample = { sample_src, sample_want, sizeof(sample_src), 1, 1 },
};
