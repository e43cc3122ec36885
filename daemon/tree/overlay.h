/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overlay.h - containers beside folders: what a table as a whole has to show
 * stands among the entries of the folder that it is.
 *
 * Such a container's node is a child of the folder with a name that no entry
 * has, and the folder's own path. Failures are -errno.
 */
#ifndef BFS_DAEMON_TREE_OVERLAY_H
#define BFS_DAEMON_TREE_OVERLAY_H

#include "daemon.h"

/* The node of the container beside a folder, to be put back (tree_put);
 * -ENOENT where there is none. */
int overlay_enter(struct daemon *daemon, struct node *folder,
		  struct node **ret_node);
/* Name i of those that it may show; NULL behind the last. */
const char *overlay_name(const struct daemon *daemon, size_t i);
/* Whether a name is one of those. */
bool overlay_may_have(const struct daemon *daemon, const char *name);

#endif
