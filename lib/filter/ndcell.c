/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ndcell.c - undoing NDCELL: a block of an array, stored cell by cell, goes
 * back to C order.
 *
 * In: cells in C order of their places, each cropped at the block's edges,
 * with its items in C order. The side of a cell is the slot's meta, the same
 * in all dimensions. Out: the items, each at its own place.
 */
#include "filter/ndcell.h"

#include "base/bytes.h"

/* Length of the block by its shape; 0: it has none that is sound. */
static uint64_t shape_len(const struct bfs_filter_job *job)
{
	uint64_t len = job->frame_typesize;

	for (unsigned i = 0; i < job->ndim; i++)
		if (job->blockshape[i] < 1 ||
		    !bfs_mul(len, (uint64_t)job->blockshape[i], &len))
			return 0;
	return len;
}

enum bfs_err bfs_ndcell_check_shape(const struct bfs_filter_job *job,
				    const char *name, struct bfs_diag *diag)
{
	if (job->ndim == 0 || job->frame_typesize == 0)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"%s needs the array around the chunk", name);
	if (job->ndim > BFS_NDCELL_MAX_DIM)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"%s of %u dimensions", name, job->ndim);
	if (job->len == 0 || shape_len(job) != job->len)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"%s: the array's block shape does not make up "
				"%zu bytes", name, job->len);
	return BFS_OK;
}

/* Where the walk over the cells stands. */
struct cells {
	unsigned ndim;
	size_t step[BFS_NDCELL_MAX_DIM];	/* bytes to the next item */
	uint32_t origin[BFS_NDCELL_MAX_DIM];	/* of the cell, items */
	uint32_t extent[BFS_NDCELL_MAX_DIM];	/* of the cell, cropped */
};

/* Copies one cell's rows to where they belong in dst; returns what follows
 * the cell in src. */
static const uint8_t *put_cell(const struct cells *c, const uint8_t *src,
			       uint8_t *dst)
{
	const unsigned last = c->ndim - 1;
	const size_t len = c->extent[last] * c->step[last];
	uint32_t at[BFS_NDCELL_MAX_DIM] = { 0 };
	size_t off = 0;
	unsigned i;

	for (i = 0; i <= last; i++)
		off += c->origin[i] * c->step[i];
	for (;;) {
		memcpy(dst + off, src, len);
		src += len;
		for (i = last; i > 0; i--) {
			off += c->step[i - 1];
			if (++at[i - 1] < c->extent[i - 1])
				break;
			off -= c->extent[i - 1] * c->step[i - 1];
			at[i - 1] = 0;
		}
		if (i == 0)
			return src;
	}
}

/* Moves on to the next cell; false behind the last. */
static bool next_cell(struct cells *c, const struct bfs_filter_job *job,
		      const uint32_t *side)
{
	for (unsigned i = c->ndim; i-- > 0;) {
		if (side[i] < (uint32_t)job->blockshape[i] - c->origin[i]) {
			c->origin[i] += side[i];
			return true;
		}
		c->origin[i] = 0;
	}
	return false;
}

void bfs_ndcell_undo(const struct bfs_filter_job *job,
		     const uint32_t side[BFS_NDCELL_MAX_DIM])
{
	struct cells c = { .ndim = job->ndim };
	const uint8_t *src = job->src;
	size_t step = job->frame_typesize;

	if (shape_len(job) != job->len) {
		memcpy(job->dst, job->src, job->len);
		return;
	}
	for (unsigned i = c.ndim; i-- > 0;) {
		c.step[i] = step;
		step *= (size_t)job->blockshape[i];
	}
	do {
		for (unsigned i = 0; i < c.ndim; i++)
			c.extent[i] = (uint32_t)bfs_min(
					side[i], (uint32_t)job->blockshape[i] -
						 c.origin[i]);
		src = put_cell(&c, src, job->dst);
	} while (next_cell(&c, job, side));
}

static enum bfs_err check(const struct bfs_filter_job *job,
			  struct bfs_diag *diag)
{
	uint64_t n_items, cell = 1;

	BFS_TRY(bfs_ndcell_check_shape(job, "ndcell", diag));
	n_items = job->len / job->frame_typesize;
	for (unsigned i = 0; i < job->ndim && cell <= n_items; i++)
		cell *= job->meta;	/* below 2^40: n_items is below 2^32 */
	if (cell == 0 || cell > n_items)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"ndcell: cells of side %u in a block of %zu "
				"bytes", job->meta, job->len);
	return BFS_OK;
}

static void undo_scalar(const struct bfs_filter_job *job)
{
	uint32_t side[BFS_NDCELL_MAX_DIM];

	for (unsigned i = 0; i < BFS_NDCELL_MAX_DIM; i++)
		side[i] = job->meta;
	bfs_ndcell_undo(job, side);
}

/* 3 x 5 items of a byte in cells of 2 x 2: four of them are cropped. */
static const uint8_t sample_src[] = "abfgcdhiejklmno";
static const uint8_t sample_want[] = "abcdefghijklmno";
static const int32_t sample_shape[] = { 3, 5 };

const struct bfs_filter bfs_filter_ndcell = {
	.name = "ndcell",
	.id = 32,
	.check = check,
	.undo = { [BFS_CPU_SCALAR] = undo_scalar },
	.sample = {
		.src = sample_src,
		.want = sample_want,
		.len = sizeof(sample_want) - 1,
		.typesize = 1,
		.meta = 2,
	},
	.sample_ndim = 2,
	.sample_shape = sample_shape,
};
