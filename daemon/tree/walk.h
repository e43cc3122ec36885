/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk.h - from a directory and a path to a descriptor: no symlink is followed
 * and nothing above the directory reached. Failures are -errno.
 */
#ifndef BFS_DAEMON_TREE_WALK_H
#define BFS_DAEMON_TREE_WALK_H

#include "tree/nested.h"

#include <stdbool.h>

/* Whether the kernel has no openat2 for us. */
bool walk_lacks_openat2(int dir_fd);
/* A descriptor. plainly: without openat2. -EXDEV for a mount of bloscfs and
 * what lies in one; in the first case *ret_nested describes it, else it is
 * zeroed. */
int walk_open(int base, const char *path, int flags, bool plainly,
	      struct nested *ret_nested);

#endif
