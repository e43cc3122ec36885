/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.h - the metalayers of a container as text. For view/meta/ alone.
 */
#ifndef BFS_VIEW_META_JSON_H
#define BFS_VIEW_META_JSON_H

#include "view/kept.h"

/* For bfs_kept_text: the object with all metalayers of one kind, those of
 * variable length where fixed is 0. */
enum bfs_err bfs_meta_make_json(struct bfs_file *file, unsigned fixed,
				char **ret_text, size_t *ret_len,
				struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
