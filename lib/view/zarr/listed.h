/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listed.h - which keys of a Zarr store are listed: those of chunks that hold
 * something, and the folders on the way to them. For view/zarr/ alone.
 *
 * A key that is not listed is found by its name all the same, and reads as
 * zeros.
 */
#ifndef BFS_VIEW_ZARR_LISTED_H
#define BFS_VIEW_ZARR_LISTED_H

#include "view/zarr/grid.h"

/* Keys that have the same first `depth` coordinates (up to all of them) are
 * one entry, numbered along the grid: the pos-th entry that is listed, of
 * those from `from` on and before `end`. False behind the last. */
bool bfs_zarr_listed(struct bfs_file *file, const struct bfs_zarr *zarr,
		     unsigned depth, uint64_t from, uint64_t end, uint64_t pos,
		     uint64_t *ret_number);

/* Frees what is kept for it: the release of the view that keeps it. */
void bfs_zarr_free_listed(void *state);

#endif
