/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * holes.c - runs of zero and uninitialised entries of an index.
 *
 * An index that repeats one entry is one run, however many there are; others
 * go through a window of a few hundred entries. Nothing but the index is
 * decoded.
 */
#include "view/holes.h"

#include "container/kind.h"
#include "base/bytes.h"
#include "container/index.h"

/* A walk through the index: n is the next entry to look at. */
struct walk {
	struct bfs_container *container;
	uint64_t n;
	uint64_t from, end;		/* entries of the window */
	bool same, damaged;
	uint8_t window[BFS_INDEX_WINDOW];
};

static bool reads_as_zeros(const struct walk *w, uint64_t n)
{
	struct bfs_span span = { 0 };
	const uint8_t *p = w->window + (w->same ? 0 : 8 * (n - w->from));

	/* In an expression or a proxy such an entry stands for a chunk that
	 * was never made or fetched. */
	return !w->damaged && !w->container->no_blank &&
	       bfs_index_decode((int64_t)bfs_le64(p), &span, NULL) == BFS_OK &&
	       bfs_kind_is_blank(span.special);
}

static enum bfs_err fill(struct walk *w)
{
	uint64_t most = w->container->n_chunks - w->n, len;
	enum bfs_err err;

	if (w->n < w->end)
		return BFS_OK;
	err = bfs_index_window(w->container->index, w->n, most, w->window, &len,
			       &w->same, NULL);
	if (bfs_err_passes(err))
		return err;
	w->damaged = err != BFS_OK;
	if (w->damaged)
		len = bfs_min(most,
			      bfs_index_next_block(w->container->index, w->n) -
				      w->n);
	w->from = w->n;
	w->end = w->n + len;
	return BFS_OK;
}

/* One run inside the window; n (< n_chunks) moves behind it. */
static enum bfs_err next_run(struct walk *w, bool *ret_zero)
{
	bool zero;

	BFS_TRY(fill(w));
	zero = reads_as_zeros(w, w->n);
	do
		w->n = w->same || w->damaged ? w->end : w->n + 1;
	while (w->n < w->end && reads_as_zeros(w, w->n) == zero);
	*ret_zero = zero;
	return BFS_OK;
}

/* Bytes of chunks [from, to) where sizes can be known, else 0. */
static enum bfs_err measure(struct bfs_container *f, uint64_t from, uint64_t to,
			    uint64_t *ret_len)
{
	uint64_t begin, end;
	enum bfs_err err = bfs_container_chunk_off(f, from, &begin, NULL);

	if (err == BFS_OK)
		err = bfs_container_chunk_off(f, to, &end, NULL);
	*ret_len = err == BFS_OK ? end - begin : 0;
	return bfs_err_passes(err) ? err : BFS_OK;
}

enum bfs_err bfs_holes_count(const struct bfs_array *array, uint64_t *ret_len)
{
	struct bfs_container *f = array->container;
	struct walk w = { .container = f };
	uint64_t holes = 0, n_holes = 0, n_looked = 0;

	while (f->index && w.n < f->n_chunks && n_looked < BFS_HOLES_LOOKED) {
		uint64_t from = w.n, len = 0;
		bool zero;

		BFS_TRY(next_run(&w, &zero));
		n_looked += w.same ? 1 : w.n - from;
		if (!zero)
			continue;
		BFS_TRY(measure(f, from, w.n, &len));
		holes += len;
		n_holes += w.n - from;
	}
	if (array->has_nd)
		holes = n_holes == f->n_chunks ? UINT64_MAX : 0;
	*ret_len = holes;
	return BFS_OK;
}

void bfs_holes_run(struct bfs_container *f, uint64_t n, bool *ret_hole,
		   uint64_t *ret_end)
{
	struct walk w = { .container = f, .n = n };
	bool first = false, zero;
	uint64_t end = n;

	while (f->index && w.n < f->n_chunks && w.n - n < BFS_HOLES_LOOKED) {
		if (next_run(&w, &zero) != BFS_OK)
			break;
		if (end == n)
			first = zero;
		else if (zero != first)
			break;
		end = w.n;
	}
	*ret_hole = first;
	/* Where no entry could be read all of it counts as data. */
	*ret_end = end > n ? end : f->n_chunks;
}

enum bfs_err bfs_holes_between(struct bfs_container *f, size_t max,
			       struct bfs_chunk_run *ret_runs, size_t *ret_n)
{
	struct walk w = { .container = f };
	uint64_t n_looked = 0, from = 0;
	size_t n = 0;
	bool zero;

	while (f->index && w.n < f->n_chunks && n_looked < BFS_HOLES_LOOKED) {
		from = w.n;
		BFS_TRY(next_run(&w, &zero));
		n_looked += w.same ? 1 : w.n - from;
		if (zero)
			continue;
		/* A run goes on in the next window. */
		if (n && ret_runs[n - 1].end == from) {
			ret_runs[n - 1].end = w.n;
			continue;
		}
		if (n == max) {
			ret_runs[n - 1].end = w.n = f->n_chunks;
			break;
		}
		ret_runs[n++] = (struct bfs_chunk_run){ from, w.n };
	}
	if (w.n < f->n_chunks && n && (n == max || ret_runs[n - 1].end == w.n))
		ret_runs[n - 1].end = f->n_chunks;
	else if (w.n < f->n_chunks)
		ret_runs[n++] = (struct bfs_chunk_run){ w.n, f->n_chunks };
	*ret_n = n;
	return BFS_OK;
}
