/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zip_x86.h - zipping with SSE2, AVX2 and AVX-512; see zip.h.
 */
#ifndef BFS_FILTER_ZIP_X86_H
#define BFS_FILTER_ZIP_X86_H

#include "filter/zip.h"

#ifdef BFS_X86
#include <immintrin.h>

/* All CPUs with GFNI know PREFETCHW too. */
#define BFS_AVX512                                                           \
	"avx2,bmi2,prfchw,avx512f,avx512bw,avx512vl,avx512vbmi,gfni"

BFS_DEFINE_ZIP(bfs_zip_sse2, BFS_TARGET("sse2"), __m128i, _mm_unpacklo_epi8,
	       _mm_unpackhi_epi8)
BFS_DEFINE_ZIP(bfs_zip_avx2, BFS_TARGET("avx2"), __m256i,
	       _mm256_unpacklo_epi8, _mm256_unpackhi_epi8)
BFS_DEFINE_ZIP(bfs_zip_avx512, BFS_TARGET(BFS_AVX512), __m512i,
	       _mm512_unpacklo_epi8, _mm512_unpackhi_epi8)

#endif
#endif
