/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nodes.h - the nodes that the kernel knows (tree.h): found, made, let go.
 * All calls may run at once.
 */
#ifndef BFS_DAEMON_TREE_NODES_H
#define BFS_DAEMON_TREE_NODES_H

#include "tree/tree.h"

/* 0 or -ENOMEM. The root takes kind and st; it lives as long as the tree. */
int tree_init(struct tree *tree, enum node_kind kind,
	      const struct src_stat *st, size_t max_idle);
/* Nothing may be in use any more. */
void tree_release(struct tree *tree);

/* The node of an id, with a reference, or NULL (ESTALE). */
struct node *tree_get(struct tree *tree, uint64_t id);
void tree_put(struct tree *tree, struct node *node);
/* Counts an open file or directory; it holds a reference too. */
void tree_opened(struct tree *tree, struct node *node);
void tree_closed(struct tree *tree, struct node *node);
void tree_forget(struct tree *tree, uint64_t id, uint64_t n_lookups);
/* Counts a lookup of a node that the caller holds. */
void tree_looked_up(struct tree *tree, struct node *node);

/* How much there is of what. */
void tree_count(struct tree *tree, uint64_t *ret_nodes,
		uint64_t *ret_open, uint64_t *ret_idle);
/* Whether a node is the container beside its folder (overlay.h). */
bool tree_is_beside(const struct node *node);
/* The container's node that an entry lies in; a NODE_CONTAINER itself. */
struct node *tree_owner(struct node *node);
/* A copy of what the lock guards. */
void tree_stat(struct tree *tree, struct node *node, struct src_stat *ret_st,
	       uint64_t *ret_ino, bool *ret_open);
/* The inode's number to tell. number: of an entry, else 0. */
uint64_t tree_ino(const struct src_stat *st, enum node_kind kind,
		  uint64_t number);

#endif
