/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * priv.h - what the files of the Bloscpack row share.
 */
#ifndef BFS_CONTAINER_BLOSCPACK_PRIV_H
#define BFS_CONTAINER_BLOSCPACK_PRIV_H

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

#endif
