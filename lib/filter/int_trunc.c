/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * int_trunc.c - INT_TRUNC: the writer cleared low bits of integers.
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

const struct bfs_filter bfs_filter_int_trunc = {
	.name = "int_trunc",
	.id = 36,
	.identity = true,
	.in_place = true,
	.undo = { [BFS_CPU_SCALAR] = undo_scalar },
	.sample = { sample, sample, sizeof(sample), 4, 8 },
};
