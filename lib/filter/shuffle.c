/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shuffle.c - undoing SHUFFLE: byte k of every element lies in plane k.
 *
 * With elements of w bytes, w planes of floor(len / w) bytes come in and
 * elements go out; what is left behind the last whole element is copied. A
 * block shorter than one element is copied whole.
 */
#include "filter/filter.h"

#include "filter/shuffle.h"
#include "filter/shuffle_x86.h"

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

void bfs_weave_scalar(const struct bfs_planes *planes)
{
	const struct bfs_planes p = *planes;

	for (size_t i = 0; i < p.n; i++)
		for (size_t k = 0; k < p.n_planes; k++)
			p.dst[i * p.pitch + k] = p.src[k * p.stride + i];
}

static void undo_with(const struct bfs_filter_job *job,
		      void (*weave)(const struct bfs_planes *p))
{
	const size_t w = width(job), n = job->len / w;
	struct bfs_planes p = { job->src, n, n, w, job->dst, w };

	if (w > 1)
		weave(&p);
	else if (n)
		memcpy(job->dst, job->src, n);
	if (job->len > n * w)
		memcpy(job->dst + n * w, job->src + n * w, job->len - n * w);
}

static void undo_scalar(const struct bfs_filter_job *job)
{
	undo_with(job, bfs_weave_scalar);
}

#ifdef BFS_X86

BFS_TARGET("sse2")
void bfs_weave_sse2(const struct bfs_planes *p)
{
	if (p->n < 16) {
		bfs_weave_scalar(p);
		return;
	}
	switch (p->n_planes) {
	case 2:
		dense_sse2(*p, 2);
		break;
	case 4:
		dense_sse2(*p, 4);
		break;
	case 8:
		dense_sse2(*p, 8);
		break;
	case 16:
		wide_sse2(*p);
		break;
	default:
		odd_sse2(*p);
	}
}

BFS_TARGET("avx2")
void bfs_weave_avx2(const struct bfs_planes *p)
{
	if (p->n < 32) {
		bfs_weave_sse2(p);
		return;
	}
	switch (p->n_planes) {
	case 2:
		dense_avx2(*p, 2);
		break;
	case 3:
		narrow_avx2(*p, 4);
		break;
	case 4:
		dense_avx2(*p, 4);
		break;
	case 5:
	case 6:
	case 7:
		narrow_avx2(*p, 8);
		break;
	case 8:
		dense_avx2(*p, 8);
		break;
	case 16:
		wide_avx2(*p);
		break;
	default:
		broad_avx2(*p);
	}
}

/* Any width: the last group of sixteen planes does some of them again. */
static void weave_any(const struct bfs_planes *p,
		      void (*weave)(const struct bfs_planes *p))
{
	const size_t w = p->n_planes;

	if (w <= BFS_WEAVE_MAX) {
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

static void weave_any_sse2(const struct bfs_planes *p)
{
	weave_any(p, bfs_weave_sse2);
}

static void weave_any_avx2(const struct bfs_planes *p)
{
	weave_any(p, bfs_weave_avx2);
}

static void undo_sse2(const struct bfs_filter_job *job)
{
	undo_with(job, weave_any_sse2);
}

static void undo_avx2(const struct bfs_filter_job *job)
{
	undo_with(job, weave_any_avx2);
}

#endif

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
	.undo = {
		[BFS_CPU_SCALAR] = undo_scalar,
#ifdef BFS_X86
		[BFS_CPU_SSE2] = undo_sse2,
		[BFS_CPU_AVX2] = undo_avx2,
#endif
	},
	.sample = { sample_src, sample_want, sizeof(sample_src), 4, 0 },
};
