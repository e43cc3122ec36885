/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cells.c - where the cells of the map are, and what their chunks are like.
 *
 * Out of index and headers, and of at most MAX_LOOKS chunks: where there are
 * more, samples stand for them. A cell stands for one chunk, or for
 * neighbours where there are more than MAP_CELLS.
 */
#include "view/map/cells.h"

#include "base/bytes.h"
#include "view/chunkfacts.h"

#define MAX_LOOKS 16384
#define GRID_WIDTH 896		/* pixels */
#define GRID_HEIGHT 1200
#define TALL 6			/* slabs that are higher are cut into rows */
#define MAX_CELL_SIZE 48

/* ---- layout ---------------------------------------------------------- */

/* The grid of chunks of an array, where each has a cell. */
static void find_dims(const struct bfs_array *array, struct bfs_grid *l)
{
	const struct bfs_array_meta *meta = &array->container->array;
	uint64_t n = 1;

	if (!array->has_nd || meta->ndim > BFS_MAX_DIM)
		return;
	for (unsigned d = 0; d < meta->ndim; d++) {
		if (meta->shape[d] <= 0 || meta->chunkshape[d] <= 0)
			return;
		l->dims[d] = bfs_div_up((uint64_t)meta->shape[d],
					(uint64_t)meta->chunkshape[d]);
		if (!bfs_mul(n, l->dims[d], &n))
			return;
	}
	if (n != l->n_chunks || n > MAP_CELLS || meta->ndim < 2)
		return;
	l->n_dims = meta->ndim;
	l->slab_w = (unsigned)l->dims[meta->ndim - 1];
	l->slab_h = (unsigned)l->dims[meta->ndim - 2];
	if (l->slab_h > TALL * l->slab_w)
		l->slab_h = 1;
}

/* Pixels of all cells, where one has a hundred: to compare widths with
 * heights. */
static unsigned extent(unsigned n_slabs, unsigned cells, bool gaps)
{
	return n_slabs * (cells * 100 + (gaps ? 60 : 0));
}

/* About two and a half times as wide as high. */
static void arrange(struct bfs_grid *l)
{
	unsigned n_slabs = (unsigned)bfs_div_up(
		l->n_cells, (uint64_t)l->slab_w * l->slab_h);
	bool gaps = l->slab_w * l->slab_h > 1 && n_slabs > 1;
	unsigned w, h;

	l->n_columns = 1;
	for (;; l->n_columns++) {
		l->n_rows = (unsigned)bfs_div_up(n_slabs, l->n_columns);
		w = extent(l->n_columns, l->slab_w, gaps);
		h = extent(l->n_rows, l->slab_h, gaps);
		if (l->n_columns >= n_slabs || 2 * w >= 5 * h)
			break;
	}
	l->size = (unsigned)bfs_min(GRID_WIDTH * 100 / bfs_max(1, w),
				    GRID_HEIGHT * 100 / bfs_max(1, h));
	l->size = (unsigned)bfs_max(1, bfs_min(l->size, MAX_CELL_SIZE));
	l->gap = gaps ? (l->size * 60 + 99) / 100 : 0;
}

struct bfs_grid bfs_map_grid(const struct bfs_array *array)
{
	struct bfs_grid l = { .n_chunks = array->container->n_chunks,
			      .slab_w = 1, .slab_h = 1 };

	l.per_cell = bfs_max(1, bfs_div_up(l.n_chunks, MAP_CELLS));
	l.n_cells = (unsigned)bfs_div_up(l.n_chunks, l.per_cell);
	find_dims(array, &l);
	arrange(&l);
	l.height = MAP_TOP + l.n_rows * (l.slab_h * l.size + l.gap) + 20;
	return l;
}

void bfs_map_place(const struct bfs_grid *l, unsigned cell, unsigned *ret_x,
		   unsigned *ret_y)
{
	unsigned in_slab = l->slab_w * l->slab_h;
	unsigned slab = cell / in_slab, rest = cell % in_slab;

	*ret_x = MAP_LEFT + slab % l->n_columns *
				    (l->slab_w * l->size + l->gap) +
		 rest % l->slab_w * l->size;
	*ret_y = MAP_TOP + slab / l->n_columns *
				   (l->slab_h * l->size + l->gap) +
		 rest / l->slab_w * l->size;
}

/* ---- looking at chunks ----------------------------------------------- */

/* Of a chunk of which no fault was met. */
static enum bfs_paint kind_of(const struct bfs_chunk_facts *facts)
{
	if (facts->status == BFS_DAMAGED)
		return MAP_DAMAGED;
	if (facts->status == BFS_UNSUPPORTED)
		return MAP_UNSUPPORTED;
	switch (facts->kind) {
	case BFS_CHUNK_ZEROS:
		return MAP_ZEROS;
	case BFS_CHUNK_NAN:
		return MAP_NAN;
	case BFS_CHUNK_VALUE:
		return MAP_VALUE;
	case BFS_CHUNK_UNINIT:
		return MAP_UNINIT;
	case BFS_CHUNK_RAW:
		return MAP_STORED;
	case BFS_CHUNK_BLOCKS:
	case BFS_CHUNK_VLBLOCKS:
		break;
	}
	return MAP_RATIOS - 1;
}

