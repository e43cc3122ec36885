/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listed.c - the keys of chunks that are no holes, as runs of numbers, at each
 * depth of folders.
 *
 * In: the index of a frame, which is looked through once, when a store is first
 * listed. Out: positions as numbers, by halving. Memory is bounded: where the
 * runs are too many, the rest is listed whole.
 */
#include "view/zarr/listed.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "view/holes.h"
#include "view/kept.h"

#define MAX_RUNS 4096

/* Entries that are listed, and how many of them come before. */
struct run {
	uint64_t first, end, before;
};

struct level {
	struct run *runs;		/* owned */
	size_t n;
};

/* What the view zarr3 keeps, on or not: levels[depth]. */
struct listed {
	struct level levels[BFS_ZARR_DIMS + 1];
};

void bfs_zarr_free_listed(void *state)
{
	struct listed *listed = state;

	for (unsigned d = 0; listed && d <= BFS_ZARR_DIMS; d++)
		bfs_free(listed->levels[d].runs);
	bfs_free(listed);
}

static void count_before(struct level *level)
{
	uint64_t before = 0;

	for (size_t i = 0; i < level->n; i++) {
		level->runs[i].before = before;
		before += level->runs[i].end - level->runs[i].first;
	}
}

static bool fill_deepest(struct level *level, const struct bfs_chunk_run *runs,
			 size_t n)
{
	level->runs = bfs_zalloc(n, sizeof(*level->runs));
	if (!level->runs)
		return false;
	for (size_t i = 0; i < n; i++)
		level->runs[i] = (struct run){ runs[i].first, runs[i].end, 0 };
	level->n = n;
	count_before(level);
	return true;
}

/* The folders of `width` entries each that those of the level below lie in. */
static bool fill_above(struct level *level, const struct level *below,
		       uint64_t width)
{
	level->runs = bfs_zalloc(below->n, sizeof(*level->runs));
	if (!level->runs)
		return false;
	for (size_t i = 0; i < below->n; i++) {
		uint64_t first = below->runs[i].first / width;
		uint64_t end = bfs_div_up(below->runs[i].end, width);

		if (level->n && first <= level->runs[level->n - 1].end)
			level->runs[level->n - 1].end = end;
		else
			level->runs[level->n++] = (struct run){ first, end, 0 };
	}
	count_before(level);
	return true;
}

static enum bfs_err find_listed(struct bfs_file *file, void **ret_state,
				struct bfs_diag *diag)
{
	struct bfs_container *container = file->array->container;
	BFS_CLEANUP(bfs_freep) struct bfs_chunk_run *runs = NULL;
	const struct bfs_zarr *z = bfs_zarr_get(file);
	struct listed *listed = bfs_zalloc(1, sizeof(*listed));
	enum bfs_err err = BFS_OK;
	size_t n = 0;
	bool fits;

	runs = bfs_zalloc(MAX_RUNS, sizeof(*runs));
	fits = z && runs && listed;
	if (fits)
		err = bfs_holes_between(container, MAX_RUNS, runs, &n);
	if (err == BFS_OK)
		err = bfs_source_check(container->source, diag);
	fits = fits && fill_deepest(&listed->levels[z->n], runs, n);
	for (unsigned d = z ? z->n : 0; fits && d-- > 0;)
		fits = fill_above(&listed->levels[d], &listed->levels[d + 1],
				  z->grid[d]);
	if (err == BFS_OK && !fits)
		err = bfs_fail(diag, BFS_ERR_NOMEM, 0,
			       "no memory for a list of chunks");
	if (err == BFS_OK)
		*ret_state = listed;
	else
		bfs_zarr_free_listed(listed);
	return err;
}

/* The first run that ends behind a number, or the first whose entries and
 * those before it are more than `count`. */
static size_t find_run(const struct level *level, uint64_t number,
		       uint64_t count)
{
	size_t lo = 0, hi = level->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct run *run = &level->runs[mid];

		if (run->end > number &&
		    run->before + (run->end - run->first) > count)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

bool bfs_zarr_listed(struct bfs_file *file, const struct bfs_zarr *z,
		     unsigned depth, uint64_t from, uint64_t end, uint64_t pos,
		     uint64_t *ret_number)
{
	const struct bfs_container *container = file->array->container;
	const struct level *level;
	const struct listed *listed;
	const void *state;
	uint64_t count, number;
	size_t i;

	if (!z->tiled || !container->index || container->no_blank) {
		*ret_number = from + pos;
		return pos < end - from;
	}
	/* Fails for the moment alone, which ends the listing with an error. */
	if (bfs_kept_state(file, BFS_ROW_zarr3, find_listed, &state, NULL))
		return false;
	listed = state;
	level = &listed->levels[depth];
	i = find_run(level, from, 0);
	if (i == level->n)
		return false;
	/* Those before `from`, and pos more. */
	count = level->runs[i].before;
	if (level->runs[i].first < from)
		count += from - level->runs[i].first;
	if (!bfs_add(count, pos, &count))
		return false;
	i = find_run(level, from, count);
	if (i == level->n)
		return false;
	number = level->runs[i].first + (count - level->runs[i].before);
	*ret_number = number;
	return number < end;
}
