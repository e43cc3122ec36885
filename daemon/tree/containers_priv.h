/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * containers_priv.h - what nodes.c and enter.c need of the opened containers.
 *
 * Closing a container may take long, so calls under the lock only collect
 * what is to be closed, linked by older.
 */
#ifndef BFS_DAEMON_TREE_CONTAINERS_PRIV_H
#define BFS_DAEMON_TREE_CONTAINERS_PRIV_H

#include "tree/containers.h"

/* Parts a node from its opened container, if it has one. With the lock
 * held. */
void containers_detach(struct tree *tree, struct node *node,
		       struct container **closing);
/* Notes that the file of a node's opened container has changed; another file
 * cannot go on from it. With the lock held. */
void containers_outdate(struct tree *tree, struct node *node, bool same_file,
			struct container **closing);
/* Whether the parts of a tree agree with one another: a walk over all of it,
 * for assertions (sound.c). With the lock held. */
bool tree_is_sound(const struct tree *tree);
/* Without the lock. */
void containers_close(struct container *closing);

#endif
