/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * embed.h - the embed store of python-blosc2: a frame whose decoded bytes
 * are a heap of frames, found by keys in one of its metalayers.
 */
#ifndef BFS_CONTAINER_EMBED_H
#define BFS_CONTAINER_EMBED_H

#include "container/container.h"
#include "base/err.h"

/* Looks for the store's metalayers in an opened frame; if they are there, fills
 * members and tree of the container. What does not hold is blamed. */
enum bfs_err bfs_embed_open(struct bfs_container *container,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