/* fault: what was met of it, or NULL. A chunk that fails when it is decoded
 * keeps its part in the ratios: so no other cell changes with it. */
static void add_chunk(struct bfs_seen *sum, const struct bfs_chunk_facts *facts,
		      const struct bfs_fault *fault)
{
	enum bfs_paint kind = kind_of(facts);

	sum->n_looked++;
	if (!fault)
		sum->n[kind]++;
	sum->is_rated |= kind == MAP_RATIOS - 1;
	if (facts->stored && sum->n_looked == 1) {
		sum->off = facts->span.off;
		sum->has_off = true;
	}
	if (facts->has_head && kind != MAP_DAMAGED &&
	    !bfs_special_name(facts->kind)) {
		sum->nbytes += facts->head.nbytes;
		sum->cbytes += facts->head.cbytes;
	}
}

void bfs_map_add(struct bfs_seen *sum, const struct bfs_seen *other)
{
	sum->n_looked += other->n_looked;
	sum->n_met += other->n_met;
	for (size_t i = 0; i < MAP_PAINTS; i++)
		sum->n[i] += other->n[i];
	sum->nbytes += other->nbytes;
	sum->cbytes += other->cbytes;
}

static const struct bfs_fault *fault_of(const struct bfs_faults_known *known,
					uint64_t n)
{
	size_t at = bfs_faults_place(known->all, known->n, n);

	return at < known->n && known->all[at].id == n ? &known->all[at] : NULL;
}

/* The faults met of all chunks of a cell, looked at or not. */
static void add_faults(struct bfs_seen *sum,
		       const struct bfs_faults_known *known, uint64_t first,
		       uint64_t n)
{
	for (size_t i = bfs_faults_place(known->all, known->n, first);
	     i < known->n && known->all[i].id - first < n; i++) {
		bool lacks = known->all[i].err == BFS_ERR_UNSUPPORTED;

		sum->n[lacks ? MAP_UNSUPPORTED : MAP_DAMAGED]++;
		sum->n_met++;
	}
}

enum bfs_err bfs_map_look(struct bfs_container *container,
			  const struct bfs_faults_known *known,
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
		add_chunk(&sum, &facts, fault_of(known, first + at));
	}
	add_faults(&sum, known, first, n);
	*ret_sum = sum;
	return BFS_OK;
}

/* ---- what a cell is painted as --------------------------------------- */

/* In hundredths; sums of 16384 sizes of 31 bits leave room for that. */
uint64_t bfs_map_ratio(const struct bfs_seen *sum)
{
	return sum->cbytes ? 100 * sum->nbytes / sum->cbytes : 0;
}

/* Steps of equal factors between the least and the greatest; the root of so
 * many hundredths is found by halving. */
static uint64_t step_of(uint64_t least, uint64_t most, unsigned i, unsigned n)
{
	double low = (double)least, high = (double)most, wanted = 1, factor;

	/* (v / least) ^ n = (most / least) ^ i */
	for (unsigned k = 0; k < i; k++)
		wanted *= (double)most / (double)least;
	for (unsigned round = 0; round < 60; round++) {
		double v = (low + high) / 2, power = 1;

		factor = v / (double)least;
		for (unsigned k = 0; k < n; k++)
			power *= factor;
		if (power < wanted)
			low = v;
		else
			high = v;
	}
	return (uint64_t)(high + 0.5);
}

struct bfs_scale bfs_map_scale(const struct bfs_seen *seen, unsigned n)
{
	struct bfs_scale scale = { .least = UINT64_MAX };

	for (unsigned i = 0; i < n; i++) {
		uint64_t ratio = bfs_map_ratio(&seen[i]);

		if (!seen[i].is_rated || !ratio)
			continue;
		scale.least = bfs_min(scale.least, ratio);
		scale.most = bfs_max(scale.most, ratio);
	}
	if (!scale.most)
		return scale;
	for (unsigned i = 0; i < MAP_RATIOS; i++) {
		uint64_t from = step_of(scale.least, scale.most, i, MAP_RATIOS);

		if (!i || from > scale.from[scale.n - 1])
			scale.from[scale.n++] = from;
	}
	return scale;
}

enum bfs_paint bfs_map_paint(const struct bfs_seen *sum,
			     const struct bfs_scale *scale)
{
	unsigned i = scale->n;

	if (sum->n[MAP_DAMAGED])
		return MAP_DAMAGED;
	if (sum->n[MAP_UNSUPPORTED])
		return MAP_UNSUPPORTED;
	if (!sum->n[MAP_RATIOS - 1] || !scale->n) {
		for (i = MAP_STORED; i < MAP_UNINIT && !sum->n[i]; i++)
			;
		return (enum bfs_paint)i;
	}
	while (i > 1 && bfs_map_ratio(sum) < scale->from[i - 1])
		i--;
	/* A few steps are as far apart as eight are. */
	return (enum bfs_paint)(scale->n == 1 ? MAP_RATIOS / 2 :
				(i - 1) * (MAP_RATIOS - 1) / (scale->n - 1));
}
