/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shuffle.h - weaving planes of bytes into elements, for the filters that
 * keep their data by byte of the element. Private to this room.
 *
 * Byte k of element i comes from byte i of plane k. Nothing outside the
 * planes is read, nothing outside the elements is written.
 */
#ifndef BFS_SHUFFLE_H
#define BFS_SHUFFLE_H

#include "compiler.h"

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
#ifdef BFS_X86
void bfs_weave_sse2(const struct bfs_planes *p);
void bfs_weave_avx2(const struct bfs_planes *p);
#endif

#endif
