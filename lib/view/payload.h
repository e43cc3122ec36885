/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * payload.h - the logical bytes of a container: data.bin is these, and other
 * views put a header before them. An array's items in C order without
 * padding (in order F where the container has them so), or all chunks
 * joined.
 */
#ifndef BFS_VIEW_PAYLOAD_H
#define BFS_VIEW_PAYLOAD_H

#include "view/kept.h"

/* Whether the container is a sound array. */
bool bfs_payload_is_array(const struct bfs_file *file);
/* UNSUPPORTED where the items of the array cannot be shown as values: Python
 * objects, items without bytes. */
enum bfs_err bfs_payload_check_items(const struct bfs_file *file,
				     struct bfs_diag *diag) BFS_MUST_CHECK;

/* What open() of a file with these bytes answers. */
enum bfs_err bfs_payload_ready(struct bfs_file *file,
			       struct bfs_diag *diag) BFS_MUST_CHECK;

/* A file of head_len bytes and the payload: its attributes (its length stays
 * 0 where the payload's cannot be known), and its part at off, of which the
 * bytes before head_len are those of head. */
void bfs_payload_stat(struct bfs_file *file, size_t head_len,
		      struct bfs_attr *ret_attr);
void bfs_payload_part(const void *head, size_t head_len, uint64_t off,
		      uint64_t len, struct bfs_part *ret_part);

/* Where the run of data or holes that off is in ends (<= len), and which of
 * the two it is. */
uint64_t bfs_payload_run(struct bfs_file *file, uint64_t off, uint64_t len,
			 bool *ret_hole);

#endif
