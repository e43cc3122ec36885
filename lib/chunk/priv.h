/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * priv.h - a chunk being opened; for plan.c and tables.c.
 */
#ifndef BFS_CHUNK_PRIV_H
#define BFS_CHUNK_PRIV_H

#include "chunk/plan.h"

/* A chunk being opened, and the first bytes of it. */
struct opening {
	struct bfs_source *source;
	uint64_t off;
	uint8_t first[BFS_CHUNK_FIRST_READ];
	size_t first_len;
	struct bfs_chunk *chunk;
	bool sized;			/* its container says nbytes as well */
	struct bfs_diag *diag;
};

static inline enum bfs_err no_memory(struct bfs_diag *diag)
{
	return bfs_fail(diag, BFS_ERR_NOMEM, 0,
			"no memory for the plan of a chunk");
}

/* Reads from the chunk, out of the first read where it holds the range. */
enum bfs_err bfs_opening_fetch(struct opening *o, uint64_t at, void *buf,
			       size_t len) BFS_MUST_CHECK;
/* Reads what stands before the blocks of a chunk that has such; its pipeline is
 * known. */
enum bfs_err bfs_tables_open(struct opening *o) BFS_MUST_CHECK;
void bfs_tables_drop(struct bfs_chunk *chunk);

#endif
