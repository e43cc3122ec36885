/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * members.h - what a store's members are, for nesting.c: their bytes, and
 * whether they are containers themselves.
 */
#ifndef BFS_VIEW_MEMBERS_H
#define BFS_VIEW_MEMBERS_H

#include "view/view.h"

/* Whether a node is a member that is a container, or a folder of them that is a
 * table, where that is shown as one. */
bool bfs_member_is_container(struct bfs_file *file,
			     const struct bfs_node *node);
/* Opens such a node. */
enum bfs_err bfs_member_open(struct bfs_file *file,
			     const struct bfs_node *node,
			     struct bfs_container **ret_container,
			     struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
