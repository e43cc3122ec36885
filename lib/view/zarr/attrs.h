/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attrs.h - the attributes and the names of dimensions that the metalayers of
 * an array give it as a Zarr array. For view/zarr/ alone.
 *
 * Taken are metalayers of variable length, fixed ones that are one value of
 * MessagePack, and the attributes of a bcolz column: under their names, the
 * former instead of the latter where both have one. Left out is what formats
 * and python-blosc2 keep there for themselves, credentials, what is damaged,
 * and what is too long (the limits are in attrs.c).
 */
#ifndef BFS_VIEW_ZARR_ATTRS_H
#define BFS_VIEW_ZARR_ATTRS_H

#include "text/json.h"
#include "text/json_read.h"
#include "view/zarr/grid.h"

/* For bfs_kept_text, with any key: all attributes as one JSON object, of
 * which some may name dimensions. Fails with errors of the moment alone. */
enum bfs_err bfs_zarr_make_attrs(struct bfs_file *file, unsigned key,
				 char **ret_text, size_t *ret_len,
				 struct bfs_diag *diag) BFS_MUST_CHECK;

/* Writes the names of all dimensions as a list: those that the root of such a
 * text gives, else dim_0 and so on. */
void bfs_zarr_put_dim_names(struct bfs_json *json, const struct bfs_zarr *zarr,
			    const struct bfs_value *attrs);
/* Writes the attributes as members of the object that was begun: all but the
 * one that gives the names of dimensions, and what Zarr would take for it. */
void bfs_zarr_put_attrs(struct bfs_json *json, const struct bfs_zarr *zarr,
			const struct bfs_value *attrs);

#endif
