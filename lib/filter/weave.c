/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weave.c - planes of bytes become elements, by the best kernel for
 * their number at each level; and the same with more done on the way.
 */
#include "filter/weave.h"

#include "base/cpu.h"
#include "filter/dense_x86.h"
#include "filter/weave_neon.h"
#include "filter/weave_x86.h"

void bfs_weave_scalar(const struct bfs_planes *planes)
{
	const struct bfs_planes p = *planes;

	for (size_t i = 0; i < p.n; i++)
		for (size_t k = 0; k < p.n_planes; k++)
			p.dst[i * p.pitch + k] = p.src[k * p.stride + i];
}

#ifdef BFS_VECTORS
static const struct bfs_mixing plain;
#endif

#ifdef BFS_ARM64
void bfs_weave_neon(const struct bfs_planes *p)
{
	if (p->n < dense_step_neon(p->n_planes)) {
		bfs_weave_scalar(p);
		return;
	}
	switch (p->n_planes) {
	case 2:
		dense_neon(*p, 2, plain);
		break;
	case 3:
		thirds_neon(*p, 1);
		break;
	case 4:
		dense_neon(*p, 4, plain);
		break;
	case 6:
		thirds_neon(*p, 2);
		break;
	case 8:
		dense_neon(*p, 8, plain);
		break;
	case 12:
		thirds_neon(*p, 4);
		break;
	case 16:
		wide_neon(*p);
		break;
	default:
		odd_neon(*p);
	}
}
#endif

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

#endif

#ifdef BFS_VECTORS

/* Sums, XOR with a reference, or nothing more: a kernel is compiled for each,
 * as the constants below tell the compiler which of them it is. */
#define BFS_DEFINE_MIXED(name, target, dense)                                \
	target BFS_SIMD_INLINE                                               \
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
	target                                                               \
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

/* The widest of those kernels, and how many elements it needs. */
struct mixer {
	size_t step;
	size_t (*weave)(const struct bfs_planes *p,
			const struct bfs_mixing *mix);
};

#ifdef BFS_ARM64

BFS_DEFINE_MIXED(mixed_neon, , dense_neon)

static const struct mixer *find_mixer(enum bfs_cpu have)
{
	static const struct mixer neon = { 32, mixed_neon };

	return bfs_cpu_allows(have, BFS_CPU_NEON) ? &neon : NULL;
}

#else

BFS_DEFINE_MIXED(mixed_avx2, BFS_TARGET("avx2"), dense_avx2)
BFS_DEFINE_MIXED(mixed_avx512, BFS_TARGET(BFS_AVX512), dense_avx512)

static const struct mixer *find_mixer(enum bfs_cpu have)
{
	static const struct mixer avx2 = { 32, mixed_avx2 };
	static const struct mixer avx512 = { 64, mixed_avx512 };

	if (bfs_cpu_allows(have, BFS_CPU_AVX512))
		return &avx512;
	return bfs_cpu_allows(have, BFS_CPU_AVX2) ? &avx2 : NULL;
}

#endif

bool bfs_weave_mixed(const struct bfs_planes *p, const struct bfs_mixing *mix)
{
	const struct mixer *mixer = find_mixer(bfs_cpu_level());
	const size_t w = p->n_planes;
	size_t i;

	if (!mixer || p->n < mixer->step || (mix->sums && mix->ref) ||
	    (w != 2 && w != 4 && w != 8))
		return false;
	i = mixer->weave(p, mix);
	/* With sums the kernel stops at its last whole step. */
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
