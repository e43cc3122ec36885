/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weave_neon.h - weaving with NEON; included by weave.c alone.
 *
 * A step takes 16 bytes of each plane and zips them. Elements of 3n bytes
 * are zipped as three parts, and the store puts the parts side by side. Any
 * other width is zipped as the next power of two; where an element is then
 * narrower than what a store writes, elements are stored in ascending order,
 * so that the next one covers the surplus, and the last step goes through a
 * buffer. Elements that do not fill a step are done by a step that starts
 * earlier and does some of them again.
 */
#ifndef BFS_FILTER_WEAVE_NEON_H
#define BFS_FILTER_WEAVE_NEON_H

#include "filter/weave.h"
#include "filter/zip_neon.h"

#ifdef BFS_ARM64
#include <stdbool.h>
#include <string.h>

/* A step may write into this many elements behind its own. */
#define BFS_WEAVE_SURPLUS 2

/*
 * Running sums of elements of n bytes over the vectors of a step, before the
 * zip: sums of 16 / n bytes each, that is, of those elements that will share
 * a vector.
 */
BFS_SIMD_INLINE uint8x16_t sum_groups_neon(uint8x16_t x, unsigned n)
{
	uint16x8_t by1 = vshlq_n_u16(vreinterpretq_u16_u8(x), 8);
	uint32x4_t by1of4 = vshlq_n_u32(vreinterpretq_u32_u8(x), 8);
	uint64x2_t by1of8 = vshlq_n_u64(vreinterpretq_u64_u8(x), 8);

	if (n == 8)
		return vaddq_u8(x, vreinterpretq_u8_u16(by1));
	if (n == 4) {
		x = vaddq_u8(x, vreinterpretq_u8_u32(by1of4));
		by1of4 = vshlq_n_u32(vreinterpretq_u32_u8(x), 16);
		return vaddq_u8(x, vreinterpretq_u8_u32(by1of4));
	}
	x = vaddq_u8(x, vreinterpretq_u8_u64(by1of8));
	by1of8 = vshlq_n_u64(vreinterpretq_u64_u8(x), 16);
	x = vaddq_u8(x, vreinterpretq_u8_u64(by1of8));
	by1of8 = vshlq_n_u64(vreinterpretq_u64_u8(x), 32);
	return vaddq_u8(x, vreinterpretq_u8_u64(by1of8));
}

/* The last element of n bytes, everywhere. */
BFS_SIMD_INLINE uint8x16_t last_neon(uint8x16_t x, unsigned n)
{
	if (n == 8)
		return vreinterpretq_u8_u64(
			vdupq_laneq_u64(vreinterpretq_u64_u8(x), 1));
	if (n == 4)
		return vreinterpretq_u8_u32(
			vdupq_laneq_u32(vreinterpretq_u32_u8(x), 3));
	return vreinterpretq_u8_u16(
		vdupq_laneq_u16(vreinterpretq_u16_u8(x), 7));
}

/* Sums over n zipped vectors; *carry is the last element before them,
 * everywhere, and becomes their last. */
BFS_SIMD_INLINE
void sum_vectors_neon(uint8x16_t *x, unsigned n, uint8x16_t *carry)
{
	const uint8x16_t before = *carry;

	BFS_UNROLL
	for (unsigned v = 1; v < n; v++)
		x[v] = vaddq_u8(x[v], last_neon(x[v - 1], n));
	*carry = vaddq_u8(before, last_neon(x[n - 1], n));
	BFS_UNROLL
	for (unsigned v = 0; v < n; v++)
		x[v] = vaddq_u8(x[v], before);
}

/* 16 elements of n bytes, the first of them element i. */
BFS_SIMD_INLINE
void finish_dense_neon(const struct bfs_planes *p, size_t i, unsigned n,
		       const uint8x16_t *x, const struct bfs_mixing *mix,
		       uint8x16_t *carry)
{
	uint8x16_t y[16];

	bfs_zip_neon(x, y, n);
	if (mix->sums)
		sum_vectors_neon(y, n, carry);
	BFS_UNROLL
	for (unsigned v = 0; v < n; v++) {
		const size_t at = i * n + v * 16;

		if (mix->ref)
			y[v] = veorq_u8(y[v], vld1q_u8(mix->ref + at));
		vst1q_u8(p->dst + at, y[v]);
	}
}

/* A step of dense_neon: of the shortest elements there are twice as many. */
BFS_SIMD_INLINE size_t dense_step_neon(size_t n)
{
	return n == 2 ? 32 : 16;
}

/*
 * Weaves elements of n bytes, at least one step of them, and returns how
 * many: all of them, doing some again at the end; or, where sums run on from
 * step to step, those of whole steps.
 */
BFS_SIMD_INLINE
size_t dense_neon(struct bfs_planes p, unsigned n, struct bfs_mixing mix)
{
	const size_t step = dense_step_neon(n);
	uint8x16_t carry = vdupq_n_u8(0);
	const uint8_t *plane[16];
	size_t i;

	bfs_find_planes(&p, &mix, n, plane);
	for (i = 0; i < p.n; i += step) {
		uint8x16_t x[2][16];

		if (i + step > p.n) {
			if (mix.sums)
				break;
			i = p.n - step;
		}
		BFS_UNROLL
		for (unsigned k = 0; k < n; k++) {
			BFS_UNROLL
			for (unsigned h = 0; h < step / 16; h++) {
				x[h][k] = vld1q_u8(plane[k] + i + 16 * h);
				if (mix.sums)
					x[h][k] = sum_groups_neon(x[h][k], n);
			}
		}
		BFS_UNROLL
		for (unsigned h = 0; h < step / 16; h++)
			finish_dense_neon(&p, i + 16 * h, n, x[h], &mix,
					  &carry);
	}
	return i < p.n ? i : p.n;
}

