/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weave.h - weaving planes of bytes into elements, for the filters that
 * keep their data by byte of the element. Private to this room.
 *
 * Byte k of element i comes from byte i of plane k. Nothing outside the
 * planes is read, nothing outside the elements is written.
 */
#ifndef BFS_FILTER_WEAVE_H
#define BFS_FILTER_WEAVE_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The vector code takes this many planes at a time, or fewer. */
#define BFS_WEAVE_MAX 16

struct bfs_planes {
	const uint8_t *src;	/* plane 0; does not overlap dst */
	size_t stride;		/* from one plane to the next */
	size_t n;		/* elements, one byte of each in a plane */
	size_t n_planes;	/* 2 ... BFS_WEAVE_MAX; scalar: any */
	uint8_t *dst;		/* element 0 */
	size_t pitch;		/* from one element to the next: n_planes,
				 * or more where that is BFS_WEAVE_MAX */
};

void bfs_weave_scalar(const struct bfs_planes *p);
#ifdef BFS_ARM64
void bfs_weave_neon(const struct bfs_planes *p);
#endif
#ifdef BFS_X86
void bfs_weave_sse2(const struct bfs_planes *p);
void bfs_weave_avx2(const struct bfs_planes *p);
void bfs_weave_avx512(const struct bfs_planes *p);
#endif

/* What is done to elements on their way to where they belong. */
struct bfs_mixing {
	const uint8_t *const *planes;	/* or NULL: as bfs_planes says */
	bool sums;		/* planes hold differences of bytes */
	const uint8_t *ref;	/* NULL, or to XOR with: as long as dst */
};

/* Weaves and mixes in one pass. False, and nothing done, where there is no
 * such thing: only for elements of 2, 4 and 8 bytes, and not on all CPUs. */
bool bfs_weave_mixed(const struct bfs_planes *p, const struct bfs_mixing *mix);

/* Where each of the n planes (at most 16) begins. */
BFS_SIMD_INLINE
void bfs_find_planes(const struct bfs_planes *p, const struct bfs_mixing *mix,
		     unsigned n, const uint8_t **ret_plane)
{
	BFS_UNROLL
	for (unsigned k = 0; k < n; k++)
		ret_plane[k] = mix->planes ? mix->planes[k] :
					     p->src + k * p->stride;
}

#endif
