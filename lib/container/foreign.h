/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * foreign.h - stores of other systems, whose files may be Blosc chunks.
 */
#ifndef BFS_CONTAINER_FOREIGN_H
#define BFS_CONTAINER_FOREIGN_H

#include "base/err.h"
#include "source/dir.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether a directory is a store of Zarr or N5, an array or a group in one:
 * it holds .zarray, .zgroup or zarr.json, or an attributes.json that says n5
 * or how an array of N5 is cut. A few glances; IO where one fails. */
enum bfs_err bfs_foreign_store(int dirfd, bool *ret_is) BFS_MUST_CHECK;

/* The same of any directory, whose files are opened by name. */
enum bfs_err bfs_foreign_in(struct bfs_dir *dir, bool *ret_is,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

/* The same of the text of an attributes.json. */
bool bfs_foreign_is_n5(const char *text, size_t len);

#endif
