/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * index.h - where the lines of items.jsonl begin, so that its length is known
 * and any range of it is made anew from few values. For view/items/ alone.
 */
#ifndef BFS_VIEW_ITEMS_INDEX_H
#define BFS_VIEW_ITEMS_INDEX_H

#include "view/items/lines.h"

#define BFS_ITEMS_MAX_BYTES (UINT64_C(64) << 20) /* decoded for the index */
#define BFS_ITEMS_MAX_CHUNKS (UINT64_C(1) << 20)

struct bfs_items_index;

/* Decodes all values once. LIMIT beyond the bounds above, UNSUPPORTED or
 * CORRUPT where a value cannot be had: then no length is known. */
enum bfs_err bfs_items_index_new(struct bfs_file *file, bool in_blocks,
				 struct bfs_items_index **ret_index,
				 struct bfs_diag *diag) BFS_MUST_CHECK;
void bfs_items_index_free(struct bfs_items_index *index); /* NULL is fine */

/* Bytes of all lines. */
uint64_t bfs_items_len(const struct bfs_items_index *index);
/* Exactly len bytes at off, both inside. */
enum bfs_err bfs_items_fill(struct bfs_file *file,
			    const struct bfs_items_index *index, uint64_t off,
			    uint8_t *buf, size_t len,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
