/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chunkfacts.h - what index and header tell about one chunk, without a byte
 * of it decoded: for attributes, the table and the map of chunks.
 */
#ifndef BFS_VIEW_CHUNKFACTS_H
#define BFS_VIEW_CHUNKFACTS_H

#include "container/container.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct bfs_chunk_facts {
	enum bfs_status status;		/* as far as headers tell */
	bool placed;			/* span is known */
	bool stored;			/* it has a header of its own */
	bool has_head;			/* and this is it */
	bool has_len;
	struct bfs_span span;
	struct bfs_chunk_head head;
	enum bfs_chunk_kind kind;	/* head's, or the index's; if placed
					 * and a header is there */
	uint32_t nbytes;		/* decoded; if has_len */
};

/* The facts about chunk n, from at most one read of a header, but for special
 * chunks whose size only the sizes of all others tell: these are found once
 * and kept. Damage is a fact; what fails is what says nothing about the
 * chunk: no memory, a source that cannot be read or that changed. */
enum bfs_err bfs_chunk_find_facts(struct bfs_container *container, uint64_t n,
				  struct bfs_chunk_facts *ret_facts,
				  struct bfs_diag *diag) BFS_MUST_CHECK;

/* Whether the index says that chunk n reads as zeros; damage does not. */
bool bfs_chunk_is_hole(struct bfs_container *container, uint64_t n);

/* "zeros", "nan", "value" or "uninit"; NULL for other kinds. */
const char *bfs_special_name(enum bfs_chunk_kind kind);

#endif
