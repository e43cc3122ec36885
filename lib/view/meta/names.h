/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.h - metalayers by their file names. For view/meta/ and the page.
 */
#ifndef BFS_VIEW_META_NAMES_H
#define BFS_VIEW_META_NAMES_H

#include "view/meta/layers.h"

/* The file name of a metalayer, which stays while the container is open.
 * NOMEM where there is no memory for all of them. */
enum bfs_err bfs_meta_name(struct bfs_file *file,
			   const struct bfs_layer *layer,
			   const char **ret_name,
			   struct bfs_diag *diag) BFS_MUST_CHECK;
/* The number of the metalayer with this file name. */
bool bfs_meta_find_name(struct bfs_file *file, bool fixed, const char *name,
			size_t name_len, size_t *ret_index);
/* Frees what the view keeps: its release. */
void bfs_meta_free_names(void *state);

#endif
