/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * paint.h - what was seen of an array as pixels. For view/preview/ alone.
 *
 * Numbers are shades of grey between the 2nd and the 98th percentile of what
 * was seen; colours are scaled alike. NaN is transparent, what cannot be read
 * hatched. A curve goes from the least to the greatest of all.
 */
#ifndef BFS_VIEW_PREVIEW_PAINT_H
#define BFS_VIEW_PREVIEW_PAINT_H

#include "view/preview/png.h"
#include "view/preview/samples.h"

struct bfs_png bfs_paint_form(const struct bfs_preview_plan *plan);
/* Draws a file of bfs_png_len bytes into buf. NOMEM. */
enum bfs_err bfs_paint(const struct bfs_preview_plan *plan,
		       const struct bfs_preview_seen *seen, uint8_t *buf,
		       struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
