/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nesting.h - an opened container and the containers inside it, as one
 * tree of entries.
 *
 * Containers inside (members of stores) get a number when they are looked
 * up, which stays theirs; they are opened when needed, and the ones not used
 * lately are closed. Calls may run at once in any threads.
 */
#ifndef BFS_VIEW_NESTING_H
#define BFS_VIEW_NESTING_H

#include "view/view.h"

#define BFS_NESTING_DEPTH 8 /* containers in containers */
#define BFS_NESTING_OPEN 64 /* kept open while nobody reads them */

struct bfs_nesting;

/* An entry of any of them: `child` 0 is the outermost container. */
struct bfs_place {
	uint32_t child;
	struct bfs_node node;
};

/* Takes over root, also on failure. */
enum bfs_err bfs_nesting_new(struct bfs_engine *engine, uint32_t views,
			     struct bfs_file *root,
			     struct bfs_nesting **ret_nesting,
			     struct bfs_diag *diag) BFS_MUST_CHECK;
void bfs_nesting_free(struct bfs_nesting *nesting);

/* The opened container of a place, until given back. */
enum bfs_err bfs_nesting_take(struct bfs_nesting *nesting, uint32_t child,
			      struct bfs_file **ret_file,
			      struct bfs_diag *diag) BFS_MUST_CHECK;
void bfs_nesting_give(struct bfs_nesting *nesting, uint32_t child);

/* A number for a place that does not depend on what was looked up before. */
uint64_t bfs_nesting_id(struct bfs_nesting *nesting,
			const struct bfs_place *place);

/* Whether any container inside got a number. */
bool bfs_nesting_has_children(struct bfs_nesting *nesting);

/* As bfs_file_lookup and bfs_file_list, into containers inside too. */
bool bfs_nesting_lookup(struct bfs_nesting *nesting,
			const struct bfs_place *dir, const char *name,
			size_t name_len, struct bfs_place *ret_place);
bool bfs_nesting_list(struct bfs_nesting *nesting, const struct bfs_place *dir,
		      uint64_t pos, char *name, struct bfs_place *ret_place);

#endif
