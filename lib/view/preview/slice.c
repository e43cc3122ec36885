/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slice.c - the slice in the middle of an array.
 *
 * Blocks are gone through one after another, so that none is decoded twice
 * however small the cache is.
 */
#include "view/preview/slice.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "view/preview/number.h"

#define BUF_LEN 65536		/* bytes read in one go */
#define GAP_LEN 512		/* bytes between items read in one go */

static const struct bfs_stream data_stream = { BFS_STREAM_DATA, 0 };

/* A walk over the slice: `in` is the dimension whose items lie closer. */
struct walk {
	struct bfs_file *file;
	const struct bfs_preview_plan *plan;
	const struct bfs_preview_axis *in, *out;
	size_t in_step, out_step;	/* between places that are seen */
	struct bfs_preview_seen *seen;
	uint64_t bad_block;		/* without tiles: one that failed */
	uint8_t buf[BUF_LEN];
};

/* The place in the middle of the i-th of `of` equal parts of n. */
static uint64_t middle_of(uint64_t n, unsigned i, unsigned of)
{
	uint64_t step = n / (2 * of), rest = n % (2 * of);

	return (2 * i + 1) * step + (2 * i + 1) * rest / (2 * of);
}

/* Places from `first` to before `last`, of each dimension. */
struct span {
	unsigned first, last;
};

static uint64_t place(const struct bfs_preview_axis *axis, unsigned i)
{
	return middle_of(axis->n, i, axis->n_seen);
}

static uint64_t off_of(const struct walk *w, unsigned out, unsigned in)
{
	return w->plan->base + place(w->out, out) * w->out->stride +
	       place(w->in, in) * w->in->stride;
}

/* The block of joined chunks at off. */
static uint64_t joined_block(const struct bfs_preview_plan *plan, uint64_t off)
{
	return off / plan->chunk_len *
		       bfs_div_up(plan->chunk_len, plan->block_len) +
	       off % plan->chunk_len / plan->block_len;
}

static void set_bad(struct walk *w, struct span out, struct span in)
{
	for (unsigned o = out.first; o < out.last; o++)
		for (unsigned i = in.first; i < in.last; i++)
			w->seen->bad[o * w->out_step + i * w->in_step] = 1;
}

static void take(struct walk *w, unsigned out, unsigned in,
		 const uint8_t *item)
{
	const struct bfs_preview_plan *plan = w->plan;
	size_t at = out * w->out_step + in * w->in_step;

	for (unsigned c = 0; c < plan->channels; c++)
		w->seen->value[at * plan->channels + c] = bfs_preview_number(
			&plan->plain, item + c * plan->plain.size);
}

/* The end of those places from `in` on that are read together. */
static unsigned find_run(const struct walk *w, unsigned out, struct span in)
{
	uint64_t item = (uint64_t)w->plan->channels * w->plan->plain.size;
	uint64_t first = off_of(w, out, in.first), off = first;
	unsigned n = in.first + 1;

	for (; n < in.last; n++) {
		uint64_t next = off_of(w, out, n);

		if (next - off > GAP_LEN || next + item - first > BUF_LEN ||
		    (!w->in->chunk && joined_block(w->plan, next) !=
					      joined_block(w->plan, first)))
			break;
		off = next;
	}
	return n;
}

static enum bfs_err read_run(struct walk *w, unsigned out, struct span in,
			     struct bfs_diag *diag)
{
	uint64_t item = (uint64_t)w->plan->channels * w->plan->plain.size;
	uint64_t first = off_of(w, out, in.first);
	uint64_t len = off_of(w, out, in.last - 1) + item - first;

	BFS_TRY(bfs_array_sample(w->file->array, &data_stream, first, w->buf,
				 (size_t)len, diag));
	for (unsigned i = in.first; i < in.last; i++)
		take(w, out, i, w->buf + (off_of(w, out, i) - first));
	return BFS_OK;
}

/* Places in one block of a tiled array, or all of them. */
static enum bfs_err read_group(struct walk *w, struct span out, struct span in,
			       struct bfs_diag *diag)
{
	for (unsigned o = out.first; o < out.last; o++) {
		struct span run = in;

		for (; run.first < in.last; run.first = run.last) {
			uint64_t block = joined_block(
				w->plan, off_of(w, o, run.first));
			enum bfs_err err = BFS_ERR_CORRUPT;

			run.last = in.last;
			run.last = find_run(w, o, run);
			if (w->in->chunk || block != w->bad_block)
				err = read_run(w, o, run, diag);
			if (bfs_err_passes(err))
				return err;
			if (err == BFS_OK)
				continue;
			if (w->in->chunk) {
				set_bad(w, (struct span){ o, out.last }, in);
				return BFS_OK;
			}
			w->bad_block = block;
			set_bad(w, (struct span){ o, o + 1 }, run);
		}
	}
	return BFS_OK;
}

/* The end of the places from `first` on that lie in one block. */
static unsigned find_group(const struct bfs_preview_axis *axis, unsigned first)
{
	uint64_t block = bfs_preview_block(axis, place(axis, first));
	unsigned last = first + 1;

	while (last < axis->n_seen &&
	       bfs_preview_block(axis, place(axis, last)) == block)
		last++;
	return last;
}

static enum bfs_err walk_slice(struct walk *w, struct bfs_diag *diag)
{
	struct span out = { 0, 0 }, in;

	for (; out.first < w->out->n_seen; out.first = out.last) {
		out.last = find_group(w->out, out.first);
		for (in.first = 0; in.first < w->in->n_seen;
		     in.first = in.last) {
			in.last = find_group(w->in, in.first);
			BFS_TRY(read_group(w, out, in, diag));
		}
	}
	return BFS_OK;
}

enum bfs_err bfs_slice_look(struct bfs_file *file,
			    const struct bfs_preview_plan *plan,
			    struct bfs_preview_seen *seen,
			    struct bfs_diag *diag)
{
	bool x_first = plan->x.stride < plan->y.stride;
	struct walk *w = bfs_zalloc(1, sizeof(*w));
	enum bfs_err err;

	if (!w)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a preview");
	w->file = file;
	w->plan = plan;
	w->seen = seen;
	w->bad_block = UINT64_MAX;
	w->in = x_first ? &plan->x : &plan->y;
	w->out = x_first ? &plan->y : &plan->x;
	w->in_step = x_first ? 1 : plan->x.n_seen;
	w->out_step = x_first ? plan->x.n_seen : 1;
	err = walk_slice(w, diag);
	bfs_free(w);
	return err;
}
