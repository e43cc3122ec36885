/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verdict.h - whether an opened container is sound: found out by facts.c, kept
 * with the container.
 */
#ifndef BFS_VIEW_VERDICT_H
#define BFS_VIEW_VERDICT_H

#include "base/err.h"
#include "chunk/plan.h"
#include "container/container.h"

#include <stdbool.h>

/* The verdict, and the header that it was found with. */
struct bfs_verdict {
	enum bfs_status status;
	struct bfs_diag why;		/* when status is not GOOD */
	bool has_head;
	struct bfs_chunk_head head;	/* of the first stored chunk */
};

#endif
