/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.h - where nodes are found: a slot for each id, buckets for names. For
 * nodes.c and the files that enter nodes; all calls with the tree's lock held.
 */
#ifndef BFS_DAEMON_TREE_TABLE_H
#define BFS_DAEMON_TREE_TABLE_H

#include "tree/tree.h"

#define ROOT_SLOT 1		/* FUSE's root id is 1 */

/* As bfs_mix in the library, of which the daemon sees bloscfs.h alone. */
static inline uint64_t tree_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* The node that a name leads to, or NULL. */
struct node *table_find(struct tree *tree, const struct node *parent,
			const char *name);
/* Makes a node's name lead to it, and not lead to it any more, if it does. */
void table_hash(struct tree *tree, struct node *node);
void table_unhash(struct tree *tree, struct node *node);
/* The node of an id, or NULL. */
struct node *table_node(struct tree *tree, uint64_t id);
/* Free slots where there are none. 0 or -ENOMEM. */
int table_grow_slots(struct tree *tree);
/* Gives a node its slot and its id. 0 or -ENOMEM. */
int table_take_slot(struct tree *tree, struct node *node);
void table_free_slot(struct tree *tree, uint64_t id);

#endif
