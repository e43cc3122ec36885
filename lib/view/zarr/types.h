/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types.h - what versions 2 and 3 of Zarr call a parsed dtype, or why they
 * have no name for it. For view/zarr/ alone.
 */
#ifndef BFS_VIEW_ZARR_TYPES_H
#define BFS_VIEW_ZARR_TYPES_H

#include "text/dtype.h"
#include "text/json.h"

#include <stdbool.h>

/* The longest plain bytes that are a data type of version 3, and that are
 * written out as a fill value. */
#define BFS_ZARR_MAX_RAW 4096
#define BFS_ZARR_WHY 96		/* bytes of a reason, with its NUL */

/* Fills in why a version cannot say the type; leaves "" as it is where it
 * can. */
void bfs_zarr_judge(const struct bfs_dtype *type, char v2_why[BFS_ZARR_WHY],
		    char v3_why[BFS_ZARR_WHY]);

/* A type of version 2: text, or a list of fields [name, type, shape]. */
void bfs_zarr_put_type2(struct bfs_json *json, const struct bfs_dtype *type);
/* The name of a type of version 3; false where it has none. */
bool bfs_zarr_name_type3(const struct bfs_dtype *type, char name[32]);

#endif
