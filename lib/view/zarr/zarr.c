/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zarr.c - zarr/ and dataset.zarr/: the array as a Zarr store of both versions
 * in one folder, and a group with it.
 */
#include "view/payload.h"
#include "view/zarr/grid.h"
#include "view/zarr/store.h"
#include "view/zarr/text.h"

static size_t zarr_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	return bfs_zarr_roots(file, BFS_ROW_zarr, "zarr", "dataset.zarr",
			      ret_roots);
}

static void zarr_note(struct bfs_file *file, struct bfs_json *json)
{
	const struct bfs_zarr *z;

	if (!bfs_payload_is_array(file))
		return;
	z = bfs_zarr_get(file);
	bfs_json_key(json, "zarr");
	if (!z) {
		bfs_json_bool(json, false);
		return;
	}
	bfs_json_object(json);
	bfs_zarr_put_verdict(json, "v2", z->v2_why);
	bfs_zarr_put_verdict(json, "v3", z->v3_why);
	bfs_json_object_end(json);
}

static void zarr_release(void *state)
{
	bfs_zarr_free(state);
}

/* It keeps what zarr2 and zarr3 need as well, on or not. */
const struct bfs_view bfs_view_zarr = {
	.name = "zarr",
	.groups = " web ",
	.n_texts = BFS_ZARR_N_TEXTS,
	.roots = zarr_roots,
	.lookup = bfs_zarr_lookup,
	.list = bfs_zarr_list,
	.is_dir = bfs_zarr_is_dir,
	.stat = bfs_zarr_stat,
	.open = bfs_zarr_open,
	.run = bfs_zarr_run,
	.part = bfs_zarr_part,
	.note = zarr_note,
	.release = zarr_release,
};
