/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * curve.h - the least and the greatest item of each column of an array of one
 * dimension. For view/preview/ alone.
 */
#ifndef BFS_VIEW_PREVIEW_CURVE_H
#define BFS_VIEW_PREVIEW_CURVE_H

#include "view/preview/samples.h"

/* As bfs_slice_look; it may look at fewer columns than the plan says, and says
 * so in it. NaN: nothing but NaN was seen. */
enum bfs_err bfs_curve_look(struct bfs_file *file,
			    struct bfs_preview_plan *plan,
			    struct bfs_preview_seen *seen,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
