/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slice.h - the slice in the middle of an array, seen at some places. For
 * view/preview/ alone.
 */
#ifndef BFS_VIEW_PREVIEW_SLICE_H
#define BFS_VIEW_PREVIEW_SLICE_H

#include "view/preview/samples.h"

/* Looks at all places of a plan that is prepared. What is damaged or cannot be
 * decoded is `bad`; what fails is what passes. */
enum bfs_err bfs_slice_look(struct bfs_file *file,
			    const struct bfs_preview_plan *plan,
			    struct bfs_preview_seen *seen,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
