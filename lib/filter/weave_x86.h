/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weave_x86.h - weaving with SSE2 and AVX2; included by weave.c alone.
 *
 * A step takes one vector of each plane, rounds their number up to a power
 * of two and zips them. Where an element is narrower than what a store
 * writes, elements are stored in ascending order, so that the next one
 * covers the surplus; the last step goes through a buffer instead. Elements
 * that do not fill a step are done by a step that starts earlier and does
 * some of them again.
 */
#ifndef BFS_FILTER_WEAVE_X86_H
#define BFS_FILTER_WEAVE_X86_H

#include "filter/weave.h"
#include "filter/zip_x86.h"

#ifdef BFS_X86
#include <stdbool.h>
#include <string.h>

/* A step may write into this many elements behind its own. */
#define BFS_WEAVE_SURPLUS 2

/* x = the first 16 bytes of w planes, filled up to n with zeros, zipped. */
BFS_TARGET("sse2") BFS_SIMD_INLINE
void load_sse2(const uint8_t *src, size_t stride, size_t w, unsigned n,
	       __m128i *x)
{
	__m128i y[16];

	BFS_UNROLL
	for (unsigned k = 0; k < n; k++)
		y[k] = k < w ? _mm_loadu_si128((const void *)(src + k * stride))
			     : _mm_setzero_si128();
	bfs_zip_sse2(y, x, n);
}

BFS_TARGET("sse2") BFS_SIMD_INLINE
void store4_sse2(uint8_t *dst, __m128i x)
{
	int v = _mm_cvtsi128_si32(x);

	memcpy(dst, &v, 4);
}

/* Elements as wide as n planes. */
BFS_TARGET("sse2") BFS_SIMD_INLINE
void dense_sse2(struct bfs_planes p, unsigned n)
{
	for (size_t i = 0; i < p.n; i += 16) {
		__m128i x[16];

		if (i + 16 > p.n)
			i = p.n - 16;
		load_sse2(p.src + i, p.stride, n, n, x);
		BFS_UNROLL
		for (unsigned v = 0; v < n; v++)
			_mm_storeu_si128((void *)(p.dst + i * n + v * 16),
					 x[v]);
	}
}

/* 16 elements of w > 8 bytes; 16 bytes of each are stored, pitch apart. */
BFS_TARGET("sse2") BFS_SIMD_INLINE
void rows_sse2(const uint8_t *src, size_t stride, size_t w, uint8_t *dst,
	       size_t pitch)
{
	__m128i x[16];

	load_sse2(src, stride, w, 16, x);
	BFS_UNROLL
	for (unsigned v = 0; v < 16; v++)
		_mm_storeu_si128((void *)(dst + v * pitch), x[v]);
}

/* 16 elements of 3 bytes. */
BFS_TARGET("sse2") BFS_SIMD_INLINE
void triples_sse2(const uint8_t *src, size_t stride, uint8_t *dst)
{
	__m128i x[16];

	load_sse2(src, stride, 3, 4, x);
	for (unsigned v = 0; v < 4; v++, dst += 12) {
		store4_sse2(dst, x[v]);
		store4_sse2(dst + 3, _mm_srli_si128(x[v], 4));
		store4_sse2(dst + 6, _mm_srli_si128(x[v], 8));
		store4_sse2(dst + 9, _mm_srli_si128(x[v], 12));
	}
}

/* 16 elements of w = 5, 6 or 7 bytes. */
BFS_TARGET("sse2") BFS_SIMD_INLINE
void halves_sse2(const uint8_t *src, size_t stride, size_t w, uint8_t *dst)
{
	__m128i x[16];

	load_sse2(src, stride, w, 8, x);
	for (unsigned v = 0; v < 8; v++, dst += 2 * w) {
		_mm_storel_epi64((void *)dst, x[v]);
		_mm_storel_epi64((void *)(dst + w), _mm_srli_si128(x[v], 8));
	}
}

BFS_TARGET("sse2")
static inline void odd_sse2(struct bfs_planes p)
{
	const size_t w = p.n_planes;
	uint8_t last[16 * 16];

	for (size_t i = 0; i < p.n; i += 16) {
		bool room = i + 16 + BFS_WEAVE_SURPLUS <= p.n;
		uint8_t *dst;

		if (i + 16 > p.n)
			i = p.n - 16;
		dst = room ? p.dst + i * w : last;
		if (w == 3)
			triples_sse2(p.src + i, p.stride, dst);
		else if (w < 8)
			halves_sse2(p.src + i, p.stride, w, dst);
		else
			rows_sse2(p.src + i, p.stride, w, dst, w);
		if (!room)
			memcpy(p.dst + i * w, last, 16 * w);
	}
}

