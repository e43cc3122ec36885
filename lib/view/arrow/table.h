/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.h - columns of equal length, and where an Arrow IPC file has them:
 * every place is known before anything is decoded.
 *
 * The file (Arrow columnar format, "IPC File Format"): a magic, the schema, a
 * record batch for each run of rows, a footer. Bodies and buffers lie at
 * multiples of 64 and are not compressed.
 */
#ifndef BFS_VIEW_ARROW_TABLE_H
#define BFS_VIEW_ARROW_TABLE_H

#include "array/array.h"
#include "view/arrow/type.h"

#define BFS_ARROW_ALIGN 64
/* Fixed-size lists around a column's values: dimensions behind the first, those
 * of a sub-array, the two of a complex number. */
#define BFS_ARROW_LISTS (BFS_MAX_DIM + BFS_DTYPE_MAXDIM + 1)
#define BFS_ARROW_COLUMNS 4096		/* of one table */
#define BFS_ARROW_RUNS 1024		/* of rows, of one table */
#define BFS_ARROW_WHY BFS_DIAG_TEXT	/* bytes of a reason, with its NUL */

/* Stored values: those of a row lie together, rows in equal steps. */
struct bfs_arrow_column {
	char *name;			/* owned, UTF-8 */
	size_t name_len;
	size_t store;			/* what has them (bfs_arrow_reader) */
	uint64_t off, step;		/* of the first row; from row to row */
	uint64_t row_len;		/* bytes of a row's values */
	uint64_t per_row;		/* values */
	struct bfs_arrow_type type;
	unsigned n_lists;
	uint32_t lists[BFS_ARROW_LISTS];	/* the outermost first */
	bool has_nulls;			/* a bit for each value tells whether it
					 * is there */
};

/* Rows first ... first + n - 1. */
struct bfs_arrow_run {
	uint64_t first, n;
	uint64_t off;			/* of its message in the file */
};

/* What the columns' values are read from. */
struct bfs_arrow_reader {
	enum bfs_err (*read)(void *arg, size_t store, uint64_t off, void *buf,
			     size_t len, struct bfs_diag *diag);
	void *arg;
};

struct bfs_arrow_table {
	uint64_t n_rows;
	struct bfs_arrow_column *columns;	/* owned */
	size_t n_columns, cap;
	struct bfs_arrow_run *runs;		/* owned */
	size_t n_runs;
	/* Of the file: what comes before the first batch and behind the last
	 * one (owned), and how long a batch's metadata are. */
	uint8_t *head, *tail;
	size_t head_len, tail_len, meta_len;
	uint64_t tail_off, len;
};

void bfs_arrow_release(struct bfs_arrow_table *table);

/* Adds a column, an empty one with that name and type: lists, places and
 * row_len are the caller's. A name that is there already becomes NAME%~2.
 * LIMIT where there are too many. */
enum bfs_err bfs_arrow_add(struct bfs_arrow_table *table, const char *name,
			   size_t name_len, const struct bfs_arrow_type *type,
			   struct bfs_arrow_column **ret_column,
			   struct bfs_diag *diag) BFS_MUST_CHECK;
/* Takes the last one away. */
void bfs_arrow_drop(struct bfs_arrow_table *table);
/* Puts a fixed-size list of n around the values of a column. */
enum bfs_err bfs_arrow_nest(struct bfs_arrow_column *column, uint64_t n,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

/* Adds a run of rows behind those before. LIMIT where there are too many. */
enum bfs_err bfs_arrow_add_run(struct bfs_arrow_table *table, uint64_t first,
			       uint64_t n,
			       struct bfs_diag *diag) BFS_MUST_CHECK;

/* The buffers of a column in a batch of n rows: bytes of those that are not
 * empty, without their padding. */
struct bfs_arrow_lens {
	uint64_t bits;			/* which values are there */
	uint64_t data;
};

struct bfs_arrow_lens bfs_arrow_lens(const struct bfs_arrow_column *column,
				     uint64_t n_rows);
static inline uint64_t bfs_arrow_pad(uint64_t len)
{
	return (len + BFS_ARROW_ALIGN - 1) / BFS_ARROW_ALIGN * BFS_ARROW_ALIGN;
}

#endif
