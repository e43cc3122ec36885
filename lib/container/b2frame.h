/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * b2frame.h - opening a current frame, for the two rows that have one: the
 * contiguous file and the index file of a sparse directory.
 */
#ifndef BFS_CONTAINER_B2FRAME_H
#define BFS_CONTAINER_B2FRAME_H

#include "container/container.h"
#include "base/err.h"

#include <stdbool.h>

/* Fills f from f->source. What does not hold is blamed on the container; fails
 * for lack of memory and for reads that fail. */
enum bfs_err bfs_b2frame_open(struct bfs_container *f, bool sparse,
			      struct bfs_diag *diag) BFS_MUST_CHECK;

/* Whether the lengths that a frame's header tells can be: of early frames too,
 * whose headers have the chunk size elsewhere (chunksize_at). f has nbytes,
 * typesize and chunksize already. The place in diag counts from the start of
 * the header. */
struct bfs_frame_lens {
	uint64_t header_len, frame_len;
	uint64_t least;			/* of a header */
	unsigned chunksize_at;
};
enum bfs_err bfs_b2frame_check(const struct bfs_container *f,
			       const struct bfs_frame_lens *lens,
			       struct bfs_diag *diag) BFS_MUST_CHECK;

/* Of early frames too: they have their length in the same place. */
bool bfs_b2frame_is_short(const uint8_t *head, size_t head_len,
			  uint64_t file_len);

#endif
