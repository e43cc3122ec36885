/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zarr3.c - zarr3/ and dataset3.zarr/: the array as a Zarr store of version
 * 3 alone, and a group with it.
 */
#include "view/zarr/listed.h"
#include "view/zarr/store.h"

static size_t zarr3_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	return bfs_zarr_roots(file, BFS_ROW_zarr3, "zarr3",
			      "dataset3.zarr", ret_roots);
}

static void zarr3_note(struct bfs_file *file, struct bfs_json *json)
{
	bfs_zarr_note(file, json, "zarr3", 3);
}

/* It keeps which keys are listed, for the others as well, on or not. */
const struct bfs_view bfs_view_zarr3 = {
	.name = "zarr3",
	.roots = zarr3_roots,
	.lookup = bfs_zarr_lookup,
	.list = bfs_zarr_list,
	.is_dir = bfs_zarr_is_dir,
	.stat = bfs_zarr_stat,
	.open = bfs_zarr_open,
	.run = bfs_zarr_run,
	.part = bfs_zarr_part,
	.note = zarr3_note,
	.release = bfs_zarr_free_listed,
};
