/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bitshuffle_neon.h - turning bit rows into byte planes with NEON; included
 * by bitshuffle.c alone.
 *
 * Row k of a plane (eight rows, row_len apart) holds bit k of each byte, bit
 * i of its byte j being that of byte 8j + i. The first n bytes of each row
 * become 8n bytes of the plane; n is a multiple of 16. Planes lie 8 * row_len
 * apart in src, and 8n apart in dst.
 */
#ifndef BFS_FILTER_BITSHUFFLE_NEON_H
#define BFS_FILTER_BITSHUFFLE_NEON_H

#include "filter/zip_neon.h"

#ifdef BFS_ARM64
#include <stddef.h>
#include <stdint.h>

/*
 * Of each byte, the bits of a that mask has stay, and those of b that it has
 * go above them; the others of a go below those of b. For nibbles, shifts
 * that insert do all of it.
 */
BFS_SIMD_INLINE void swap4_neon(uint8x16_t *a, uint8x16_t *b)
{
	const uint8x16_t x = *a, y = *b;

	*a = vsliq_n_u8(x, y, 4);
	*b = vsriq_n_u8(y, x, 4);
}

BFS_SIMD_INLINE void swap2_neon(uint8x16_t *a, uint8x16_t *b)
{
	const uint8x16_t x = *a, y = *b, mask = vdupq_n_u8(0x33);

	*a = vbslq_u8(mask, x, vshlq_n_u8(y, 2));
	*b = vbslq_u8(mask, vshrq_n_u8(x, 2), y);
}

BFS_SIMD_INLINE void swap1_neon(uint8x16_t *a, uint8x16_t *b)
{
	const uint8x16_t x = *a, y = *b, mask = vdupq_n_u8(0x55);

	*a = vbslq_u8(mask, x, vshlq_n_u8(y, 1));
	*b = vbslq_u8(mask, vshrq_n_u8(x, 1), y);
}

/* Vector k holds row k. Afterwards bit k of vector i is what bit i of vector
 * k was: an 8 x 8 bit matrix for every byte of the vectors, transposed by
 * swapping two of its quarters, then two quarters of each quarter, and so
 * on. */
BFS_SIMD_INLINE void flip_neon(uint8x16_t *x)
{
	BFS_UNROLL
	for (unsigned k = 0; k < 4; k++)
		swap4_neon(&x[k], &x[k + 4]);
	BFS_UNROLL
	for (unsigned k = 0; k < 8; k++)
		if (!(k & 2))
			swap2_neon(&x[k], &x[k + 2]);
	BFS_UNROLL
	for (unsigned k = 0; k < 8; k += 2)
		swap1_neon(&x[k], &x[k + 1]);
}

static inline void rows_to_planes_neon(const uint8_t *src, size_t row_len,
				       size_t n_planes, size_t n, uint8_t *dst)
{
	for (; n_planes > 0; n_planes--, src += 8 * row_len)
		for (size_t j = 0; j < n; j += 16, dst += 128) {
			uint8x16_t x[8], y[8];

			BFS_UNROLL
			for (unsigned k = 0; k < 8; k++)
				x[k] = vld1q_u8(src + k * row_len + j);
			flip_neon(x);
			bfs_zip_neon(x, y, 8);
			BFS_UNROLL
			for (unsigned v = 0; v < 8; v++)
				vst1q_u8(dst + v * 16, y[v]);
		}
}

#endif
#endif
