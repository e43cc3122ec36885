/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cells.h - the cells of the map: how many, where, and what was seen of the
 * chunks in each. For view/map/ alone.
 */
#ifndef BFS_VIEW_MAP_CELLS_H
#define BFS_VIEW_MAP_CELLS_H

#include "container/container.h"

#include <stdint.h>

/* Pixels. */
#define MAP_WIDTH 1000
#define MAP_LEFT 92		/* of the cells; labels before them */
#define MAP_TOP 130

/* What a cell is painted as: ratios, then what has none. */
enum bfs_paint {
	MAP_RATIOS = 8,
	MAP_STORED = MAP_RATIOS,
	MAP_SPECIAL,
	MAP_UNSUPPORTED,
	MAP_DAMAGED,
	MAP_PAINTS
};

/* Where cells are. */
struct bfs_grid {
	uint64_t n_chunks;
	uint64_t per_cell;	/* chunks; the last cell may have fewer */
	unsigned n_cells, n_columns, n_rows;
	unsigned size;		/* of a cell, its gap included */
	unsigned height;	/* of the picture */
};

/* What was seen of some chunks. */
struct bfs_seen {
	uint64_t n_looked;
	/* Chunks by what they would be painted as; all with streams are
	 * counted as the last of the ratios. */
	uint64_t n[MAP_PAINTS];
	uint64_t nbytes, cbytes;	/* of those that are stored */
};

/* The cells of a map of so many chunks. */
struct bfs_grid bfs_map_grid(uint64_t n_chunks);

/* Looks at the chunks of a cell, all of them or as many as it may, evenly
 * apart. Fails as bfs_chunk_find_facts does. */
enum bfs_err bfs_map_look(struct bfs_container *container,
			  const struct bfs_grid *l, unsigned cell,
			  struct bfs_seen *ret_sum,
			  struct bfs_diag *diag) BFS_MUST_CHECK;
void bfs_map_add(struct bfs_seen *sum, const struct bfs_seen *other);

/* How many times smaller the stored chunks are, in hundredths. */
uint64_t bfs_map_ratio(const struct bfs_seen *sum);
enum bfs_paint bfs_map_paint(const struct bfs_seen *sum);

#endif
