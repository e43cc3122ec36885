/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * priv.h - what the files of the Bloscpack row share.
 */
#ifndef BFS_CONTAINER_BLOSCPACK_PRIV_H
#define BFS_CONTAINER_BLOSCPACK_PRIV_H

#include "container/container.h"
#include "base/digest.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct bfs_bloscpack {
	unsigned version;		/* 0: the form of 8 bytes */
	enum bfs_digest_kind digest;
	uint64_t table;			/* where the offsets lie; 0 = none */
	uint64_t *offs;			/* found by walking, or NULL */
};

#define PIECE (UINT32_C(256) << 10)	/* what is read at once */
#define UNKNOWN INT64_C(-1)

/* The numbers of the file's header. */
struct header {
	unsigned options;
	int64_t chunk_size, last;	/* UNKNOWN, or of all chunks but the
					 * last one, and of that */
	int64_t n_chunks, max_app;
	uint64_t data;			/* where the chunks would begin */
};

static inline struct bfs_bloscpack *priv(const struct bfs_container *f)
{
	return f->priv;
}

/* A plausible chunk at off, and where the next one would be. */
enum bfs_err bfs_bloscpack_peek(struct bfs_container *f, uint64_t off,
				struct bfs_chunk_head *h, uint64_t *ret_next,
				struct bfs_diag *why) BFS_MUST_CHECK;
/* As the row has it. */
enum bfs_err bfs_bloscpack_verify(struct bfs_container *f,
				  const struct bfs_span *span,
				  struct bfs_diag *diag) BFS_MUST_CHECK;
enum bfs_err bfs_bloscpack_span(struct bfs_container *f, uint64_t n,
				struct bfs_span *ret_span,
				struct bfs_diag *diag) BFS_MUST_CHECK;
/* Finds all chunks and their sizes; what does not hold is blamed. */
enum bfs_err bfs_bloscpack_find_chunks(struct bfs_container *f,
				       const struct header *h,
				       struct bfs_diag *diag) BFS_MUST_CHECK;
/* Whether the file, whose first len bytes are p, has the oldest form. It has no
 * version: its chunks must reach the end of the file in the number that it
 * says. */
bool bfs_bloscpack_is_oldest(struct bfs_container *f, const uint8_t *p,
			     size_t len);

#endif
