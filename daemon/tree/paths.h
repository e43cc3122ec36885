/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * paths.h - paths of nodes below the source's root.
 */
#ifndef BFS_DAEMON_TREE_PATHS_H
#define BFS_DAEMON_TREE_PATHS_H

#include "tree/tree.h"

/* Path of a node below the source's root, "" for the root: through
 * containers too, by the names that they have in the source. 0 or
 * -ENAMETOOLONG. */
int tree_path(struct node *node, char *buf, size_t cap);
/* The same however long it is, to be freed; NULL on no memory. */
char *tree_long_path(struct node *node);

#endif
