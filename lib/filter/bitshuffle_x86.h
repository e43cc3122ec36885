/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bitshuffle_x86.h - turning bit rows into byte planes with SSE2, AVX2 and
 * AVX-512 with GFNI; included by bitshuffle.c alone.
 *
 * Row k of a plane (eight rows, row_len apart) holds bit k of each byte, bit
 * i of its byte j being that of byte 8j + i. The first n bytes of each row
 * become 8n bytes of the plane; n is a multiple of the vector's length.
 * Planes lie 8 * row_len apart in src, and 8n apart in dst.
 */
#ifndef BFS_FILTER_BITSHUFFLE_X86_H
#define BFS_FILTER_BITSHUFFLE_X86_H

#include "filter/dense_x86.h"
#include "filter/zip_x86.h"

#ifdef BFS_X86
#include <stddef.h>
#include <stdint.h>

/*
 * Vector k holds row k. Afterwards bit k of vector i is what bit i of vector
 * k was: an 8 x 8 bit matrix for every byte of the vectors, transposed by
 * swapping two of its quarters, then two quarters of each quarter, and so on.
 */
#define BFS_DEFINE_FLIP(name, isa, vector, op)                               \
	BFS_TARGET(isa) BFS_SIMD_INLINE void name(vector *x)                 \
	{                                                                    \
		static const char masks[] = { 0x55, 0x33, 0, 0x0f };         \
									     \
		BFS_UNROLL                                                   \
		for (int s = 4; s > 0; s /= 2) {                             \
			const vector mask = op##_set1_epi8(masks[s - 1]);    \
									     \
			BFS_UNROLL                                           \
			for (int k = 0; k < 8; k++) {                        \
				vector t;                                    \
									     \
				if (k & s)                                   \
					continue;                            \
				t = op##_srli_epi16(x[k], s) ^ x[k + s];     \
				t &= mask;                                   \
				x[k + s] ^= t;                               \
				x[k] ^= op##_slli_epi16(t, s);               \
			}                                                    \
		}                                                            \
	}

BFS_DEFINE_FLIP(flip_sse2, "sse2", __m128i, _mm)
BFS_DEFINE_FLIP(flip_avx2, "avx2", __m256i, _mm256)

BFS_TARGET("sse2")
static inline void rows_to_planes_sse2(const uint8_t *src, size_t row_len,
				       size_t n_planes, size_t n, uint8_t *dst)
{
	for (; n_planes > 0; n_planes--, src += 8 * row_len)
		for (size_t j = 0; j < n; j += 16, dst += 128) {
			__m128i x[8], y[8];

			BFS_UNROLL
			for (unsigned k = 0; k < 8; k++)
				x[k] = _mm_loadu_si128((const void *)
						(src + k * row_len + j));
			flip_sse2(x);
			bfs_zip_sse2(x, y, 8);
			BFS_UNROLL
			for (unsigned v = 0; v < 8; v++)
				_mm_storeu_si128((void *)(dst + v * 16), y[v]);
		}
}

/* After the zip the low lanes hold the first 128 bytes, the high lanes the
 * others. */
BFS_TARGET("avx2")
static inline void rows_to_planes_avx2(const uint8_t *src, size_t row_len,
				       size_t n_planes, size_t n, uint8_t *dst)
{
	for (; n_planes > 0; n_planes--, src += 8 * row_len)
		for (size_t j = 0; j < n; j += 32, dst += 256) {
			__m256i x[8], y[8];

			BFS_UNROLL
			for (unsigned k = 0; k < 8; k++)
				x[k] = _mm256_loadu_si256((const void *)
						(src + k * row_len + j));
			flip_avx2(x);
			bfs_zip_avx2(x, y, 8);
			BFS_UNROLL
			for (unsigned v = 0; v < 8; v++) {
				_mm_storeu_si128((void *)(dst + v * 16),
					_mm256_castsi256_si128(y[v]));
				_mm_storeu_si128((void *)(dst + 128 + v * 16),
					_mm256_extracti128_si256(y[v], 1));
			}
		}
}

/*
 * Zipped first, each 64-bit lane holds the eight row bytes of eight bytes to
 * be: one bit matrix. Multiplying the identity by it with the rows in
 * descending order transposes it. Of 64 bytes of each row, lane l of vector v
 * holds the bytes from 128 * l + 16 * v on.
 */
BFS_TARGET(BFS_AVX512) BFS_SIMD_INLINE
void flip_avx512(const uint8_t *src, size_t row_len, __m512i *z)
{
	const __m512i unit = _mm512_set1_epi64((long long)0x8040201008040201);
	__m512i x[8], y[8];

	BFS_UNROLL
	for (unsigned k = 0; k < 8; k++)
		x[7 - k] = _mm512_loadu_si512(src + k * row_len);
	bfs_zip_avx512(x, y, 8);
	BFS_UNROLL
	for (unsigned v = 0; v < 8; v++)
		z[v] = _mm512_gf2p8affine_epi64_epi8(unit, y[v], 0);
}

BFS_TARGET(BFS_AVX512)
static inline void rows_to_planes_avx512(const uint8_t *src, size_t row_len,
					 size_t n_planes, size_t n,
					 uint8_t *dst)
{
	for (; n_planes > 0; n_planes--, src += 8 * row_len)
		for (size_t j = 0; j < n; j += 64, dst += 512) {
			__m512i x[8], y[8];

			flip_avx512(src + j, row_len, x);
			turn_lanes_avx512(x, y, 2);
			turn_lanes_avx512(x + 4, y + 1, 2);
			BFS_UNROLL
			for (unsigned v = 0; v < 8; v++)
				store_ahead_avx512(dst + v * 64, y[v]);
		}
}

/* Vectors v ... v + m - 1 of n planes woven to dst: from each, 16 bytes a
 * lane, m * 16 * n bytes in a row for each lane. m * n is 4 or 8. */
BFS_TARGET(BFS_AVX512) BFS_SIMD_INLINE
void weave_lanes_avx512(const __m512i (*z)[8], unsigned v, unsigned m,
			unsigned n, uint8_t *dst)
{
	const unsigned lines = m * n / 4;
	__m512i x[8], y[8];

	BFS_UNROLL
	for (unsigned i = 0; i < m; i++) {
		__m512i plane[8];

		BFS_UNROLL
		for (unsigned b = 0; b < n; b++)
			plane[b] = z[b][v + i];
		bfs_zip_avx512(plane, x + i * n, n);
	}
	turn_lanes_avx512(x, y, lines);
	if (lines == 2)
		turn_lanes_avx512(x + 4, y + 1, 2);
	BFS_UNROLL
	for (unsigned i = 0; i < 4 * lines; i++)
		store_ahead_avx512(dst + i / lines * 128 * n + i % lines * 64,
				   y[i]);
}

/*
 * Row bytes j ... j + 63 of elements of n bytes, which become 512 elements.
 * Vectors wait in memory for those of the other planes: there are more than
 * registers.
 */
BFS_TARGET(BFS_AVX512) BFS_SIMD_INLINE
void rows_to_elements_avx512(const uint8_t *src, size_t row_len, unsigned n,
			     uint8_t *dst)
{
	const unsigned m = n == 2 ? 2 : 1;
	__m512i z[8][8];

	for (unsigned b = 0; b < n; b++)
		flip_avx512(src + 8 * b * row_len, row_len, z[b]);
	for (unsigned v = 0; v < 8; v += m)
		weave_lanes_avx512((const __m512i (*)[8])z, v, m, n,
				   dst + v * 16 * n);
}

#endif
#endif
