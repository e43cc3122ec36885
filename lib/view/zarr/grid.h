/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * grid.h - an opened array as a Zarr array: its grid of chunks, and where their
 * bytes lie. For view/zarr/ alone.
 *
 * The chunks of a tiled array are the chunks of the grid. An array whose
 * chunks are joined is cut anew, into runs of bytes that lie together.
 */
#ifndef BFS_VIEW_ZARR_GRID_H
#define BFS_VIEW_ZARR_GRID_H

#include "text/dtype.h"
#include "view/view.h"
#include "view/zarr/types.h"

/* Those of the array, and those of a sub-array that its items are. */
#define BFS_ZARR_DIMS (BFS_MAX_DIM + BFS_DTYPE_MAXDIM)
/* The most chunks that nodes can number. */
#define BFS_ZARR_CHUNKS (UINT64_C(1) << 56)

struct bfs_zarr {
	unsigned n;			/* dimensions */
	uint64_t shape[BFS_ZARR_DIMS];	/* items */
	uint64_t chunk[BFS_ZARR_DIMS];	/* items, >= 1 */
	uint64_t grid[BFS_ZARR_DIMS];	/* chunks along each */
	uint64_t n_chunks;		/* 0 where the array has no items */
	uint64_t chunk_len;		/* bytes */
	bool tiled;			/* chunk N is the container's tile N */
	bool fortran;			/* items are in order F */
	/* Of joined arrays: the dimension that is cut (of order C), and the
	 * bytes that one step in it takes. */
	unsigned axis;
	uint64_t step_len;
	struct bfs_dtype dtype;		/* of the items, owned */
	/* Why a version of Zarr cannot say it; "" where it can. */
	char v2_why[BFS_ZARR_WHY], v3_why[BFS_ZARR_WHY];
};

/* What is known of the container as a Zarr array, found out once and kept
 * with it; NULL where it is none (or no memory). */
const struct bfs_zarr *bfs_zarr_get(struct bfs_file *file);
void bfs_zarr_free(struct bfs_zarr *zarr);

/* Whether both versions can tell that what is not there is zeros. */
bool bfs_zarr_has_fill(const struct bfs_zarr *zarr);

/* Works it out; UNSUPPORTED where there can be none. */
enum bfs_err bfs_zarr_new(const struct bfs_file *file,
			  struct bfs_zarr **ret_zarr,
			  struct bfs_diag *diag) BFS_MUST_CHECK;

/* Where the bytes of chunk n (< n_chunks) of a joined array lie in the data:
 * *ret_len of them, and padding up to chunk_len. */
void bfs_zarr_place(const struct bfs_zarr *zarr, uint64_t n,
		    uint64_t *ret_off, uint64_t *ret_len);

#endif
