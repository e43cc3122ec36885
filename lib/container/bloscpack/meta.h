/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * meta.h - the metadata section of a Bloscpack file.
 */
#ifndef BFS_CONTAINER_BLOSCPACK_META_H
#define BFS_CONTAINER_BLOSCPACK_META_H

#include "container/bloscpack/priv.h"

/* Reads the metadata section at `at`. Adds "metadata", sets container->array
 * for NumPy arrays; what does not hold is blamed. *ret_end is where the section
 * ends. Fails where even that cannot be known. */
enum bfs_err bfs_bloscpack_meta(struct bfs_container *container, uint64_t at,
				uint64_t *ret_end,
				struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
