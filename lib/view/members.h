/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * members.h - what a store's members are, for nesting.c: their bytes, and
 * whether they are containers themselves.
 */
#ifndef BFS_VIEW_MEMBERS_H
#define BFS_VIEW_MEMBERS_H

#include "view/view.h"

/* The bytes of a member as a source of their own (unref it), and its name. */
enum bfs_err bfs_member_source(struct bfs_file *file,
			       const struct bfs_node *node,
			       struct bfs_source **ret_source,
			       const char **ret_name,
			       struct bfs_diag *diag) BFS_MUST_CHECK;
/* Whether a node is a member that is a container. */
bool bfs_member_is_container(struct bfs_file *file,
			     const struct bfs_node *node);

#endif
