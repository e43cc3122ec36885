/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * draw.h - the shape of an array as a drawing. For view/html/ alone.
 */
#ifndef BFS_VIEW_HTML_DRAW_H
#define BFS_VIEW_HTML_DRAW_H

#include "container/container.h"
#include "view/markup.h"

/* The last two dimensions (or the only one) with the grid of chunks, and the
 * grid of blocks in the first chunk; a sheet behind for dimensions before
 * them. Nothing where the array has no items or no chunks. */
void bfs_html_draw(struct bfs_markup *page, const struct bfs_array_meta *array);

#endif
