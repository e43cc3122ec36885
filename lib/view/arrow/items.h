/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * items.h - the items of an array as columns: one, or one for each field of a
 * record, fields of fields among them (`a.b`). Those that Arrow has not are
 * noted.
 */
#ifndef BFS_VIEW_ARROW_ITEMS_H
#define BFS_VIEW_ARROW_ITEMS_H

#include "view/arrow/table.h"
#include "view/kept.h"

/* Columns that are left out. */
#define BFS_ARROW_LEFT 64		/* of which so many are kept */

struct bfs_arrow_left {
	char *name;			/* owned, UTF-8, with a NUL behind */
	char why[BFS_ARROW_WHY];
};

struct bfs_arrow_lefts {
	struct bfs_arrow_left *list;	/* owned */
	size_t n;			/* of all, kept or not */
};

void bfs_arrow_lefts_release(struct bfs_arrow_lefts *lefts);
/* Notes one; an error of the moment (of why) or NOMEM is returned. */
enum bfs_err bfs_arrow_leave(struct bfs_arrow_lefts *lefts, const char *name,
			     size_t name_len, const struct bfs_diag *why,
			     struct bfs_diag *diag) BFS_MUST_CHECK;
/* What info.json says of them, where the file is there: true, or an object. */
void bfs_arrow_lefts_put(const struct bfs_arrow_lefts *lefts,
			 struct bfs_json *json);

/* Adds the columns of an array of at least one dimension, whose rows are those
 * of its first one; `name` is that of items without fields. The array is
 * `store` to the table's reader. UNSUPPORTED where it is no array, or has none
 * that Arrow has. *ret_n_rows: its rows. */
enum bfs_err bfs_arrow_add_items(struct bfs_arrow_table *table,
				 struct bfs_arrow_lefts *lefts,
				 const struct bfs_array_meta *meta,
				 uint64_t typesize, const char *name,
				 size_t name_len, size_t store,
				 uint64_t *ret_n_rows,
				 struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
