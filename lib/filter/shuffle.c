/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shuffle.c - undoing SHUFFLE: byte k of every element lies in plane k.
 *
 * With elements of w bytes, w planes of floor(len / w) bytes come in and
 * elements go out; what is left behind the last whole element is copied. A
 * block shorter than one element is copied whole.
 */
#include "filter/filter.h"

#include "filter/weave.h"

#include <string.h>

/* Wide elements are woven sixteen planes at a time; this many elements stay
 * in the first cache level meanwhile. */
#define RUN 64

static size_t width(const struct bfs_filter_job *job)
{
	return job->meta ? job->meta : job->typesize;
}

static enum bfs_err check(const struct bfs_filter_job *job,
			  struct bfs_diag *diag)
{
	if (width(job) == 0)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"shuffle of elements of 0 bytes");
	return BFS_OK;
}

static void copy_rest(const struct bfs_filter_job *job, size_t done)
{
	if (job->len > done)
		memcpy(job->dst + done, job->src + done, job->len - done);
}

/* Any width: the last group of sixteen planes does some of them again. */
static void weave_any(const struct bfs_planes *p,
		      void (*weave)(const struct bfs_planes *p))
{
	const size_t w = p->n_planes;

	if (w <= BFS_WEAVE_MAX || weave == bfs_weave_scalar) {
		weave(p);
		return;
	}
	for (size_t i = 0; i < p->n; i += RUN) {
		size_t n = p->n - i < RUN ? p->n - i : RUN;

		for (size_t k = 0; k < w; k += BFS_WEAVE_MAX) {
			if (k + BFS_WEAVE_MAX > w)
				k = w - BFS_WEAVE_MAX;
			weave(&(struct bfs_planes){
				p->src + k * p->stride + i, p->stride, n,
				BFS_WEAVE_MAX, p->dst + i * w + k, w });
		}
	}
}

static void undo_with(const struct bfs_filter_job *job,
		      void (*weave)(const struct bfs_planes *p))
{
	const size_t w = width(job), n = job->len / w;
	struct bfs_planes p = { job->src, n, n, w, job->dst, w };

	if (w > 1)
		weave_any(&p, weave);
	copy_rest(job, w > 1 ? n * w : 0);
}

static void undo_scalar(const struct bfs_filter_job *job)
{
	undo_with(job, bfs_weave_scalar);
}

#ifdef BFS_ARM64

static void undo_neon(const struct bfs_filter_job *job)
{
	undo_with(job, bfs_weave_neon);
}

#endif

#ifdef BFS_X86

static void undo_sse2(const struct bfs_filter_job *job)
{
	undo_with(job, bfs_weave_sse2);
}

static void undo_avx2(const struct bfs_filter_job *job)
{
	undo_with(job, bfs_weave_avx2);
}

static void undo_avx512(const struct bfs_filter_job *job)
{
	undo_with(job, bfs_weave_avx512);
}

#endif

/*
 * With DELTA, whose elements must be the same; or alone, of planes that lie
 * anywhere. Shuffled bytes are as they were before, so that there only delta
 * is left to do.
 */
static bool undo_both(const struct bfs_filter_job *job,
		      const struct bfs_filter *next, uint8_t next_meta)
{
	const size_t w = width(job), n = job->len / w;
	const struct bfs_planes p = { job->src, n, n, w, job->dst, w };
	const struct bfs_mixing mix = {
		job->planes, false, next ? job->ref : NULL
	};
	struct bfs_filter_job delta = *job;

	if (w != job->typesize || (next && next != &bfs_filter_delta))
		return false;
	if (next && w == 1) {
		delta.src = job->planes ? job->planes[0] : job->src;
		delta.planes = NULL;
		delta.meta = next_meta;
		bfs_filter_undo(next, &delta);
		return true;
	}
	if ((next ? !job->ref : !job->planes) || !bfs_weave_mixed(&p, &mix))
		return false;
	if (!job->planes)
		copy_rest(job, n * w);
	return true;
}

static const uint8_t sample_src[] = {
	0x10, 0x14, 0x18, 0x11, 0x15, 0x19, 0x12, 0x16, 0x1a, 0x13, 0x17,
	0x1b, 0x1c, 0x1d,
};
static const uint8_t sample_want[] = {
	0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a,
	0x1b, 0x1c, 0x1d,
};

const struct bfs_filter bfs_filter_shuffle = {
	.name = "shuffle",
	.id = 1,
	.check = check,
	.undo = BFS_UNDO_BY_LEVEL,
	.undo_both = undo_both,
	.sample = { sample_src, sample_want, sizeof(sample_src), 4, 0 },
};
