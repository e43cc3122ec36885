/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shuffle.c - undoing SHUFFLE: byte k of every element lies in plane k.
 *
 * With elements of w bytes, w planes of floor(len / w) bytes come in and
 * elements go out; what is left behind the last whole element is copied. A
 * block shorter than one element is copied whole.
 */
#include "filter/filter.h"

#include "filter/dense_x86.h"
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

static void copy_rest(const struct bfs_filter_job *job, size_t done)
{
	if (job->len > done)
		memcpy(job->dst + done, job->src + done, job->len - done);
}

static void undo_with(const struct bfs_filter_job *job,
		      void (*weave)(const struct bfs_planes *p))
{
	const size_t w = width(job), n = job->len / w;
	struct bfs_planes p = { job->src, n, n, w, job->dst, w };

	if (w > 1)
		weave(&p);
	copy_rest(job, w > 1 ? n * w : 0);
}

static void undo_scalar(const struct bfs_filter_job *job)
{
	undo_with(job, bfs_weave_scalar);
}

#ifdef BFS_X86

static const struct bfs_mixing plain;

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
		dense_avx2(*p, 2, plain);
		break;
	case 3:
		narrow_avx2(*p, 4);
		break;
	case 4:
		dense_avx2(*p, 4, plain);
		break;
	case 5:
	case 6:
	case 7:
		narrow_avx2(*p, 8);
		break;
	case 8:
		dense_avx2(*p, 8, plain);
		break;
	case 16:
		wide_avx2(*p);
		break;
	default:
		broad_avx2(*p);
	}
}

BFS_TARGET(BFS_AVX512)
void bfs_weave_avx512(const struct bfs_planes *p)
{
	if (p->n < 64) {
		bfs_weave_avx2(p);
		return;
	}
	switch (p->n_planes) {
	case 2:
		dense_avx512(*p, 2, plain);
		break;
	case 4:
		dense_avx512(*p, 4, plain);
		break;
	case 8:
		dense_avx512(*p, 8, plain);
		break;
	default:
		bfs_weave_avx2(p);
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

static void weave_any_avx512(const struct bfs_planes *p)
{
	weave_any(p, bfs_weave_avx512);
}

static void undo_sse2(const struct bfs_filter_job *job)
{
	undo_with(job, weave_any_sse2);
}

static void undo_avx2(const struct bfs_filter_job *job)
{
	undo_with(job, weave_any_avx2);
}

static void undo_avx512(const struct bfs_filter_job *job)
{
	undo_with(job, weave_any_avx512);
}

/* The three kinds that there are, so that the kernels know which. */
#define BFS_DEFINE_MIXED(name, isa, dense)                                   \
	BFS_TARGET(isa) BFS_SIMD_INLINE                                      \
	size_t name##_n(const struct bfs_planes *p,                          \
			const struct bfs_mixing *mix, unsigned n)            \
	{                                                                    \
		if (mix->sums)                                               \
			return dense(*p, n, (struct bfs_mixing){             \
				mix->planes, true, NULL });                  \
		if (mix->ref)                                                \
			return dense(*p, n, (struct bfs_mixing){             \
				mix->planes, false, mix->ref });             \
		return dense(*p, n, (struct bfs_mixing){                     \
			mix->planes, false, NULL });                         \
	}                                                                    \
									     \
	BFS_TARGET(isa)                                                      \
	static size_t name(const struct bfs_planes *p,                       \
			   const struct bfs_mixing *mix)                     \
	{                                                                    \
		switch (p->n_planes) {                                       \
		case 2:                                                      \
			return name##_n(p, mix, 2);                          \
		case 4:                                                      \
			return name##_n(p, mix, 4);                          \
		default:                                                     \
			return name##_n(p, mix, 8);                          \
		}                                                            \
	}

BFS_DEFINE_MIXED(mixed_avx2, "avx2", dense_avx2)
BFS_DEFINE_MIXED(mixed_avx512, BFS_AVX512, dense_avx512)

/* Elements of a step of those kernels, or 0 where there are none. */
static size_t mixed_step(size_t width)
{
	const enum bfs_cpu have = bfs_cpu_level();

	if (width != 2 && width != 4 && width != 8)
		return 0;
	if (bfs_cpu_allows(have, BFS_CPU_AVX512))
		return 64;
	return bfs_cpu_allows(have, BFS_CPU_AVX2) ? 32 : 0;
}

bool bfs_weave_mixed(const struct bfs_planes *p, const struct bfs_mixing *mix)
{
	const size_t w = p->n_planes, step = mixed_step(w);
	size_t i;

	if (step == 0 || p->n < step || (mix->sums && mix->ref))
		return false;
	i = step == 64 ? mixed_avx512(p, mix) : mixed_avx2(p, mix);
	/* Sums left over: some elements at the end. */
	for (; i < p->n; i++)
		for (size_t k = 0; k < w; k++) {
			const uint8_t *plane = mix->planes ? mix->planes[k] :
					       p->src + k * p->stride;

			p->dst[i * w + k] = (uint8_t)(
				plane[i] + p->dst[(i - 1) * w + k]);
		}
	return true;
}

#else

bool bfs_weave_mixed(const struct bfs_planes *p, const struct bfs_mixing *mix)
{
	(void)p;
	(void)mix;
	return false;
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
	.undo = {
		[BFS_CPU_SCALAR] = undo_scalar,
#ifdef BFS_X86
		[BFS_CPU_SSE2] = undo_sse2,
		[BFS_CPU_AVX2] = undo_avx2,
		[BFS_CPU_AVX512] = undo_avx512,
#endif
	},
	.undo_both = undo_both,
	.sample = { sample_src, sample_want, sizeof(sample_src), 4, 0 },
};
