/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * b2parts.h - the examination of a current frame (examine.h), contiguous or
 * the index of a sparse one.
 */
#ifndef BFS_CONTAINER_B2PARTS_H
#define BFS_CONTAINER_B2PARTS_H

#include "container/examine.h"

enum bfs_err bfs_b2parts_examine(struct bfs_container *container,
				 const struct bfs_examiner *examiner,
				 struct bfs_diag *diag) BFS_MUST_CHECK;
/* The section [start, end) with a table and the values of n metalayers. */
enum bfs_err bfs_b2parts_examine_metas(const struct bfs_meta *metas, size_t n,
				       uint64_t start, uint64_t end,
				       const struct bfs_examiner *examiner,
				       struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
