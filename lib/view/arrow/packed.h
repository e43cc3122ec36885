/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed.h - texts in MessagePack, as a table of python-blosc2 has them: its
 * schema, and the values of dictionaries.
 */
#ifndef BFS_VIEW_ARROW_PACKED_H
#define BFS_VIEW_ARROW_PACKED_H

#include "array/array.h"

#define BFS_ARROW_PACKED_MAX (UINT32_C(4) << 20)	/* bytes decoded */

/* The text that is a variable-length metalayer: allocated (bfs_free), with a
 * NUL behind. NOT_FORMAT where there is no such metalayer, or it is none. */
enum bfs_err bfs_arrow_get_text(struct bfs_array *array, const char *name,
				char **ret_text, size_t *ret_len,
				struct bfs_diag *diag) BFS_MUST_CHECK;

/* Texts in order: joined, and where each begins and the last one ends. */
struct bfs_arrow_list {
	char *joined;			/* owned */
	uint64_t *offsets;		/* owned: n + 1 */
	size_t n, cap;
};

void bfs_arrow_list_release(struct bfs_arrow_list *list);
/* All values of a frame of batches: lists of texts, one after another.
 * UNSUPPORTED where others are among them, or they are more than a limit. */
enum bfs_err bfs_arrow_get_list(struct bfs_array *array,
				struct bfs_arrow_list *ret_list,
				struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
