/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * holes.h - which chunks of a container read as zeros without being stored,
 * told by its index alone, of which only a window is in memory at a time.
 */
#ifndef BFS_VIEW_HOLES_H
#define BFS_VIEW_HOLES_H

#include "array/array.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of data.bin in chunks that read as zeros; of a tiled array, whose
 * chunks are scattered over data.bin, UINT64_MAX where there are no others,
 * else 0. Of a sound index at most BFS_HOLES_LOOKED different entries are
 * looked at: what follows counts as data. A block of the index that is damaged
 * has no holes. Fails as bfs_err_passes says. */
#define BFS_HOLES_LOOKED (UINT64_C(1) << 24)
enum bfs_err bfs_holes_count(const struct bfs_array *array,
			     uint64_t *ret_len) BFS_MUST_CHECK;

/* Whether chunk n is a hole, and the end of the run of chunks like it: the
 * first that is not, or how far was looked. */
void bfs_holes_run(struct bfs_container *container, uint64_t n, bool *ret_hole,
		   uint64_t *ret_end);

/* The runs of chunks that are no holes, in order, max (> 0) of them at most.
 * Where there are more, or no more is looked at (BFS_HOLES_LOOKED), the last
 * takes all that follows: holes may be among those. Fails as bfs_err_passes
 * says. */
struct bfs_chunk_run {
	uint64_t first, end;		/* end: the first behind it */
};
enum bfs_err bfs_holes_between(struct bfs_container *container, size_t max,
			       struct bfs_chunk_run *ret_runs,
			       size_t *ret_n) BFS_MUST_CHECK;

#endif
