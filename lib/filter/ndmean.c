/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ndmean.c - undoing NDMEAN: the cells' order of NDCELL, with cells no wider
 * than the block.
 *
 * The writer put the mean of a cell in place of each of its items. That loss
 * is final; what is undone is the order alone.
 */
#include "filter/ndcell.h"

#include "base/bytes.h"

#include <inttypes.h>

/* The library that writes this takes the first dimension's side for all of
 * them when it goes from cell to cell. Where they differ, nobody can say
 * which order a block has. */
static bool is_ambiguous(const struct bfs_filter_job *job)
{
	if (job->blockshape[0] >= job->meta)
		return false;
	for (unsigned i = 1; i < job->ndim; i++)
		if (job->blockshape[i] > job->meta)
			return true;
	return false;
}

static enum bfs_err check(const struct bfs_filter_job *job,
			  struct bfs_diag *diag)
{
	BFS_TRY(bfs_ndcell_check_shape(job, "ndmean", diag));
	if (job->meta < 1 || job->meta > INT8_MAX)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"ndmean: cells of side %d",
				job->meta < 128 ? job->meta : job->meta - 256);
	if (is_ambiguous(job))
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"ndmean: cells of side %u in blocks of %" PRId32
				" along the first dimension", job->meta,
				job->blockshape[0]);
	return BFS_OK;
}

static void undo_scalar(const struct bfs_filter_job *job)
{
	uint32_t side[BFS_NDCELL_MAX_DIM] = { 0 };

	for (unsigned i = 0; i < job->ndim; i++)
		side[i] = (uint32_t)bfs_min(job->meta,
					    (uint32_t)job->blockshape[i]);
	bfs_ndcell_undo(job, side);
}

/* 2 x 3 items of four bytes in cells of side 2, of which the second is cut to
 * 2 x 1. */
static const uint8_t sample_src[] = "mean" "mean" "mean" "mean" "last" "last";
static const uint8_t sample_want[] = "mean" "mean" "last" "mean" "mean" "last";
static const int32_t sample_shape[] = { 2, 3 };

const struct bfs_filter bfs_filter_ndmean = {
	.name = "ndmean",
	.id = 33,
	.check = check,
	.undo = { [BFS_CPU_SCALAR] = undo_scalar },
	.sample = {
		.src = sample_src,
		.want = sample_want,
		.len = sizeof(sample_want) - 1,
		.typesize = 4,
		.meta = 2,
	},
	.sample_ndim = 2,
	.sample_shape = sample_shape,
};
