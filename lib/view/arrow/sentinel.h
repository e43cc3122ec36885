/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sentinel.h - the value that stands for none, as the schema of a table tells
 * it in JSON, and as a column stores it.
 */
#ifndef BFS_VIEW_ARROW_SENTINEL_H
#define BFS_VIEW_ARROW_SENTINEL_H

#include "text/json_read.h"
#include "view/arrow/table.h"

/* Sets how the column's values that are none are known. UNSUPPORTED where no
 * value of it can be that one. */
enum bfs_err bfs_arrow_set_sentinel(struct bfs_arrow_column *column,
				    const struct bfs_value *value,
				    struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
