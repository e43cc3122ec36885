/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * index.h - the index of a frame: a chunk of 64-bit entries, decoded by its
 * own blocks when they are touched and never expanded whole.
 */
#ifndef BFS_CONTAINER_INDEX_H
#define BFS_CONTAINER_INDEX_H

#include "chunk/plan.h"
#include "cache/cache.h"
#include "container/parts.h"
#include "base/err.h"
#include "source/source.h"

#include <stdint.h>

struct bfs_index;

/* Opens the index chunk at off, of which avail bytes may belong to it.
 * References source. Its blocks go to the cache (blocks.h; NULL: to one of
 * their own). *ret_n is the number of entries. */
enum bfs_err bfs_index_open(struct bfs_cache *cache, struct bfs_source *source,
			    uint64_t off, uint64_t avail,
			    struct bfs_index **ret_index, uint64_t *ret_n,
			    struct bfs_diag *diag) BFS_MUST_CHECK;
void bfs_index_close(struct bfs_index *index);	/* NULL is fine */

/* Entry n (< number of entries). Any threads at once; the place in diag
 * counts from the start of the source. */
enum bfs_err bfs_index_get(struct bfs_index *index, uint64_t n,
			   int64_t *ret_entry,
			   struct bfs_diag *diag) BFS_MUST_CHECK;

/* Entries from n on, as many as can be had in one step: at least one, at most
 * `most` (> 0), none beyond the block of entry n. They are in buf,
 * little-endian; or, where *ret_same is set, all *ret_n of them are equal to
 * the one entry in the first 8 bytes of buf, and *ret_n may be any number. */
#define BFS_INDEX_WINDOW 4096
enum bfs_err bfs_index_window(struct bfs_index *index, uint64_t n,
			      uint64_t most, uint8_t *buf, uint64_t *ret_n,
			      bool *ret_same,
			      struct bfs_diag *diag) BFS_MUST_CHECK;
/* The first entry behind the block that entry n is decoded in. */
uint64_t bfs_index_next_block(const struct bfs_index *index, uint64_t n);

/* A number made of the first n entries: equal entries, equal numbers. */
enum bfs_err bfs_index_digest(struct bfs_index *index, uint64_t n,
			      uint64_t *ret_digest,
			      struct bfs_diag *diag) BFS_MUST_CHECK;

/* What an entry of a current frame means: sets special, and for a stored chunk
 * off to the entry itself: a place, or in a sparse frame the number of a file.
 * CORRUPT for junk. */
enum bfs_err bfs_index_decode(int64_t entry, struct bfs_span *span,
			      struct bfs_diag *diag) BFS_MUST_CHECK;

/* Stored bytes of the index chunk. */
uint32_t bfs_index_cbytes(const struct bfs_index *index);

#endif
