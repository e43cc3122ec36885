/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nodes_priv.h - how nodes are made, for the files that enter them. With the
 * lock held.
 */
#ifndef BFS_DAEMON_TREE_NODES_PRIV_H
#define BFS_DAEMON_TREE_NODES_PRIV_H

#include "tree/nodes.h"

/* A new node below parent, with one lookup. NULL on no memory. */
struct node *nodes_add(struct tree *tree, struct node *parent,
		       const char *name, enum node_kind kind);
/* The same, to which no name leads. */
struct node *nodes_add_nameless(struct tree *tree, struct node *parent,
				const char *name, enum node_kind kind);

#endif
