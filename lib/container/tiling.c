/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tiling.c - pieces are sorted by place, unless they came in order.
 */
#include "container/tiling.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>

enum bfs_err bfs_tiling_init(struct bfs_tiling *t, uint64_t max,
			     struct bfs_diag *diag)
{
	t->ordered = true;
	t->n = 0;
	t->max = max;
	t->tiles = bfs_alloc((size_t)max * sizeof(*t->tiles));
	if (!t->tiles)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for the places of chunks");
	return BFS_OK;
}

void bfs_tiling_release(struct bfs_tiling *t)
{
	bfs_free(t->tiles);
	t->tiles = NULL;
}

void bfs_tiling_add(struct bfs_tiling *t, uint64_t off, uint64_t end)
{
	BFS_CHECK(t->n < t->max);
	t->ordered &= off == t->end;
	t->end = bfs_max(t->end, end);
	t->tiles[t->n++] = (struct bfs_tile){ off, end };
}

static int compare_tiles(const void *a, const void *b)
{
	const struct bfs_tile *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

enum bfs_err bfs_tiling_check(struct bfs_tiling *t, struct bfs_diag *diag)
{
	uint64_t at = t->begin, i;

	if (t->ordered)
		return BFS_OK;
	qsort(t->tiles, (size_t)t->n, sizeof(*t->tiles), compare_tiles);
	for (i = 0; i < t->n; i++) {
		if (t->tiles[i].off != at)
			return bfs_fail(diag, BFS_ERR_CORRUPT, at,
					"chunks %s", t->tiles[i].off < at ?
					"share bytes" : "leave bytes unnamed");
		at = t->tiles[i].end;
	}
	return BFS_OK;
}
