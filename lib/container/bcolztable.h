/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bcolztable.h - a table of bcolz, which is a folder of columns and no
 * container: for the examination (examine.h).
 */
#ifndef BFS_CONTAINER_BCOLZTABLE_H
#define BFS_CONTAINER_BCOLZTABLE_H

#include "base/err.h"
#include "container/examine.h"
#include "source/dir.h"

#include <stdbool.h>

/* Whether a folder is one; errors are counted (base/moment.h). */
bool bfs_bcolztable_is(struct bfs_dir *dir) BFS_MUST_CHECK;
/* The list of columns against the folders, and the columns' numbers of rows
 * against one another. Columns that do not hold are left out of this: who looks
 * at each of them finds that. */
enum bfs_err bfs_bcolztable_examine(struct bfs_dir *dir,
				    const struct bfs_examiner *examiner,
				    struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
