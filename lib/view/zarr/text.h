/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text.h - the texts of a Zarr array's metadata files. For view/zarr/ alone.
 */
#ifndef BFS_VIEW_ZARR_TEXT_H
#define BFS_VIEW_ZARR_TEXT_H

#include "view/view.h"

/* The texts of metadata files. A group holds the array as
 * `data`. */
enum bfs_zarr_text {
	BFS_ZARR_ARRAY2,	/* .zarray */
	BFS_ZARR_MEMBER2,	/* .zarray of the array in a group */
	BFS_ZARR_ATTRS2,	/* .zattrs */
	BFS_ZARR_ARRAY3,	/* zarr.json */
	BFS_ZARR_ALL2,		/* .zmetadata of a group */
	BFS_ZARR_GROUP3,	/* zarr.json of a group */
	BFS_ZARR_ATTRS,		/* no file: the attributes (attrs.h) */
	BFS_ZARR_N_TEXTS
};
enum bfs_err bfs_zarr_text(struct bfs_file *file, enum bfs_zarr_text which,
			   const char **ret_text, size_t *ret_len,
			   struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
