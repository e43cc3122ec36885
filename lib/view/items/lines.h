/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lines.h - values of MessagePack as lines of JSON, read from where they lie in
 * chunks. For view/items/ alone.
 *
 * A unit is what holds values: a chunk that is one value, or a block of a chunk
 * that is a list of them. Values that are hostile cost a bounded amount of
 * memory: what is too long is a line that says how long it is.
 */
#ifndef BFS_VIEW_ITEMS_LINES_H
#define BFS_VIEW_ITEMS_LINES_H

#include "view/kept.h"

#define BFS_ITEMS_MAX_VALUE (1 << 20)	/* bytes of MessagePack */
#define BFS_ITEMS_MAX_UNIT (16 << 20)	/* of a list of values */

/* A range of a chunk: values one behind another, or a unit with what stands
 * before them. */
struct bfs_items_range {
	uint64_t chunk;
	uint32_t off, len;
	bool is_one;		/* it is one value, whatever it is */
	bool has_head;		/* it begins with the head of a list, ... */
	bool is_whole;		/* ... which it holds whole */
};

/* Takes a line, with its newline, of a value that ends at `end` of the range;
 * false: no more. */
typedef bool bfs_items_take(void *arg, const char *line, size_t len,
			    uint32_t end);

/* How many units chunk n has; 1 where they are not blocks. */
enum bfs_err bfs_items_units(struct bfs_file *file, uint64_t n, bool in_blocks,
			     uint32_t *ret_n, struct bfs_diag *diag)
	BFS_MUST_CHECK;
/* Unit k (< their number) of chunk n. */
enum bfs_err bfs_items_unit(struct bfs_file *file, uint64_t n, uint32_t k,
			    bool in_blocks, struct bfs_items_range *ret_range,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

/* The values of a range, line by line. CORRUPT where a list is none, or ends
 * too early or too late; LIMIT beyond BFS_ITEMS_MAX_UNIT. */
enum bfs_err bfs_items_lines(struct bfs_file *file,
			     const struct bfs_items_range *range,
			     bfs_items_take *take, void *arg,
			     struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
