/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zip_x86.h - n vectors (2, 4, 8 or 16) woven byte by byte, in registers.
 *
 * A stage unpacks vector k with vector k + n/2; after log2(n) stages byte j
 * of vector k has become byte n*j + k of the vectors laid end to end. Wider
 * vectors do the same in each 128-bit lane on its own. n is a constant
 * wherever these are called, so all loops vanish. No array is written twice:
 * that is what lets compilers keep them all in registers.
 */
#ifndef BFS_ZIP_X86_H
#define BFS_ZIP_X86_H

#include "compiler.h"

#ifdef BFS_X86
#include <immintrin.h>

#define BFS_SIMD_INLINE static inline __attribute__((always_inline))
/* In front of loops over the vectors of one step: there are at most 16. */
#ifdef __clang__
#define BFS_UNROLL _Pragma("clang loop unroll(full)")
#else
#define BFS_UNROLL _Pragma("GCC unroll 16")
#endif

/* All CPUs with GFNI know PREFETCHW too. */
#define BFS_AVX512                                                           \
	"avx2,bmi2,prfchw,avx512f,avx512bw,avx512vl,avx512vbmi,gfni"

#define BFS_DEFINE_ZIP(name, isa, vector, unpack_lo, unpack_hi)              \
	BFS_TARGET(isa) BFS_SIMD_INLINE void name##_stage(const vector *x,   \
							  vector *y,         \
							  unsigned n)        \
	{                                                                    \
		BFS_UNROLL                                                   \
		for (unsigned k = 0; k < n / 2; k++) {                       \
			y[2 * k] = unpack_lo(x[k], x[k + n / 2]);            \
			y[2 * k + 1] = unpack_hi(x[k], x[k + n / 2]);        \
		}                                                            \
	}                                                                    \
									     \
	BFS_TARGET(isa) BFS_SIMD_INLINE void name(const vector *x,           \
						  vector *y, unsigned n)     \
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

BFS_DEFINE_ZIP(bfs_zip_sse2, "sse2", __m128i, _mm_unpacklo_epi8,
	       _mm_unpackhi_epi8)
BFS_DEFINE_ZIP(bfs_zip_avx2, "avx2", __m256i, _mm256_unpacklo_epi8,
	       _mm256_unpackhi_epi8)
BFS_DEFINE_ZIP(bfs_zip_avx512, BFS_AVX512, __m512i, _mm512_unpacklo_epi8,
	       _mm512_unpackhi_epi8)

#endif
#endif
