/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * living.h - which rows of a table live: those that are marked, in runs.
 */
#ifndef BFS_VIEW_ARROW_LIVING_H
#define BFS_VIEW_ARROW_LIVING_H

#include "view/arrow/table.h"

#define BFS_ARROW_MARKS (UINT64_C(64) << 20)	/* bytes of marks decoded */

/* Reads the marks of a store, n bytes, and adds the runs of rows that live, as
 * many as `most`. *ret_all: there are more, or too many marks to be read; then
 * there is one run, of all rows up to the last one that may live. */
enum bfs_err bfs_arrow_find_living(struct bfs_arrow_table *table,
				   const struct bfs_arrow_reader *reader,
				   size_t store, uint64_t n, size_t most,
				   bool *ret_all,
				   struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
