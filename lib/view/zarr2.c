/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zarr2.c - zarr2/ and dataset2.zarr/: the array as a Zarr store of version
 * 2 alone, and a group with it.
 */
#include "view/zarr/store.h"

static size_t zarr2_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	return bfs_zarr_roots(file, BFS_ROW_zarr2, "zarr2",
			      "dataset2.zarr", ret_roots);
}

static void zarr2_note(struct bfs_file *file, struct bfs_json *json)
{
	bfs_zarr_note(file, json, "zarr2", 2);
}

const struct bfs_view bfs_view_zarr2 = {
	.name = "zarr2",
	.roots = zarr2_roots,
	.lookup = bfs_zarr_lookup,
	.list = bfs_zarr_list,
	.is_dir = bfs_zarr_is_dir,
	.stat = bfs_zarr_stat,
	.open = bfs_zarr_open,
	.run = bfs_zarr_run,
	.part = bfs_zarr_part,
	.note = zarr2_note,
};
