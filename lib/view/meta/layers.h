/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layers.h - one metalayer of a container, fixed or of variable length, and
 * its bytes. For view/meta/ alone.
 */
#ifndef BFS_VIEW_META_LAYERS_H
#define BFS_VIEW_META_LAYERS_H

#include "view/kept.h"

struct bfs_layer {
	const struct bfs_meta *meta;
	bool fixed;
	size_t index;			/* among those of its kind */
};

/* Metalayer `index` of a kind; false behind the last. */
bool bfs_layer_find(const struct bfs_file *file, bool fixed, uint64_t index,
		    struct bfs_layer *ret_layer);
/* The stream that gives its bytes, decoded. */
struct bfs_stream bfs_layer_stream(const struct bfs_layer *layer);
enum bfs_err bfs_layer_len(struct bfs_file *file,
			   const struct bfs_layer *layer, uint64_t *ret_len,
			   struct bfs_diag *diag) BFS_MUST_CHECK;
/* Its first len bytes. */
enum bfs_err bfs_layer_read(struct bfs_file *file,
			    const struct bfs_layer *layer, void *buf,
			    size_t len, struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
