/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layers.c - finding metalayers and reading their bytes.
 */
#include "view/meta/layers.h"

bool bfs_layer_find(const struct bfs_file *file, bool fixed, uint64_t index,
		    struct bfs_layer *ret_layer)
{
	const struct bfs_container *container = file->array->container;

	if (index >= (fixed ? container->n_metas : container->n_vlmetas))
		return false;
	ret_layer->meta =
		(fixed ? container->metas : container->vlmetas) + index;
	ret_layer->fixed = fixed;
	ret_layer->index = (size_t)index;
	return true;
}

struct bfs_stream bfs_layer_stream(const struct bfs_layer *layer)
{
	return (struct bfs_stream){
		layer->fixed ? BFS_STREAM_META : BFS_STREAM_VLMETA,
		layer->index,
	};
}

enum bfs_err bfs_layer_len(struct bfs_file *file,
			   const struct bfs_layer *layer, uint64_t *ret_len,
			   struct bfs_diag *diag)
{
	struct bfs_stream stream = bfs_layer_stream(layer);

	return bfs_array_len(file->array, &stream, ret_len, diag);
}

enum bfs_err bfs_layer_read(struct bfs_file *file,
			    const struct bfs_layer *layer, void *buf,
			    size_t len, struct bfs_diag *diag)
{
	struct bfs_stream stream = bfs_layer_stream(layer);

	return bfs_array_read(file->array, &stream, 0, buf, len, diag);
}
