/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * indexed.h - containers whose chunks are found through an index (index.h).
 */
#ifndef BFS_CONTAINER_INDEXED_H
#define BFS_CONTAINER_INDEXED_H

#include "container/container.h"
#include "container/index.h"

/* Opens the index of a frame and takes it over: index and n_chunks, which must
 * fit nbytes and chunksize. */
enum bfs_err bfs_index_attach(struct bfs_container *container, uint64_t off,
			      uint64_t avail,
			      struct bfs_diag *diag) BFS_MUST_CHECK;

/* Where chunk n of a frame with an index and a data section lies. */
enum bfs_err bfs_index_span(struct bfs_container *container, uint64_t n,
			    struct bfs_span *ret_span,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
