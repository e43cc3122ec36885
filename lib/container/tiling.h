/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tiling.h - whether pieces of a file cover a range of it exactly: no byte
 * twice, none left out. Pieces come in any order; those that come in order
 * cost nothing.
 */
#ifndef BFS_CONTAINER_TILING_H
#define BFS_CONTAINER_TILING_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct bfs_tile {
	uint64_t off, end;
};

/* The caller sets begin and end to where the first piece should begin. */
struct bfs_tiling {
	uint64_t begin;
	uint64_t end;			/* the farthest end of a piece so far */
	bool ordered;
	struct bfs_tile *tiles;		/* n are set, max fit */
	uint64_t n, max;
};

/* NOMEM where max pieces cannot be held. */
enum bfs_err bfs_tiling_init(struct bfs_tiling *tiling, uint64_t max,
			     struct bfs_diag *diag) BFS_MUST_CHECK;
void bfs_tiling_release(struct bfs_tiling *tiling);

/* Adds a piece [off, end); at most max pieces. */
void bfs_tiling_add(struct bfs_tiling *tiling, uint64_t off, uint64_t end);

/* CORRUPT with the first place that is covered twice or not at all. Once,
 * after the last piece. */
enum bfs_err bfs_tiling_check(struct bfs_tiling *tiling,
			      struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
