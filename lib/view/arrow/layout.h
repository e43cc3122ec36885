/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout.h - where each part of an Arrow file lies.
 */
#ifndef BFS_VIEW_ARROW_LAYOUT_H
#define BFS_VIEW_ARROW_LAYOUT_H

#include "view/arrow/table.h"

/* When all is added: finds the places, and makes head and tail. UNSUPPORTED
 * where the file would be too long. */
enum bfs_err bfs_arrow_lay(struct bfs_arrow_table *table,
			   struct bfs_diag *diag) BFS_MUST_CHECK;
/* The batch whose message or body has the byte at off, between head and tail;
 * *ret_off: of the byte in its message. */
size_t bfs_arrow_batch_at(const struct bfs_arrow_table *table, uint64_t off,
			  uint64_t *ret_off);

#endif
