/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_filter.c - one block through any filter: each level of the CPU gives
 * what scalar code gives, and two filters at once what they give in turn.
 *
 * Ten bytes say which filters and how, then come the block and, for delta, its
 * reference. All buffers are of exactly their size.
 */
#include "filter/filter.h"
#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define HEAD 10

static void *copy_of(const void *p, size_t len)
{
	void *copy = malloc(len ? len : 1);

	if (!copy)
		abort();
	if (len)
		memcpy(copy, p, len);
	return copy;
}

static uint8_t *fresh(size_t len, uint8_t fill)
{
	uint8_t *p = malloc(len ? len : 1);

	if (!p)
		abort();
	memset(p, fill, len);
	return p;
}

static bool takes(const struct bfs_filter *filter, struct bfs_filter_job job)
{
	job.src = job.dst = NULL;
	return !filter->check || filter->check(&job, NULL) == BFS_OK;
}

static uint8_t *undo_slowly(const struct bfs_filter *filter,
			    struct bfs_filter_job job)
{
	job.dst = fresh(job.len, 0);
	filter->undo[BFS_CPU_SCALAR](&job);
	return job.dst;
}

static void expect(const uint8_t *got, const uint8_t *want, size_t len)
{
	if (len && memcmp(got, want, len) != 0)
		abort();
}

static void try_levels(const struct bfs_filter *filter,
		       struct bfs_filter_job job, const uint8_t *want)
{
	for (unsigned level = 0; level < BFS_N_CPUS; level++) {
		if (!filter->undo[level] ||
		    !bfs_cpu_allows(bfs_cpu_detect(), (enum bfs_cpu)level))
			continue;
		job.dst = fresh(job.len, 0xa5);
		filter->undo[level](&job);
		expect(job.dst, want, job.len);
		free(job.dst);
		if (!filter->in_place)
			continue;
		job.dst = copy_of(job.src, job.len);
		{
			struct bfs_filter_job same = job;

			same.src = job.dst;
			filter->undo[level](&same);
		}
		expect(job.dst, want, job.len);
		free(job.dst);
	}
}

static void try_both(const struct bfs_filter *first,
		     const struct bfs_filter *next, uint8_t next_meta,
		     struct bfs_filter_job job, const uint8_t *between)
{
	struct bfs_filter_job second = job;
	uint8_t *want;

	second.src = between;
	second.meta = next_meta;
	if (!first->undo_both || !takes(next, second))
		return;
	want = undo_slowly(next, second);
	job.dst = fresh(job.len, 0xa5);
	if (first->undo_both(&job, next, next_meta))
		expect(job.dst, want, job.len);
	free(job.dst);
	free(want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct bfs_filter *first, *next;
	struct bfs_filter_job job = { 0 };
	int32_t shape[4];
	uint8_t *src, *ref = NULL, *between;

	if (len < HEAD)
		return 0;
	first = bfs_filters[data[0] % bfs_n_filters];
	next = bfs_filters[data[1] % bfs_n_filters];
	job.typesize = data[2] + 1u;
	job.frame_typesize = data[3] & 1 ? job.typesize : data[3];
	job.meta = data[4];
	job.version = data[5] % 7;
	job.ndim = data[6] % 5;
	for (unsigned i = 0; i < 4; i++)
		shape[i] = data[6 + i] % 17;
	job.blockshape = shape;
	data += HEAD;
	len -= HEAD;
	if (first->needs_ref || next->needs_ref) {
		len /= 2;
		ref = copy_of(data + len, len);
	}
	src = copy_of(data, len);
	job.src = src;
	job.len = len;
	job.ref = ref;
	if (takes(first, job)) {
		between = undo_slowly(first, job);
		try_levels(first, job, between);
		try_both(first, next, job.version & 1 ? job.meta : 0, job,
			 between);
		free(between);
	}
	free(src);
	free(ref);
	return 0;
}
