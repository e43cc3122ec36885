/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zip.h - n vectors (2, 4, 8 or 16) woven byte by byte, in registers: what
 * the instruction sets have in common. Private to this room.
 *
 * A stage unpacks vector k with vector k + n/2; after log2(n) stages byte j
 * of vector k has become byte n*j + k of the vectors laid end to end. Vectors
 * of x86 wider than 128 bits do the same in each 128-bit lane on its own. n
 * is a constant wherever these are called, so all loops vanish. No array is
 * written twice: that is what lets compilers keep them all in registers.
 */
#ifndef BFS_FILTER_ZIP_H
#define BFS_FILTER_ZIP_H

#include "base/compiler.h"

/* name(x, y, n): the n vectors of x become y. `target` may be empty. */
#define BFS_DEFINE_ZIP(name, target, vector, unpack_lo, unpack_hi)           \
	target BFS_SIMD_INLINE void name##_stage(const vector *x, vector *y, \
						 unsigned n)                 \
	{                                                                    \
		BFS_UNROLL                                                   \
		for (unsigned k = 0; k < n / 2; k++) {                       \
			y[2 * k] = unpack_lo(x[k], x[k + n / 2]);            \
			y[2 * k + 1] = unpack_hi(x[k], x[k + n / 2]);        \
		}                                                            \
	}                                                                    \
									     \
	target BFS_SIMD_INLINE void name(const vector *x, vector *y,         \
					 unsigned n)                         \
	{                                                                    \
		vector a[16], b[16], c[16];                                  \
									     \
		if (n == 2) {                                                \
			name##_stage(x, y, n);                               \
			return;                                              \
		}                                                            \
		name##_stage(x, a, n);                                       \
		if (n == 4) {                                                \
			name##_stage(a, y, n);                               \
			return;                                              \
		}                                                            \
		name##_stage(a, b, n);                                       \
		if (n == 8) {                                                \
			name##_stage(b, y, n);                               \
			return;                                              \
		}                                                            \
		name##_stage(b, c, n);                                       \
		name##_stage(c, y, n);                                       \
	}

#endif
