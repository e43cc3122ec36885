/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks.h - decoded blocks of a chunk that the container reads for itself (an
 * index, the reference of a delta), kept in the cache that has the data.
 *
 * Lock order: who reads one may hold claims of data blocks of the same
 * container or of one inside it. So filling one waits for nothing but block 0
 * of the same chunk, and for what its source waits for: the blocks of a
 * container around. It never waits for data blocks of this container.
 */
#ifndef BFS_CONTAINER_BLOCKS_H
#define BFS_CONTAINER_BLOCKS_H

#include "base/err.h"
#include "cache/cache.h"
#include "chunk/plan.h"
#include "source/source.h"

#include <stdint.h>

struct bfs_blocks;

/* The blocks of the planned chunk at off of source. References source; takes
 * the plan over, also on failure. The cache must outlive the blocks; NULL: they
 * get a small one of their own. */
enum bfs_err bfs_blocks_new(struct bfs_cache *cache, struct bfs_source *source,
			    uint64_t off, struct bfs_chunk *chunk,
			    struct bfs_blocks **ret_blocks,
			    struct bfs_diag *diag) BFS_MUST_CHECK;
/* No pin may be left. NULL is fine. */
void bfs_blocks_free(struct bfs_blocks *blocks);

/* The plan, borrowed. */
const struct bfs_chunk *bfs_blocks_chunk(const struct bfs_blocks *blocks);

/* Pins block k (< n_blocks), which this thread or another one decodes where the
 * cache has it not. Any threads at once; the place in diag counts from the
 * start of the source. */
enum bfs_err bfs_blocks_pin(struct bfs_blocks *blocks, uint32_t k,
			    struct bfs_cache_pin *ret_pin,
			    struct bfs_diag *diag) BFS_MUST_CHECK;
void bfs_blocks_unpin(struct bfs_blocks *blocks, struct bfs_cache_pin *pin);

#endif
