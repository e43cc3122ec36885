/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dense_x86.h - weaving elements of 2, 4 or 8 bytes with AVX2 and AVX-512,
 * and what can be done to them on the way; included by shuffle.c and
 * bitshuffle.c.
 *
 * A step zips one vector of each plane. Lane l (128 bits) of vector v then
 * holds the 16 / n elements from 16 * l + 16 / n * v on, so the vectors of a
 * step are put in order lane by lane. On the way the bytes of each plane may
 * be summed up (bytedelta), or the elements XORed with those of a reference
 * (delta): either saves a pass over the whole block.
 */
#ifndef BFS_FILTER_DENSE_X86_H
#define BFS_FILTER_DENSE_X86_H

#include "filter/weave.h"
#include "filter/zip_x86.h"

#ifdef BFS_X86

/*
 * Running sums of elements of n bytes over the vectors of a step, before the
 * zip: sums of 16 / n bytes each, that is, of those elements that will share
 * a lane. Shifts inside wide integers do not compete with the zip's unpacks.
 */
#define BFS_DEFINE_GROUPS(name, isa, vector, op)                             \
	BFS_TARGET(isa) BFS_SIMD_INLINE vector name(vector x, unsigned n)    \
	{                                                                    \
		if (n == 8)                                                  \
			return op##_add_epi8(x, op##_slli_epi16(x, 8));      \
		if (n == 4) {                                                \
			x = op##_add_epi8(x, op##_slli_epi32(x, 8));         \
			return op##_add_epi8(x, op##_slli_epi32(x, 16));     \
		}                                                            \
		x = op##_add_epi8(x, op##_slli_epi64(x, 8));                 \
		x = op##_add_epi8(x, op##_slli_epi64(x, 16));                \
		return op##_add_epi8(x, op##_slli_epi64(x, 32));             \
	}

/* The last element of each lane, everywhere in it. */
#define BFS_DEFINE_LAST(name, isa, vector, op, shuffle_imm)                  \
	BFS_TARGET(isa) BFS_SIMD_INLINE vector name(vector x, unsigned n)    \
	{                                                                    \
		if (n == 8)                                                  \
			return op##_unpackhi_epi64(x, x);                    \
		if (n == 4)                                                  \
			return op##_shuffle_epi32(x, shuffle_imm);           \
		return op##_shuffle_epi8(x, op##_set1_epi16(0x0f0e));        \
	}

BFS_DEFINE_GROUPS(sum_groups_avx2, "avx2", __m256i, _mm256)
BFS_DEFINE_GROUPS(sum_groups_avx512, BFS_AVX512, __m512i, _mm512)
BFS_DEFINE_LAST(last_avx2, "avx2", __m256i, _mm256, 0xff)
BFS_DEFINE_LAST(last_avx512, BFS_AVX512, __m512i, _mm512,
		(_MM_PERM_ENUM)0xff)

/* Sums over the lanes of n zipped vectors; *carry is the last element before
 * them, everywhere, and becomes their last. */
BFS_TARGET("avx2") BFS_SIMD_INLINE
void sum_lanes_avx2(__m256i *x, unsigned n, __m256i *carry)
{
	__m256i all, before;

	BFS_UNROLL
	for (unsigned v = 1; v < n; v++)
		x[v] = _mm256_add_epi8(x[v], last_avx2(x[v - 1], n));
	all = last_avx2(x[n - 1], n);
	before = _mm256_add_epi8(*carry,
				 _mm256_permute2x128_si256(all, all, 0x08));
	all = _mm256_add_epi8(all, _mm256_permute2x128_si256(all, all, 1));
	*carry = _mm256_add_epi8(*carry, all);
	BFS_UNROLL
	for (unsigned v = 0; v < n; v++)
		x[v] = _mm256_add_epi8(x[v], before);
}

BFS_TARGET(BFS_AVX512) BFS_SIMD_INLINE
void sum_lanes_avx512(__m512i *x, unsigned n, __m512i *carry)
{
	const __m512i zero = _mm512_setzero_si512();
	__m512i all, before;

	BFS_UNROLL
	for (unsigned v = 1; v < n; v++)
		x[v] = _mm512_add_epi8(x[v], last_avx512(x[v - 1], n));
	all = last_avx512(x[n - 1], n);
	all = _mm512_add_epi8(all, _mm512_alignr_epi64(all, zero, 6));
	all = _mm512_add_epi8(all, _mm512_alignr_epi64(all, zero, 4));
	before = _mm512_add_epi8(*carry, _mm512_alignr_epi64(all, zero, 6));
	*carry = _mm512_add_epi8(*carry,
				 _mm512_shuffle_i64x2(all, all, 0xff));
	BFS_UNROLL
	for (unsigned v = 0; v < n; v++)
		x[v] = _mm512_add_epi8(x[v], before);
}

/* The lanes in order: y[0] begins with lane 0 of x[0], then of x[1] ... */
BFS_TARGET("avx2") BFS_SIMD_INLINE
void order_lanes_avx2(const __m256i *x, __m256i *y, unsigned n)
{
	BFS_UNROLL
	for (unsigned v = 0; v < n; v += 2) {
		y[v / 2] = _mm256_permute2x128_si256(x[v], x[v + 1], 0x20);
		y[(n + v) / 2] = _mm256_permute2x128_si256(x[v], x[v + 1],
							   0x31);
	}
}

