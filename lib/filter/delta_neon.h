/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * delta_neon.h - running XORs and sums with NEON; included by delta.c and
 * bytedelta.c. Each does whole vectors of 16 bytes and returns how many
 * bytes; src may equal dst.
 *
 * A vector is mixed with itself shifted by 1, 2, 4 ... elements. `carry`
 * holds the last element before it in every element; only one operation on
 * that depends on the vector before.
 */
#ifndef BFS_FILTER_DELTA_NEON_H
#define BFS_FILTER_DELTA_NEON_H

#include "base/compiler.h"

#ifdef BFS_ARM64
#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

/* x, n bytes further up; zeros below. */
#define BFS_SHIFT_NEON(x, n) vextq_u8(vdupq_n_u8(0), x, 16 - (n))

static inline size_t sum_neon(const uint8_t *src, size_t len, uint8_t *dst)
{
	uint8x16_t carry = vdupq_n_u8(0);
	size_t i = 0;

	for (; i + 16 <= len; i += 16) {
		uint8x16_t x = vld1q_u8(src + i);

		x = vaddq_u8(x, BFS_SHIFT_NEON(x, 1));
		x = vaddq_u8(x, BFS_SHIFT_NEON(x, 2));
		x = vaddq_u8(x, BFS_SHIFT_NEON(x, 4));
		x = vaddq_u8(x, BFS_SHIFT_NEON(x, 8));
		vst1q_u8(dst + i, vaddq_u8(x, carry));
		carry = vaddq_u8(carry, vdupq_laneq_u8(x, 15));
	}
	return i;
}

/* The last element of g bytes, everywhere. */
BFS_SIMD_INLINE uint8x16_t spread_neon(uint8x16_t x, unsigned g)
{
	switch (g) {
	case 1:
		return vdupq_laneq_u8(x, 15);
	case 2:
		return vreinterpretq_u8_u16(
			vdupq_laneq_u16(vreinterpretq_u16_u8(x), 7));
	case 4:
		return vreinterpretq_u8_u32(
			vdupq_laneq_u32(vreinterpretq_u32_u8(x), 3));
	default:
		return vreinterpretq_u8_u64(
			vdupq_laneq_u64(vreinterpretq_u64_u8(x), 1));
	}
}

BFS_SIMD_INLINE
size_t xor_elements_neon(const uint8_t *src, size_t len, uint8_t *dst,
			 unsigned g)
{
	uint8x16_t carry = vdupq_n_u8(0);
	size_t i = 0;

	for (; i + 16 <= len; i += 16) {
		uint8x16_t x = vld1q_u8(src + i);

		if (g == 1)
			x = veorq_u8(x, BFS_SHIFT_NEON(x, 1));
		if (g <= 2)
			x = veorq_u8(x, BFS_SHIFT_NEON(x, 2));
		if (g <= 4)
			x = veorq_u8(x, BFS_SHIFT_NEON(x, 4));
		x = veorq_u8(x, BFS_SHIFT_NEON(x, 8));
		vst1q_u8(dst + i, veorq_u8(x, carry));
		carry = veorq_u8(carry, spread_neon(x, g));
	}
	return i;
}

/* XOR with the finished element of g bytes (1, 2, 4 or 8) before. */
static inline size_t xor_neon(const uint8_t *src, size_t len, uint8_t *dst,
			      unsigned g)
{
	switch (g) {
	case 1:
		return xor_elements_neon(src, len, dst, 1);
	case 2:
		return xor_elements_neon(src, len, dst, 2);
	case 4:
		return xor_elements_neon(src, len, dst, 4);
	default:
		return xor_elements_neon(src, len, dst, 8);
	}
}

static inline size_t xor_ref_neon(const uint8_t *src, size_t len, uint8_t *dst,
				  const uint8_t *ref)
{
	size_t i = 0;

	for (; i + 64 <= len; i += 64) {
		uint8x16_t x[4];

		BFS_UNROLL
		for (unsigned v = 0; v < 4; v++)
			x[v] = veorq_u8(vld1q_u8(src + i + v * 16),
					vld1q_u8(ref + i + v * 16));
		BFS_UNROLL
		for (unsigned v = 0; v < 4; v++)
			vst1q_u8(dst + i + v * 16, x[v]);
	}
	for (; i + 16 <= len; i += 16)
		vst1q_u8(dst + i, veorq_u8(vld1q_u8(src + i),
					   vld1q_u8(ref + i)));
	return i;
}

#endif
#endif
