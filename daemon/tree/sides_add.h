/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sides_add.h - one SOURCE more of several (sides.h), before mounting.
 */
#ifndef BFS_DAEMON_TREE_SIDES_ADD_H
#define BFS_DAEMON_TREE_SIDES_ADD_H

#include "tree/source.h"

/* path is as src_open has it. 0 or -errno: -ENAMETOOLONG, too, where it is the
 * number behind its name that has no room. */
int sides_add(struct src *src, const char *path);

#endif
