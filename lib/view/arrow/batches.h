/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * batches.h - how long a batch may be, and how many of its values are none.
 *
 * Programs take the count of a batch for exact: of one that is unknown (-1)
 * some leave the bits unread, and a mean is wrong where it is not right. So
 * it is counted when the batch's metadata are read, and batches are so short
 * that this takes a bounded amount of what is stored.
 */
#ifndef BFS_VIEW_ARROW_BATCHES_H
#define BFS_VIEW_ARROW_BATCHES_H

#include "view/arrow/table.h"

#include <stdatomic.h>

#define BFS_ARROW_COUNTED ((uint64_t)256 << 20)	/* bytes, for one batch */

/* How many runs of rows a table may have: each has a place for each column,
 * and where texts begin is looked for in each. */
size_t bfs_arrow_most_runs(size_t n_columns, size_t n_texts);
/* When all columns are there: cuts runs so that counting the values of one that
 * are none goes through no more than `bytes` of what is stored, as far as
 * there may be as many runs. */
enum bfs_err bfs_arrow_cut_runs(struct bfs_arrow_table *table, uint64_t bytes,
				struct bfs_diag *diag) BFS_MUST_CHECK;

/* Counts of all batches, as far as they were found out. */
struct bfs_arrow_counts {
	_Atomic int64_t *list;		/* owned: for each run those of each
					 * column; -1: not known yet */
};

enum bfs_err bfs_arrow_counts_new(const struct bfs_arrow_table *table,
				  struct bfs_arrow_counts *ret_counts,
				  struct bfs_diag *diag) BFS_MUST_CHECK;
void bfs_arrow_counts_release(struct bfs_arrow_counts *counts);
/* Those of batch i, into ret_n (one of each column). Where damage hides how
 * many there are it is at least one, so that programs read the bits, and meet
 * it. */
enum bfs_err bfs_arrow_count_batch(const struct bfs_arrow_table *table,
				   const struct bfs_arrow_reader *reader,
				   const struct bfs_arrow_counts *counts,
				   size_t i, int64_t *ret_n,
				   struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
