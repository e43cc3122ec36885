/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rootdir.h - a table of bcolz (ctable): a directory of columns, whose names a
 * file in it tells (docs/formats/bcolz.md).
 */
#ifndef BFS_VIEW_ARROW_ROOTDIR_H
#define BFS_VIEW_ARROW_ROOTDIR_H

#include "view/arrow/items.h"
#include "view/arrow/stores.h"

/* Whether a container is one. */
bool bfs_arrow_is_rootdir(struct bfs_file *file);
/* Opens all of its columns; nothing of them is decoded. UNSUPPORTED where there
 * is none that Arrow has. */
enum bfs_err bfs_arrow_add_rootdir(struct bfs_file *file,
				   struct bfs_arrow_table *table,
				   struct bfs_arrow_lefts *lefts,
				   struct bfs_arrow_stores *stores,
				   struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