/* y = the first 16 bytes of w planes, filled up to n with zeros, zipped. */
BFS_SIMD_INLINE
void load_neon(const uint8_t *src, size_t stride, size_t w, unsigned n,
	       uint8x16_t *y)
{
	uint8x16_t x[16];

	BFS_UNROLL
	for (unsigned k = 0; k < n; k++)
		x[k] = k < w ? vld1q_u8(src + k * stride) : vdupq_n_u8(0);
	bfs_zip_neon(x, y, n);
}

/* 48 bytes: n of the first vector, n of the second, n of the third ... */
BFS_SIMD_INLINE
void store_thirds_neon(uint8_t *dst, unsigned n, uint8x16_t a, uint8x16_t b,
		       uint8x16_t c)
{
	const uint8x16x3_t by1 = { { a, b, c } };
	const uint16x8x3_t by2 = { { vreinterpretq_u16_u8(a),
				     vreinterpretq_u16_u8(b),
				     vreinterpretq_u16_u8(c) } };
	const uint32x4x3_t by4 = { { vreinterpretq_u32_u8(a),
				     vreinterpretq_u32_u8(b),
				     vreinterpretq_u32_u8(c) } };

	if (n == 1)
		vst3q_u8(dst, by1);
	else if (n == 2)
		vst3q_u16((void *)dst, by2);
	else
		vst3q_u32((void *)dst, by4);
}

/* Elements of 3n bytes, n being 1, 2 or 4. */
BFS_SIMD_INLINE void thirds_neon(struct bfs_planes p, unsigned n)
{
	for (size_t i = 0; i < p.n; i += 16) {
		uint8x16_t x[3][4];

		if (i + 16 > p.n)
			i = p.n - 16;
		BFS_UNROLL
		for (unsigned t = 0; t < 3; t++) {
			const uint8_t *src = p.src + t * n * p.stride + i;

			if (n == 1)
				x[t][0] = vld1q_u8(src);
			else
				load_neon(src, p.stride, n, n, x[t]);
		}
		BFS_UNROLL
		for (unsigned v = 0; v < n; v++)
			store_thirds_neon(p.dst + i * 3 * n + v * 48, n,
					  x[0][v], x[1][v], x[2][v]);
	}
}

/* 16 elements of w = 5 or 7 bytes, zipped as 8; `pack` squeezes the zeros
 * out of each vector. */
BFS_SIMD_INLINE
void packed_neon(const uint8_t *src, size_t stride, size_t w, uint8x16_t pack,
		 uint8_t *dst)
{
	uint8x16_t x[8];

	load_neon(src, stride, w, 8, x);
	BFS_UNROLL
	for (unsigned v = 0; v < 8; v++)
		vst1q_u8(dst + v * 2 * w, vqtbl1q_u8(x[v], pack));
}

/* 16 elements of w > 8 bytes; 16 bytes of each are stored, pitch apart. */
BFS_SIMD_INLINE
void rows_neon(const uint8_t *src, size_t stride, size_t w, uint8_t *dst,
	       size_t pitch)
{
	uint8x16_t x[16];

	load_neon(src, stride, w, 16, x);
	BFS_UNROLL
	for (unsigned v = 0; v < 16; v++)
		vst1q_u8(dst + v * pitch, x[v]);
}

/* Which bytes of a vector stay when elements of 8 bytes become w wide. */
static inline uint8x16_t make_pack_neon(size_t w)
{
	uint8_t at[16];
	unsigned n = 0;

	memset(at, 0xff, sizeof(at));
	for (unsigned b = 0; b < 16; b++)
		if (b % 8 < w)
			at[n++] = (uint8_t)b;
	return vld1q_u8(at);
}

static inline void odd_neon(struct bfs_planes p)
{
	const size_t w = p.n_planes;
	const uint8x16_t pack = make_pack_neon(w);
	uint8_t last[16 * 16];

	for (size_t i = 0; i < p.n; i += 16) {
		bool room = i + 16 + BFS_WEAVE_SURPLUS <= p.n;
		uint8_t *dst;

		if (i + 16 > p.n)
			i = p.n - 16;
		dst = room ? p.dst + i * w : last;
		if (w < 8)
			packed_neon(p.src + i, p.stride, w, pack, dst);
		else
			rows_neon(p.src + i, p.stride, w, dst, w);
		if (!room)
			memcpy(p.dst + i * w, last, 16 * w);
	}
}

/* Sixteen planes of wider elements, or elements of 16 bytes. */
static inline void wide_neon(struct bfs_planes p)
{
	for (size_t i = 0; i < p.n; i += 16) {
		if (i + 16 > p.n)
			i = p.n - 16;
		rows_neon(p.src + i, p.stride, 16, p.dst + i * p.pitch,
			  p.pitch);
	}
}

#endif
#endif
