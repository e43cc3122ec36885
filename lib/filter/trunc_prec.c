/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trunc_prec.c - TRUNC_PREC: the writer cleared low mantissa bits of floats.
 *
 * That loss is final: there is nothing to undo, the block is the data.
 */
#include "filter/filter.h"

#include <string.h>

static void undo_scalar(const struct bfs_filter_job *job)
{
	if (job->len > 0 && job->dst != job->src)
		memcpy(job->dst, job->src, job->len);
}

static const uint8_t sample[] = { 0x00, 0x00, 0x80, 0x3f };

const struct bfs_filter bfs_filter_trunc_prec = {
	.name = "trunc_prec",
	.id = 4,
	.identity = true,
	.in_place = true,
	.undo = { [BFS_CPU_SCALAR] = undo_scalar },
	.sample = { sample, sample, sizeof(sample), 4, 8 },
};
