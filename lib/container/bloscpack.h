/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bloscpack.h - what the files of the Bloscpack row share.
 */
#ifndef BFS_CONTAINER_BLOSCPACK_H
#define BFS_CONTAINER_BLOSCPACK_H

#include "container/container.h"
#include "base/digest.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct bfs_bloscpack {
	unsigned version;		/* 0: the form of 8 bytes */
	enum bfs_digest_kind digest;
	uint64_t table;			/* where the offsets lie; 0 = none */
	uint64_t *offs;			/* found by walking, or NULL */
};

/* Reads the metadata section at `at`. Adds "metadata", sets container->array
 * for NumPy arrays; what does not hold is blamed. *ret_end is where the section
 * ends. Fails where even that cannot be known. */
enum bfs_err bfs_bloscpack_meta(struct bfs_container *container, uint64_t at,
				uint64_t *ret_end,
				struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
