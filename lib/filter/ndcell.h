/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ndcell.h - what NDCELL and NDMEAN share: a block stored cell by cell.
 */
#ifndef BFS_FILTER_NDCELL_H
#define BFS_FILTER_NDCELL_H

#include "filter/filter.h"

#define BFS_NDCELL_MAX_DIM 8

/* The block's shape must be known, have at most 8 dimensions, and make up the
 * block exactly. `name` is the filter's, for the diagnosis. */
enum bfs_err bfs_ndcell_check_shape(const struct bfs_filter_job *job,
				    const char *name,
				    struct bfs_diag *diag) BFS_MUST_CHECK;

/* Puts the items of cells, of side[i] items along dimension i, where they
 * belong. A block that does not have the shape's length, as no writer makes
 * one, is copied as it stands. */
void bfs_ndcell_undo(const struct bfs_filter_job *job,
		     const uint32_t side[BFS_NDCELL_MAX_DIM]);

#endif
