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

/* What is known of a name: false if it has no node. */
bool tree_known(struct tree *tree, struct node *parent, const char *name,
		enum node_kind *ret_kind, struct src_stat *ret_st);
/* The node for an entry of a source directory as it was found to be, with
 * one lookup counted. An older node of the name that is something else is
 * left to those who have it open. *ret_id and *ret_ino are what to tell the
 * kernel. 0 or -ENOMEM. */
int tree_enter_source(struct tree *tree, struct node *parent,
		      const char *name, enum node_kind kind,
		      const struct src_stat *st, uint64_t *ret_id,
		      uint64_t *ret_ino);
/* The same for an entry within a container. -ESTALE if the container is at
 * another version by now. */
int tree_enter_entry(struct tree *tree, struct node *parent,
		     const char *name, const struct entry *entry,
		     uint64_t *ret_id, uint64_t *ret_ino);
/* The mount's own folder, or a new node for one snapshot of a file in it,
 * which takes over the text, on failure too. 0 or -ENOMEM. */
int tree_enter_control(struct tree *tree, struct node *parent,
		       const char *name, const struct control *control,
		       uint64_t *ret_id);
uint64_t tree_control_ino(uint32_t file);
/* Whether name in parent is the mount's own folder. */
bool tree_is_control(const struct node *parent, const char *name);
/* How much there is of what. */
void tree_count(struct tree *tree, uint64_t *ret_nodes,
		uint64_t *ret_open, uint64_t *ret_idle);
/* The name is gone. */
void tree_drop(struct tree *tree, struct node *parent, const char *name);
/* A source node was found to be st now. */
void tree_update(struct tree *tree, struct node *node,
		 const struct src_stat *st);

/* Notes that a plain file is opened as st; whether it was the same when it
 * was opened last. */
bool tree_note_open(struct tree *tree, struct node *node,
		    const struct src_stat *st);

/* The container's node that an entry lies in; a NODE_CONTAINER itself. */
struct node *tree_owner(struct node *node);
/* A copy of what the lock guards. */
void tree_stat(struct tree *tree, struct node *node, struct src_stat *ret_st,
	       uint64_t *ret_ino, bool *ret_open);
/* Whether an entry belongs to its container's present version. */
bool tree_is_current(struct tree *tree, struct node *entry);
/* An entry's attributes as they were last seen. */
struct bloscfs_attr tree_entry_attr(struct tree *tree, struct node *entry);
void tree_note_attr(struct tree *tree, struct node *entry,
		    const struct bloscfs_attr *attr);
/* Whether an entry's bytes are in this opening of its container. */
bool tree_holds(struct tree *tree, struct node *entry,
		const struct container *container);
/* Notes that an entry is opened at a version; whether it was the same when it
 * was opened last. */
bool tree_note_entry(struct tree *tree, struct node *entry, uint32_t version);

/* The inode's number to tell. number: of an entry, else 0. */
uint64_t tree_ino(const struct src_stat *st, enum node_kind kind,
		  uint64_t number);

#endif
