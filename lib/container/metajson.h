/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metajson.h - metadata that decides how a container is shown, MessagePack or
 * JSON, as a document of JSON values (json_read.h).
 */
#ifndef BFS_CONTAINER_METAJSON_H
#define BFS_CONTAINER_METAJSON_H

#include "container/container.h"
#include "base/err.h"
#include "text/json_read.h"

/* The metalayer of that name, or NULL. */
const struct bfs_meta *bfs_meta_find(const struct bfs_meta *metas, size_t n,
				     const char *name);

/* Decodes a variable-length metalayer (at most 16 MiB) and gives its
 * MessagePack as JSON; bfs_document_free ends it. CORRUPT where it is none. */
enum bfs_err bfs_meta_decode(struct bfs_container *container,
			     const struct bfs_meta *meta,
			     struct bfs_document **ret_document,
			     struct bfs_diag *diag) BFS_MUST_CHECK;

/* A list of numbers >= 0 as the shape of an array; false where it is none or
 * has more than BFS_MAX_DIM. */
bool bfs_meta_shape(const struct bfs_value *list,
		    struct bfs_array_meta *array);

/* Makes container->array (linear, shape and dtype set) present if its items
 * fill nbytes exactly; typesize becomes their size. Else it stays absent. */
void bfs_meta_check_linear(struct bfs_container *container);

/* Looks for python-blosc2's __pack_tensor__: a plain tensor in the joined
 * data. */
enum bfs_err bfs_meta_tensor(struct bfs_container *container,
			     struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