/* Lane l of four vectors becomes y[l * step]. */
BFS_TARGET(BFS_AVX512) BFS_SIMD_INLINE
void turn_lanes_avx512(const __m512i *x, __m512i *y, unsigned step)
{
	__m512i a = _mm512_shuffle_i64x2(x[0], x[1], 0x44);
	__m512i b = _mm512_shuffle_i64x2(x[2], x[3], 0x44);
	__m512i c = _mm512_shuffle_i64x2(x[0], x[1], 0xee);
	__m512i d = _mm512_shuffle_i64x2(x[2], x[3], 0xee);

	y[0] = _mm512_shuffle_i64x2(a, b, 0x88);
	y[step] = _mm512_shuffle_i64x2(a, b, 0xdd);
	y[2 * step] = _mm512_shuffle_i64x2(c, d, 0x88);
	y[3 * step] = _mm512_shuffle_i64x2(c, d, 0xdd);
}

BFS_TARGET(BFS_AVX512) BFS_SIMD_INLINE
void order_lanes_avx512(const __m512i *x, __m512i *y, unsigned n)
{
	if (n == 2) {
		y[0] = _mm512_permutex2var_epi64(x[0], _mm512_set_epi64(
			11, 10, 3, 2, 9, 8, 1, 0), x[1]);
		y[1] = _mm512_permutex2var_epi64(x[0], _mm512_set_epi64(
			15, 14, 7, 6, 13, 12, 5, 4), x[1]);
		return;
	}
	turn_lanes_avx512(x, y, n / 4);
	if (n == 8)
		turn_lanes_avx512(x + 4, y + 1, 2);
}

BFS_TARGET("avx2") BFS_SIMD_INLINE
void store_mixed_avx2(const struct bfs_planes *p, size_t at, __m256i x,
		      const uint8_t *ref)
{
	if (ref)
		x ^= _mm256_loadu_si256((const void *)(ref + at));
	_mm256_storeu_si256((void *)(p->dst + at), x);
}

/* Stores a cache line and asks for one that will be stored soon: the block
 * is seldom in a cache, and fetching it is what the kernels would wait for.
 * A line behind the block's end does no harm. */
BFS_TARGET(BFS_AVX512) BFS_SIMD_INLINE
void store_ahead_avx512(uint8_t *dst, __m512i x)
{
	const void *ahead = (const void *)((uintptr_t)dst + 4096);

	__builtin_prefetch(ahead, 1, 3);
	_mm512_storeu_si512(dst, x);
}

BFS_TARGET(BFS_AVX512) BFS_SIMD_INLINE
void store_mixed_avx512(const struct bfs_planes *p, size_t at, __m512i x,
			const uint8_t *ref)
{
	if (ref)
		x ^= _mm512_loadu_si512(ref + at);
	store_ahead_avx512(p->dst + at, x);
}

/*
 * Weaves elements of n bytes and returns how many: all of them, doing some
 * again at the end; or, where sums run on from step to step, those of whole
 * steps. There must be 32 (AVX2) or 64 (AVX-512).
 */
BFS_TARGET("avx2") BFS_SIMD_INLINE
size_t dense_avx2(struct bfs_planes p, unsigned n, struct bfs_mixing mix)
{
	__m256i carry = _mm256_setzero_si256();
	const uint8_t *plane[16];
	size_t i;

	bfs_find_planes(&p, &mix, n, plane);
	for (i = 0; i < p.n; i += 32) {
		__m256i x[16], y[16];

		if (i + 32 > p.n) {
			if (mix.sums)
				break;
			i = p.n - 32;
		}
		BFS_UNROLL
		for (unsigned k = 0; k < n; k++) {
			y[k] = _mm256_loadu_si256((const void *)
						  (plane[k] + i));
			if (mix.sums)
				y[k] = sum_groups_avx2(y[k], n);
		}
		bfs_zip_avx2(y, x, n);
		if (mix.sums)
			sum_lanes_avx2(x, n, &carry);
		order_lanes_avx2(x, y, n);
		BFS_UNROLL
		for (unsigned v = 0; v < n; v++)
			store_mixed_avx2(&p, i * n + v * 32, y[v], mix.ref);
	}
	return i < p.n ? i : p.n;
}

BFS_TARGET(BFS_AVX512) BFS_SIMD_INLINE
size_t dense_avx512(struct bfs_planes p, unsigned n, struct bfs_mixing mix)
{
	__m512i carry = _mm512_setzero_si512();
	const uint8_t *plane[16];
	size_t i;

	bfs_find_planes(&p, &mix, n, plane);
	for (i = 0; i < p.n; i += 64) {
		__m512i x[16], y[16];

		if (i + 64 > p.n) {
			if (mix.sums)
				break;
			i = p.n - 64;
		}
		BFS_UNROLL
		for (unsigned k = 0; k < n; k++) {
			y[k] = _mm512_loadu_si512(plane[k] + i);
			if (!mix.sums)
				continue;
			/* These wait for their planes, not for the stores. */
			__builtin_prefetch((const void *)
				((uintptr_t)plane[k] + i + 512));
			y[k] = sum_groups_avx512(y[k], n);
		}
		bfs_zip_avx512(y, x, n);
		if (mix.sums)
			sum_lanes_avx512(x, n, &carry);
		order_lanes_avx512(x, y, n);
		BFS_UNROLL
		for (unsigned v = 0; v < n; v++)
			store_mixed_avx512(&p, i * n + v * 64, y[v], mix.ref);
	}
	return i < p.n ? i : p.n;
}

#endif
#endif
