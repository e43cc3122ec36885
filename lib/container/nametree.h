/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nametree.h - the name tree of a store: paths of its members as file names,
 * every component escaped, no two names equal in one directory.
 *
 * Immutable once built. Children of a node lie side by side, sorted by name,
 * so that a directory lists in constant time per entry.
 */
#ifndef BFS_CONTAINER_NAMETREE_H
#define BFS_CONTAINER_NAMETREE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BFS_NAMETREE_MAX (UINT32_C(1) << 20)	/* nodes */
#define BFS_NAMETREE_DEPTH 64

/* A path as stored; a '/' at its end makes it a directory. */
struct bfs_path {
	const char *text;
	size_t len;
	uint32_t member;		/* the caller's number */
};

struct bfs_name_node {
	char *name;			/* owned, as a file name */
	uint32_t parent;
	uint32_t first, n_children;	/* in nodes */
	int64_t member;			/* -1: a directory */
};

struct bfs_nametree {
	struct bfs_name_node *nodes;	/* [0] is the root */
	uint32_t n;
};

/* Of two equal names, or a name that is both a file and a directory, the
 * later one gets "%~2". LIMIT beyond the bounds above. */
enum bfs_err bfs_nametree_build(const struct bfs_path *paths, size_t n,
				struct bfs_nametree **ret_tree,
				struct bfs_diag *diag) BFS_MUST_CHECK;
void bfs_nametree_free(struct bfs_nametree *tree);	/* NULL is fine */

/* A copy of what lies below a node: numbers of members are those of tree. */
enum bfs_err bfs_nametree_cut(const struct bfs_nametree *tree, uint32_t node,
			      struct bfs_nametree **ret_tree,
			      struct bfs_diag *diag) BFS_MUST_CHECK;

/* Orders a name before, as or after one of len bytes, as strcmp does. */
int bfs_name_compare(const char *have, const char *name, size_t len);

/* The child of dir with this name; false when there is none. */
bool bfs_nametree_find(const struct bfs_nametree *tree, uint32_t dir,
		       const char *name, size_t len, uint32_t *ret_node);

/* A name as a file name: '%', '/' and control bytes as %XX, "" as "%", "."
 * and ".." spelt out, the n-th (n >= 2) of equal names with "%~n" behind.
 * NULL on no memory. */
char *bfs_name_escape(const char *name, size_t len, size_t nth) BFS_MUST_CHECK;

#endif
