/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * svg.h - the picture of the map. For view/map/ alone.
 */
#ifndef BFS_VIEW_MAP_SVG_H
#define BFS_VIEW_MAP_SVG_H

#include "view/facts.h"
#include "view/map/cells.h"

#include <stddef.h>

/* Bytes of the picture, which the number of chunks alone tells. */
size_t bfs_map_len(const struct bfs_grid *l);

/* Looks at the chunks and draws them; buf holds len + 1 bytes, where len is
 * bfs_map_len. */
enum bfs_err bfs_map_draw(struct bfs_array *array,
			  const struct bfs_facts *facts,
			  const struct bfs_grid *l, char *buf,
			  size_t len, struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
