/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * entries.h - nodes for entries within containers: made for one version of
 * their container, and good for those that go on from it. All calls may run
 * at once.
 */
#ifndef BFS_DAEMON_TREE_ENTRIES_H
#define BFS_DAEMON_TREE_ENTRIES_H

#include "tree/containers.h"
#include "tree/nodes.h"

/* The node for an entry within a container, as enter.h has it for the source.
 * -ESTALE if the container is at another version by now. */
int tree_enter_entry(struct tree *tree, struct node *parent,
		     const char *name, const struct entry *entry,
		     uint64_t *ret_id, uint64_t *ret_ino);
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

#endif
