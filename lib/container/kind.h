/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kind.h - what an opened container is, beyond its format; and frames without
 * data in their chunks: recipes (lazy expressions) of python-blosc2, and
 * proxies that hold those chunks of another array which were fetched.
 */
#ifndef BFS_CONTAINER_KIND_H
#define BFS_CONTAINER_KIND_H

#include "chunk/plan.h"
#include "container/parts.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct bfs_container;

/* Finds kind, no_blank and n_fetched of a container that its row has opened.
 * Index and headers of chunks are read of recipes and proxies only. Fails with
 * errors of the moment alone. */
enum bfs_err bfs_kind_find(struct bfs_container *container,
			   struct bfs_diag *diag) BFS_MUST_CHECK;

/* UNSUPPORTED for a proxy that lacks chunks. */
enum bfs_err bfs_kind_check(const struct bfs_container *container,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

/* The name for users; never NULL. */
const char *bfs_kind_name(enum bfs_kind kind);

/* Whether an entry of the index may stand for a chunk that a recipe or proxy
 * never wrote. python-blosc2 leaves entries of either kind for those. Chunks of
 * zeros that were fetched look the same and are refused with them: an error is
 * better than zeros where the data are not zeros. Asked of each entry of an
 * index. */
static inline bool bfs_kind_is_blank(enum bfs_chunk_kind special)
{
	return special == BFS_CHUNK_UNINIT || special == BFS_CHUNK_ZEROS;
}

/* Why a chunk that was never written cannot be read: UNSUPPORTED. */
enum bfs_err bfs_kind_refuse(const struct bfs_container *container,
			     struct bfs_diag *diag);

#endif
