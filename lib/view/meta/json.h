/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.h - the metalayers of a container as text. For view/meta/ and the page.
 */
#ifndef BFS_VIEW_META_JSON_H
#define BFS_VIEW_META_JSON_H

#include "text/json.h"
#include "view/meta/layers.h"

/* For bfs_kept_text: the object with all metalayers of one kind, those of
 * variable length where fixed is 0. */
enum bfs_err bfs_meta_make_json(struct bfs_file *file, unsigned fixed,
				char **ret_text, size_t *ret_len,
				struct bfs_diag *diag) BFS_MUST_CHECK;

/* The value of one metalayer, for which at most *left bytes are decoded; what
 * was is taken off. Fails for errors of the moment; what is wrong with the
 * metalayer itself becomes its value. */
enum bfs_err bfs_meta_put_value(struct bfs_file *file,
				const struct bfs_layer *layer,
				struct bfs_json *json, uint64_t *left,
				struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
