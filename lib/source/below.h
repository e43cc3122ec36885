/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * below.h - files below a directory that are closed and opened again as
 * descriptors are scarce.
 */
#ifndef BFS_SOURCE_BELOW_H
#define BFS_SOURCE_BELOW_H

#include "base/err.h"
#include "source/fds.h"
#include "source/source.h"

/* The directory called name in dir, which it references. NULL on no memory
 * and where there is no such directory. */
struct bfs_fd *bfs_below_dir(struct bfs_fd *dir, const char *name)
	BFS_MUST_CHECK;

/* bfs_source_guarded, of a directory that may be let go, too. */
enum bfs_err bfs_below_file(struct bfs_fd *dir, const char *name,
			    const struct bfs_guard *guard,
			    struct bfs_source **ret_source,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
