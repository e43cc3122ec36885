/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cells.c - where the cells of the map are, and what their chunks are like.
 *
 * Out of index and headers, and of at most MAX_LOOKS chunks: where there are
 * more, samples stand for them. A cell stands for one chunk, or for
 * neighbours where there are more than MAX_CELLS.
 */
#include "view/map/cells.h"

#include "base/bytes.h"
#include "view/chunkfacts.h"

#define MAX_CELLS 1024
#define MAX_LOOKS 16384
#define GRID_WIDTH 896		/* pixels */
#define MAX_CELL_SIZE 48

/* ---- layout ---------------------------------------------------------- */

/* Four times as wide as high, as far as cells stay in their bounds. */
static unsigned count_columns(unsigned n_cells)
{
	unsigned n = 1;

	while (n * n < 4 * n_cells)
		n++;
	return n < 8 ? 8 : n > 64 ? 64 : n;
}

struct bfs_grid bfs_map_grid(uint64_t n_chunks)
{
	struct bfs_grid l = { .n_chunks = n_chunks };

	l.per_cell = bfs_max(1, bfs_div_up(n_chunks, MAX_CELLS));
	l.n_cells = (unsigned)bfs_div_up(n_chunks, l.per_cell);
	l.n_columns = count_columns(l.n_cells);
	l.n_rows = (unsigned)bfs_div_up(l.n_cells, l.n_columns);
	l.size = (unsigned)bfs_min(MAX_CELL_SIZE, GRID_WIDTH / l.n_columns);
	l.height = MAP_TOP + l.n_rows * l.size + 20;
	return l;
}

/* ---- looking at chunks ----------------------------------------------- */

static enum bfs_paint kind_of(const struct bfs_chunk_facts *facts)
{
	if (facts->status == BFS_DAMAGED)
		return MAP_DAMAGED;
	if (facts->status == BFS_UNSUPPORTED)
		return MAP_UNSUPPORTED;
	if (bfs_special_name(facts->kind))
		return MAP_SPECIAL;
	return facts->kind == BFS_CHUNK_RAW ? MAP_STORED : MAP_RATIOS - 1;
}

static void add_chunk(struct bfs_seen *sum, const struct bfs_chunk_facts *facts)
{
	enum bfs_paint kind = kind_of(facts);

	sum->n_looked++;
	sum->n[kind]++;
	if (facts->has_head && kind != MAP_SPECIAL && kind != MAP_DAMAGED) {
		sum->nbytes += facts->head.nbytes;
		sum->cbytes += facts->head.cbytes;
	}
}

void bfs_map_add(struct bfs_seen *sum, const struct bfs_seen *other)
{
	sum->n_looked += other->n_looked;
	for (size_t i = 0; i < MAP_PAINTS; i++)
		sum->n[i] += other->n[i];
	sum->nbytes += other->nbytes;
	sum->cbytes += other->cbytes;
}

enum bfs_err bfs_map_look(struct bfs_container *container,
			  const struct bfs_grid *l, unsigned cell,
			  struct bfs_seen *ret_sum, struct bfs_diag *diag)
{
	uint64_t first = cell * l->per_cell;
	uint64_t n = bfs_min(l->per_cell, l->n_chunks - first);
	uint64_t n_looks = bfs_min(n, MAX_LOOKS / l->n_cells);
	struct bfs_seen sum = { 0 };

	for (uint64_t i = 0; i < n_looks; i++) {
		uint64_t at = i * (n / n_looks) +
			      i * (n % n_looks) / n_looks;
		struct bfs_chunk_facts facts;

		BFS_TRY(bfs_chunk_find_facts(container, first + at, &facts,
					     diag));
		add_chunk(&sum, &facts);
	}
	*ret_sum = sum;
	return BFS_OK;
}

/* ---- what a cell is painted as --------------------------------------- */

/* From which ratio on, in hundredths, a cell is painted as which; the legend
 * (svg.c) says the same in words. */
static const unsigned ratios[MAP_RATIOS] = {
	0, 110, 150, 200, 400, 800, 1600, 6400
};

/* In hundredths; sums of 16384 sizes of 31 bits leave room for that. */
uint64_t bfs_map_ratio(const struct bfs_seen *sum)
{
	return sum->cbytes ? 100 * sum->nbytes / sum->cbytes : 0;
}

enum bfs_paint bfs_map_paint(const struct bfs_seen *sum)
{
	enum bfs_paint paint = MAP_RATIOS - 1;

	if (sum->n[MAP_DAMAGED])
		return MAP_DAMAGED;
	if (sum->n[MAP_UNSUPPORTED])
		return MAP_UNSUPPORTED;
	if (!sum->n[MAP_RATIOS - 1])
		return sum->n[MAP_STORED] ? MAP_STORED : MAP_SPECIAL;
	while (paint > 0 && bfs_map_ratio(sum) < ratios[paint])
		paint--;
	return paint;
}
