/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opening.h - the opened container of a node: the one there is, or one that is
 * opened now and given to the tree.
 */
#ifndef BFS_DAEMON_TREE_OPENING_H
#define BFS_DAEMON_TREE_OPENING_H

#include "daemon.h"

/* The opened container that node is or lies in, at its present version. */
int look_container(struct daemon *daemon, struct node *node,
	       struct container **ret_container);

/* Opens the container at path, be it a file or a directory. 0 or -errno; what
 * the library says against it is in *why then, else why->err is 0. */
int look_open(struct daemon *daemon, const char *path,
	      struct opened *ret_opened, struct bloscfs_diag *why);

#endif
