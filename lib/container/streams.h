/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * streams.h - how the streams of a chunk lie in it, for the examination
 * (examine.h).
 */
#ifndef BFS_CONTAINER_STREAMS_H
#define BFS_CONTAINER_STREAMS_H

#include "container/container.h"
#include "container/examine.h"

/* Of stored chunk n at span of source (a sweep): blocks that begin at one place
 * are damage, bytes of the chunk that belong to no stream a note. A chunk that
 * does not hold is left to who decodes it. */
enum bfs_err bfs_streams_examine(struct bfs_container *container, uint64_t n,
				 struct bfs_source *source,
				 const struct bfs_span *span,
				 const struct bfs_examiner *examiner,
				 struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
