/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * streams.h - how the streams of a chunk lie in it, for the examination
 * (examine.h).
 */
#ifndef BFS_CONTAINER_STREAMS_H
#define BFS_CONTAINER_STREAMS_H

#include "chunk/plan.h"
#include "container/parts.h"
#include "base/err.h"
#include "source/source.h"

#include <stdbool.h>
#include <stdint.h>

/* What is odd about them. */
struct bfs_streams {
	bool shared;		/* two blocks begin at `at` */
	uint64_t unnamed;	/* bytes that no stream takes; the first of
				 * them is at `at` */
	uint64_t at;		/* in the source */
};

/* Of the chunk at span of source. Nothing is odd about one that does not hold,
 * which is left to who decodes it. */
enum bfs_err bfs_streams_look(struct bfs_source *source,
			      const struct bfs_span *span,
			      const struct bfs_codec_env *env,
			      struct bfs_streams *ret_streams,
			      struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
