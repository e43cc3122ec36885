/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fill.h - the bytes of an Arrow file, made where they are read: of what is
 * stored only the rows that they need is read.
 */
#ifndef BFS_VIEW_ARROW_FILL_H
#define BFS_VIEW_ARROW_FILL_H

#include "view/arrow/table.h"

/* Tells how many values of run i are none, into ret_n: of each column. */
struct bfs_arrow_counter {
	enum bfs_err (*count)(const void *arg, size_t i, int64_t *ret_n,
			      struct bfs_diag *diag);
	const void *arg;
};

/* Exactly len bytes at off, both inside the file. counter NULL: no column has
 * any. */
enum bfs_err bfs_arrow_fill(const struct bfs_arrow_table *table,
			    const struct bfs_arrow_reader *reader,
			    const struct bfs_arrow_counter *counter,
			    uint64_t off, uint8_t *buf, size_t len,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

/* Where a column's values lie in the file as they are stored: the bytes at off,
 * if so, are those at *ret_at of its store, as many as *ret_len. False: they
 * are to be made. */
bool bfs_arrow_is_stored(const struct bfs_arrow_table *table, uint64_t off,
			 size_t *ret_store, uint64_t *ret_at,
			 uint64_t *ret_len);

/* Counts values that are none, of column i in a run. */
enum bfs_err bfs_arrow_count_nulls(const struct bfs_arrow_table *table,
				   const struct bfs_arrow_reader *reader,
				   size_t i, const struct bfs_arrow_run *run,
				   int64_t *ret_n,
				   struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
