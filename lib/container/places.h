/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * places.h - whether each entry of a frame's index names a chunk of its own: a
 * damaged entry that names the chunk of another one makes wrong joined bytes.
 */
#ifndef BFS_CONTAINER_PLACES_H
#define BFS_CONTAINER_PLACES_H

#include "container/container.h"
#include "base/err.h"

/* CORRUPT where two entries name one place while stored bytes are named by
 * none (docs/errata.md, frames). Looks at the index once and keeps what it
 * found; more entries than BFS_PLACES_MAX are not compared. */
#define BFS_PLACES_MAX UINT64_C(262144)
enum bfs_err bfs_places_check(struct bfs_container *container,
			      struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