/* Sixteen planes of wider elements, or elements of 16 bytes. */
BFS_TARGET("sse2")
static inline void wide_sse2(struct bfs_planes p)
{
	for (size_t i = 0; i < p.n; i += 16) {
		if (i + 16 > p.n)
			i = p.n - 16;
		rows_sse2(p.src + i, p.stride, 16, p.dst + i * p.pitch,
			  p.pitch);
	}
}

/* As load_sse2, with 32 bytes of each plane: the low lanes hold the first 16
 * elements, the high lanes the next 16. */
BFS_TARGET("avx2") BFS_SIMD_INLINE
void load_avx2(const uint8_t *src, size_t stride, size_t w, unsigned n,
	       __m256i *x)
{
	__m256i y[16];

	BFS_UNROLL
	for (unsigned k = 0; k < n; k++)
		y[k] = k < w ? _mm256_loadu_si256((const void *)(src +
								 k * stride))
			     : _mm256_setzero_si256();
	bfs_zip_avx2(y, x, n);
}

/* The low lanes of n vectors, then their high lanes, each 16 bytes stored
 * `step` after the one before. */
BFS_TARGET("avx2") BFS_SIMD_INLINE
void store_lanes_avx2(uint8_t *dst, size_t step, unsigned n, const __m256i *x)
{
	BFS_UNROLL
	for (unsigned v = 0; v < n; v++)
		_mm_storeu_si128((void *)(dst + v * step),
				 _mm256_castsi256_si128(x[v]));
	BFS_UNROLL
	for (unsigned v = 0; v < n; v++)
		_mm_storeu_si128((void *)(dst + (n + v) * step),
				 _mm256_extracti128_si256(x[v], 1));
}

/* 32 elements of w < 8 bytes that were zipped as n = 4 or 8: `pack` squeezes
 * the zeros out of each lane. */
BFS_TARGET("avx2") BFS_SIMD_INLINE
void packed_avx2(const uint8_t *src, size_t stride, size_t w, unsigned n,
		 __m256i pack, uint8_t *dst)
{
	__m256i x[16], y[16];

	load_avx2(src, stride, w, n, x);
	BFS_UNROLL
	for (unsigned v = 0; v < n; v++)
		y[v] = _mm256_shuffle_epi8(x[v], pack);
	store_lanes_avx2(dst, 16 / n * w, n, y);
}

BFS_TARGET("avx2") BFS_SIMD_INLINE
void rows_avx2(const uint8_t *src, size_t stride, size_t w, uint8_t *dst,
	       size_t pitch)
{
	__m256i x[16];

	load_avx2(src, stride, w, 16, x);
	store_lanes_avx2(dst, pitch, 16, x);
}

/* Which bytes of a lane stay when elements of n bytes become w wide. */
BFS_TARGET("avx2")
static inline __m256i make_pack_avx2(size_t w, unsigned n)
{
	uint8_t lane[16];
	size_t at = 0;

	memset(lane, 0x80, sizeof(lane));
	for (unsigned b = 0; b < 16; b++)
		if (b % n < w)
			lane[at++] = (uint8_t)b;
	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)lane));
}

/* Elements of w < 8 bytes, zipped as n. */
BFS_TARGET("avx2") BFS_SIMD_INLINE
void narrow_avx2(struct bfs_planes p, unsigned n)
{
	const size_t w = p.n_planes;
	const __m256i pack = make_pack_avx2(w, n);
	uint8_t last[32 * 8 + 16];

	for (size_t i = 0; i < p.n; i += 32) {
		bool room = i + 32 + BFS_WEAVE_SURPLUS <= p.n;

		if (i + 32 > p.n)
			i = p.n - 32;
		packed_avx2(p.src + i, p.stride, w, n, pack,
			    room ? p.dst + i * w : last);
		if (!room)
			memcpy(p.dst + i * w, last, 32 * w);
	}
}

/* Elements of 9 ... 15 bytes. */
BFS_TARGET("avx2") BFS_SIMD_INLINE
void broad_avx2(struct bfs_planes p)
{
	const size_t w = p.n_planes;
	uint8_t last[32 * 16];

	for (size_t i = 0; i < p.n; i += 32) {
		bool room = i + 32 + BFS_WEAVE_SURPLUS <= p.n;

		if (i + 32 > p.n)
			i = p.n - 32;
		rows_avx2(p.src + i, p.stride, w,
			  room ? p.dst + i * w : last, w);
		if (!room)
			memcpy(p.dst + i * w, last, 32 * w);
	}
}

BFS_TARGET("avx2")
static inline void wide_avx2(struct bfs_planes p)
{
	for (size_t i = 0; i < p.n; i += 32) {
		if (i + 32 > p.n)
			i = p.n - 32;
		rows_avx2(p.src + i, p.stride, 16, p.dst + i * p.pitch,
			  p.pitch);
	}
}

#endif
#endif
