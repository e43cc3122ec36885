/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * curve.c - the least and the greatest item of each column.
 *
 * All blocks are read where the budget allows it; else some of each column, as
 * far apart as may be.
 */
#include "view/preview/curve.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "view/preview/number.h"

#include <math.h>

#define BUF_LEN 65536		/* bytes read in one go */

static const struct bfs_stream data_stream = { BFS_STREAM_DATA, 0 };

/* A column in the making. */
struct column {
	double least, greatest;
	bool bad;
};

/* Where column i begins; i may be the number of columns. */
static uint64_t column_at(const struct bfs_preview_plan *plan, unsigned i)
{
	uint64_t n = plan->x.n, of = plan->x.n_seen;

	return n / of * i + n % of * i / of;
}

/* The first item behind the block that item `at` begins in. */
static uint64_t block_end(const struct bfs_preview_plan *plan, uint64_t at)
{
	const struct bfs_preview_axis *x = &plan->x;
	uint64_t unit = x->chunk ? 1 : plan->plain.size;
	uint64_t chunk = x->chunk ? x->chunk : plan->chunk_len;
	uint64_t block = x->chunk ? x->block : plan->block_len;
	uint64_t in_chunk = at * unit % chunk;
	uint64_t left = bfs_min(block - in_chunk % block, chunk - in_chunk);

	return bfs_min(x->n, at + bfs_div_up(left, unit));
}

static uint64_t count_blocks(const struct bfs_preview_plan *plan)
{
	const struct bfs_preview_axis *x = &plan->x;

	if (!x->chunk)
		return plan->plain.len / plan->block_len + 2;
	return bfs_div_up(x->n, x->chunk) * bfs_div_up(x->chunk, x->block);
}

static void take(const struct bfs_plain *plain, const uint8_t *buf, size_t n,
		 struct column *column)
{
	for (size_t i = 0; i < n; i++) {
		double v = bfs_preview_number(plain, buf + i * plain->size);

		if (!(v >= column->least))	/* which may be NaN */
			column->least = isnan(v) ? column->least : v;
		if (!(v <= column->greatest))
			column->greatest = isnan(v) ? column->greatest : v;
	}
}

/* Items from `at` to before `end`, all in one block. */
static enum bfs_err read_items(struct bfs_file *file,
			       const struct bfs_plain *plain, uint8_t *buf,
			       uint64_t at, uint64_t end,
			       struct column *column, struct bfs_diag *diag)
{
	while (at < end) {
		uint64_t n = bfs_min(end - at, BUF_LEN / plain->size);
		enum bfs_err err =
			bfs_array_sample(file->array, &data_stream,
					 at * plain->size, buf,
					 (size_t)(n * plain->size), diag);

		if (bfs_err_passes(err))
			return err;
		if (err != BFS_OK) {
			column->bad = true;
			return BFS_OK;
		}
		take(plain, buf, (size_t)n, column);
		at += n;
	}
	return BFS_OK;
}

/* At most n_blocks of a column. */
static enum bfs_err read_column(struct bfs_file *file,
				const struct bfs_preview_plan *plan,
				uint8_t *buf, unsigned i, uint64_t n_blocks,
				struct column *column, struct bfs_diag *diag)
{
	uint64_t first = column_at(plan, i), last = column_at(plan, i + 1);
	uint64_t at = first, step = (last - first) / n_blocks;

	for (uint64_t n = 1; at < last && n <= n_blocks; n++) {
		uint64_t end = bfs_min(last, block_end(plan, at));

		BFS_TRY(read_items(file, &plan->plain, buf, at, end, column,
				   diag));
		at = bfs_max(end, first + n * step);
	}
	return BFS_OK;
}

enum bfs_err bfs_curve_look(struct bfs_file *file,
			    struct bfs_preview_plan *plan,
			    struct bfs_preview_seen *seen,
			    struct bfs_diag *diag)
{
	uint64_t most = bfs_min(BFS_PREVIEW_DECODED / plan->block_len,
				BFS_PREVIEW_BLOCKS);
	BFS_CLEANUP(bfs_freep) uint8_t *buf = bfs_alloc(BUF_LEN);
	uint64_t n_blocks = UINT64_MAX;

	if (!buf)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a preview");
	if (count_blocks(plan) > most) {
		plan->x.n_seen = (unsigned)bfs_min(plan->x.n_seen, most);
		n_blocks = most / plan->x.n_seen;
	}
	for (unsigned i = 0; i < plan->x.n_seen; i++) {
		struct column column = { (double)NAN, (double)NAN, false };

		BFS_TRY(read_column(file, plan, buf, i, n_blocks, &column,
				    diag));
		seen->value[2 * i] = column.least;
		seen->value[2 * i + 1] = column.greatest;
		seen->bad[i] = column.bad;
	}
	return BFS_OK;
}
