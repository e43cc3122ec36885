/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.h - where nodes are found: a slot for each id, buckets for names. For
 * nodes.c and the files that enter nodes; all calls with the tree's lock held.
 * Both grow by one or two at a time, so that the lock is not held for longer
 * where there are more nodes.
 */
#ifndef BFS_DAEMON_TREE_TABLE_H
#define BFS_DAEMON_TREE_TABLE_H

#include "tree/hash.h"
#include "tree/tree.h"

#define ROOT_SLOT 1		/* FUSE's root id is 1 */

/* Makes both, empty. 0 or -ENOMEM; table_release in either case. */
int table_init(struct tree *tree);
void table_release(struct tree *tree);

/* The node that a name leads to, or NULL. */
struct node *table_find(struct tree *tree, const struct node *parent,
			const char *name);
/* Makes a node's name lead to it, and not lead to it any more, if it does. */
void table_hash(struct tree *tree, struct node *node);
void table_unhash(struct tree *tree, struct node *node);
/* The node of an id, or NULL. */
struct node *table_node(struct tree *tree, uint64_t id);
/* Gives a node its slot and its id. 0 or -ENOMEM. */
int table_take_slot(struct tree *tree, struct node *node);
void table_free_slot(struct tree *tree, uint64_t id);

#endif
