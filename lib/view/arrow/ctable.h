/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ctable.h - a table of python-blosc2 (CTable) in a store: its columns, and the
 * rows that live (docs/formats/stores.md, tables).
 */
#ifndef BFS_VIEW_ARROW_CTABLE_H
#define BFS_VIEW_ARROW_CTABLE_H

#include "view/arrow/items.h"
#include "view/arrow/stores.h"

/* Whether a store says that it is one, by its keys. */
bool bfs_arrow_is_ctable(struct bfs_file *file);
/* Opens all that its columns need. Which rows live is read now, and where texts
 * begin and end in each run of these, and dictionaries. UNSUPPORTED where there
 * is no column that Arrow has. */
enum bfs_err bfs_arrow_add_ctable(struct bfs_file *file,
				  struct bfs_arrow_table *table,
				  struct bfs_arrow_lefts *lefts,
				  struct bfs_arrow_stores *stores,
				  struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
