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
#ifndef BFS_BITSHUFFLE_X86_H
#define BFS_BITSHUFFLE_X86_H

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
 * descending order transposes it.
 */
BFS_TARGET(BFS_AVX512)
static inline void rows_to_planes_avx512(const uint8_t *src, size_t row_len,
					 size_t n_planes, size_t n,
					 uint8_t *dst)
{
	const __m512i unit = _mm512_set1_epi64((long long)0x8040201008040201);

	for (; n_planes > 0; n_planes--, src += 8 * row_len)
		for (size_t j = 0; j < n; j += 64, dst += 512) {
			__m512i x[8], y[8];

			BFS_UNROLL
			for (unsigned k = 0; k < 8; k++)
				x[7 - k] = _mm512_loadu_si512(
						src + k * row_len + j);
			bfs_zip_avx512(x, y, 8);
			BFS_UNROLL
			for (unsigned v = 0; v < 8; v++) {
				__m512i z = _mm512_gf2p8affine_epi64_epi8(
						unit, y[v], 0);
				uint8_t *p = dst + v * 16;

				_mm_storeu_si128((void *)p,
					_mm512_castsi512_si128(z));
				_mm_storeu_si128((void *)(p + 128),
					_mm512_extracti32x4_epi32(z, 1));
				_mm_storeu_si128((void *)(p + 256),
					_mm512_extracti32x4_epi32(z, 2));
				_mm_storeu_si128((void *)(p + 384),
					_mm512_extracti32x4_epi32(z, 3));
			}
		}
}

#endif
#endif
