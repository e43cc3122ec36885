/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cells.h - the cells of the map: how many, where, and what was seen of the
 * chunks in each. For view/map/ alone.
 */
#ifndef BFS_VIEW_MAP_CELLS_H
#define BFS_VIEW_MAP_CELLS_H

#include "array/array.h"

#include <stdint.h>

/* Pixels. */
#define MAP_WIDTH 1000
#define MAP_LEFT 92		/* of the cells; labels before them */
#define MAP_TOP 138
#define MAP_CELLS 1024		/* at most */

/* What a cell is painted as: ratios, then what has none. */
enum bfs_paint {
	MAP_RATIOS = 8,
	MAP_STORED = MAP_RATIOS,
	MAP_ZEROS,
	MAP_NAN,
	MAP_VALUE,
	MAP_UNINIT,
	MAP_UNSUPPORTED,
	MAP_DAMAGED,
	MAP_PAINTS
};

/* Where cells are. An array's lie as its chunks do: the grid of the last two
 * dimensions is a slab, and slabs of all others stand side by side. */
struct bfs_grid {
	uint64_t n_chunks;
	uint64_t per_cell;	/* chunks; the last cell may have fewer */
	unsigned n_cells;
	unsigned slab_w, slab_h;	/* cells of a slab */
	unsigned n_columns;	/* slabs side by side */
	unsigned n_rows;	/* and below one another */
	unsigned size;		/* of a cell, its gap included */
	unsigned gap;		/* between slabs */
	unsigned height;	/* of the picture */
	unsigned n_dims;	/* of an array whose grid is shown; else 0 */
	uint64_t dims[BFS_MAX_DIM];	/* chunks along each */
};

/* What was seen of some chunks. */
struct bfs_seen {
	uint64_t n_looked;
	uint64_t n_met;		/* chunks of which a fault was met */
	/* Chunks by what they would be painted as; all with streams are
	 * counted as the last of the ratios. */
	uint64_t n[MAP_PAINTS];
	uint64_t nbytes, cbytes;	/* of those that are stored */
	uint64_t off;		/* of the first, where it is stored */
	bool has_off;
	bool is_rated;		/* some have streams: the cell counts for the
				 * scale */
};

/* Which ratios, in hundredths, there are, and from which on a cell is painted
 * as which. */
struct bfs_scale {
	uint64_t least, most;
	uint64_t from[MAP_RATIOS];
	unsigned n;		/* colours in use: 0 where no chunk has any */
};

/* The cells of a map of an array's chunks. */
struct bfs_grid bfs_map_grid(const struct bfs_array *array);
/* Where a cell begins, in pixels. */
void bfs_map_place(const struct bfs_grid *l, unsigned cell, unsigned *ret_x,
		   unsigned *ret_y);

/* Looks at the chunks of a cell, all of them or as many as it may, evenly
 * apart; and at what is known of faults of each. Fails as bfs_chunk_find_facts
 * does. */
enum bfs_err bfs_map_look(struct bfs_container *container,
			  const struct bfs_faults_known *known,
			  const struct bfs_grid *l, unsigned cell,
			  struct bfs_seen *ret_sum,
			  struct bfs_diag *diag) BFS_MUST_CHECK;
void bfs_map_add(struct bfs_seen *sum, const struct bfs_seen *other);

/* How many times smaller the stored chunks are, in hundredths. */
uint64_t bfs_map_ratio(const struct bfs_seen *sum);
/* The scale of what was seen in n cells. */
struct bfs_scale bfs_map_scale(const struct bfs_seen *seen, unsigned n);
enum bfs_paint bfs_map_paint(const struct bfs_seen *sum,
			     const struct bfs_scale *scale);

#endif
