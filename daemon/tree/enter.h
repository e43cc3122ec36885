/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * enter.h - nodes for entries of the source, found or made as a look at the
 * source tells, and for the mount's own folder. All calls may run at once.
 */
#ifndef BFS_DAEMON_TREE_ENTER_H
#define BFS_DAEMON_TREE_ENTER_H

#include "tree/nodes.h"

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
/* The mount's own folder, or a new node for one snapshot of a file in it,
 * which takes over the text, on failure too. 0 or -ENOMEM. */
int tree_enter_control(struct tree *tree, struct node *parent,
		       const char *name, const struct control *control,
		       uint64_t *ret_id);
uint64_t tree_control_ino(uint32_t file);
/* Whether name in parent is the mount's own folder. */
bool tree_is_control(const struct node *parent, const char *name);
/* The name is gone. */
void tree_drop(struct tree *tree, struct node *parent, const char *name);
/* A source node was found to be st now. */
void tree_update(struct tree *tree, struct node *node,
		 const struct src_stat *st);

/* Notes that a plain file is opened as st; whether it was the same when it
 * was opened last. */
bool tree_note_open(struct tree *tree, struct node *node,
		    const struct src_stat *st);

#endif
