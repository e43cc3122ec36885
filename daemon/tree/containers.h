/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * containers.h - opened containers: one per node, shared by its users. Idle
 * ones are closed, the longest unused first, when there are too many.
 *
 * A container whose file has changed stays with its node until the file is
 * opened anew, which may turn out to go on from it. One whose file was replaced
 * by another, or that no name leads to, is closed with its last use. All calls
 * may run at once.
 */
#ifndef BFS_DAEMON_TREE_CONTAINERS_H
#define BFS_DAEMON_TREE_CONTAINERS_H

#include "tree/tree.h"

#include <stdatomic.h>

/* What was not looked at for longer may have changed in any way: another
 * opening takes nothing over from it. */
#define WATCHED_NS (INT64_C(30) * 1000000000)

/* An opened container, as it was at one version. */
struct container {
	struct bloscfs_file *file;
	struct src_stat st;
	uint32_t version;
	uint32_t refs;
	struct node *node;		/* NULL: closed with the last ref */
	struct container *newer, *older;	/* among the idle */
	bool hot;			/* the file had changed just then */
	_Atomic int64_t seen;		/* when it was still so, ns */
	atomic_bool replaced;		/* its file has changed since */
};

/* The opened container of a node if it was opened as st, with a reference;
 * NULL if it must be opened. */
struct container *tree_find_container(struct tree *tree, struct node *node,
				      const struct src_stat *st);
/* Any opened container of the node, however old. */
struct container *tree_any_container(struct tree *tree, struct node *node);
/* The same, where there will be no other any more. */
struct container *tree_last_container(struct tree *tree, struct node *node);
/* What opening a container came to. */
struct opened {
	struct bloscfs_file *file;
	struct src_stat st;
	bool hot;
	struct container *continues;	/* the container that it goes on from */
};

/* Gives an opened container to its node. If another thread was faster that
 * one's is returned and the file is closed. NULL on no memory. */
struct container *tree_add_container(struct tree *tree, struct node *node,
				     const struct opened *opened);
/* Another reference. */
struct container *tree_hold_container(struct tree *tree,
				      struct container *container);
/* Closes the idle ones whose files were removed, since who removes a big file
 * wants its space back; those that were written to and not looked at for
 * WATCHED_NS; and, while there are many descriptors, the longest unused. */
void tree_sweep(struct tree *tree);
/* Closes the idle ones but a few: even little memory has to be waited for. */
void tree_shed_idle(struct tree *tree);
void tree_put_container(struct tree *tree, struct container *container);

#endif
