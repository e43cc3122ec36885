/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zip_neon.h - zipping with NEON; see zip.h. Every AArch64 CPU has it, so
 * that functions need no target of their own.
 */
#ifndef BFS_FILTER_ZIP_NEON_H
#define BFS_FILTER_ZIP_NEON_H

#include "filter/zip.h"

#ifdef BFS_ARM64
#include <arm_neon.h>

BFS_DEFINE_ZIP(bfs_zip_neon, , uint8x16_t, vzip1q_u8, vzip2q_u8)

#endif
#endif
