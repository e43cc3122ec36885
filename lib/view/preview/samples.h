/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * samples.h - which items of an array its picture is made of. For view/preview/
 * alone.
 *
 * Of two dimensions and more it is the slice in the middle of all but the last
 * two, seen at places as far apart as pixels are; where that would touch too
 * many blocks, at fewer. Of one it is the least and the greatest item of each
 * column.
 */
#ifndef BFS_VIEW_PREVIEW_SAMPLES_H
#define BFS_VIEW_PREVIEW_SAMPLES_H

#include "view/image/plain.h"

#define BFS_PREVIEW_SIDE 512			/* pixels, at most */
#define BFS_PREVIEW_DECODED (UINT64_C(64) << 20)	/* bytes of blocks */
#define BFS_PREVIEW_BLOCKS 16384		/* and their number */

/* One dimension of the slice. */
struct bfs_preview_axis {
	uint64_t n;		/* pixels of the array */
	uint64_t stride;	/* bytes from one to the next */
	uint64_t chunk, block;	/* items; 0: of no tiles */
	unsigned n_seen;	/* places that are looked at */
};

struct bfs_preview_plan {
	struct bfs_plain plain;
	bool is_curve;
	unsigned channels;	/* numbers of a pixel: 1, 3 or 4 */
	uint64_t base;		/* where the slice begins, in bytes */
	uint64_t block_len;	/* bytes of a block; of no tiles, as was said */
	uint64_t chunk_len;	/* bytes, where there are no tiles */
	struct bfs_preview_axis x, y;
	unsigned width, height;	/* of the picture, pixels */
};

/* What was seen, from the first row on: `value[(y * x.n_seen + x) * channels +
 * channel]`; of a curve two each, least and greatest. */
struct bfs_preview_seen {
	double *value;		/* owned */
	uint8_t *bad;		/* owned; a byte for each place: not readable */
};

/* Sizes of the picture, from headers alone. UNSUPPORTED, with a reason for
 * info.json, where there can be none. */
enum bfs_err bfs_preview_size(const struct bfs_file *file,
			      struct bfs_preview_plan *ret_plan,
			      struct bfs_diag *diag) BFS_MUST_CHECK;
/* How many places are looked at within the budget, and memory for them. The
 * caller releases what is seen, also on failure. UNSUPPORTED where one block is
 * beyond the budget. */
enum bfs_err bfs_preview_prepare(struct bfs_file *file,
				 struct bfs_preview_plan *plan,
				 struct bfs_preview_seen *seen,
				 struct bfs_diag *diag) BFS_MUST_CHECK;
void bfs_preview_release(struct bfs_preview_seen *seen);

/* The block that a place lies in, counted along one dimension; 0 where there
 * are no tiles. */
uint64_t bfs_preview_block(const struct bfs_preview_axis *axis, uint64_t at);

#endif
