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
#include "view/arrow/nulls.h"

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
	struct bfs_arrow_nulls nulls;	/* any but ALL: a bit for each value
					 * tells whether it is there */
	char *zone;		/* of timestamps; owned, or NULL */
	/* Of texts with offsets: which store has their bytes, and which of a
	 * run's spans it is. */
	size_t text_store, text;
	int64_t dictionary;		/* its number; -1: none */
};

/* Rows first ... first + n - 1. */
struct bfs_arrow_run {
	uint64_t first, n;
	uint64_t off;			/* of its message in the file */
	size_t meta_len;		/* of this, before its body */
	struct bfs_arrow_span {
		uint64_t start, end;
	} *texts;			/* owned: n_texts of the table */
};

/* A dictionary: its message with its body, of LargeUtf8. */
struct bfs_arrow_words {
	uint8_t *bytes;			/* owned */
	size_t len, meta_len;
};

/* What the columns' values are read from. */
struct bfs_arrow_reader {
	enum bfs_err (*read)(const void *arg, size_t store, uint64_t off,
			     void *buf, size_t len, struct bfs_diag *diag);
	const void *arg;
};

struct bfs_arrow_table {
	uint64_t n_rows;
	struct bfs_arrow_column *columns;	/* owned */
	size_t n_columns, cap;
	struct bfs_arrow_run *runs;		/* owned */
	size_t n_runs;
	size_t n_texts;			/* columns of texts with offsets */
	struct bfs_arrow_words *words;	/* owned: dictionaries by number */
	size_t n_words;
	/* Of the file: what comes before the first batch and behind the last
	 * one; owned. */
	uint8_t *head, *tail;
	size_t head_len, tail_len;
	uint64_t tail_off, len;
};

void bfs_arrow_release(struct bfs_arrow_table *table);

/* Adds a column, an empty one with that name and type: lists, places and
 * row_len are the caller's. A name that is there already becomes NAME%~2,
 * up to %~9, then UNSUPPORTED. LIMIT where there are too many. */
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

/* The buffers of a column in a batch, without their padding; of bits 0 where
 * all values are there. */
struct bfs_arrow_lens {
	uint64_t bits;			/* which values are there */
	uint64_t data;
	uint64_t more;			/* bytes of texts */
	uint64_t more_each;		/* of one buffer of these, but the last;
					 * 0: there are none */
};

struct bfs_arrow_lens bfs_arrow_lens(const struct bfs_arrow_column *column,
				     const struct bfs_arrow_run *run);
/* Of how many values it tells whether they are there. */
uint64_t bfs_arrow_n_bits(const struct bfs_arrow_column *column,
			  const struct bfs_arrow_run *run);
static inline uint64_t bfs_arrow_pad(uint64_t len)
{
	return (len + BFS_ARROW_ALIGN - 1) / BFS_ARROW_ALIGN * BFS_ARROW_ALIGN;
}

#endif
