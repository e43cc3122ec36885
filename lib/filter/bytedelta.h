/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bytedelta.h - what both ids of BYTEDELTA share. Private to this room.
 */
#ifndef BFS_FILTER_BYTEDELTA_H
#define BFS_FILTER_BYTEDELTA_H

#include "filter/filter.h"

#include <stdbool.h>

enum bfs_err bfs_bytedelta_check(const struct bfs_filter_job *job,
				 struct bfs_diag *diag);

/* restarts: each channel's sum begins anew where its last whole 16 bytes
 * end, as the first writers did. src may equal dst. */
void bfs_bytedelta_scalar(const struct bfs_filter_job *job, bool restarts);
#ifdef BFS_ARM64
void bfs_bytedelta_neon(const struct bfs_filter_job *job, bool restarts);
#endif
#ifdef BFS_X86
void bfs_bytedelta_sse2(const struct bfs_filter_job *job, bool restarts);
void bfs_bytedelta_avx2(const struct bfs_filter_job *job, bool restarts);
void bfs_bytedelta_avx512(const struct bfs_filter_job *job, bool restarts);
#endif

#endif
