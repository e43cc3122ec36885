/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chainend.h - what lies behind a chain of chunks that ends before its file
 * does: bytes that belong to no chunk, or chunks that were lost.
 */
#ifndef BFS_CONTAINER_CHAINEND_H
#define BFS_CONTAINER_CHAINEND_H

#include "chunk/plan.h"
#include "base/err.h"
#include "source/source.h"

#include <stdint.h>

/* The last chunk of the chain lies at off of source, h is its header. CORRUPT
 * where it may be shorter than it says or be followed by a chunk whose header
 * has one wrong byte: then the chain may have lost chunks. */
enum bfs_err bfs_chainend_check(struct bfs_source *source, uint64_t off,
				const struct bfs_chunk_head *h,
				struct bfs_diag *why) BFS_MUST_CHECK;

#endif
