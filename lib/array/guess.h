/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * guess.h - what is known of where bytes lie before a chunk's header is.
 */
#ifndef BFS_ARRAY_GUESS_H
#define BFS_ARRAY_GUESS_H

#include "array/priv.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether joining the chunks gives the array in C order: it has one dimension,
 * or its chunks and blocks are whole rows, and no chunk is padded. */
bool bfs_array_in_order(const struct bfs_array *array);

/* Where the blocks of [pos, pos + len) of a chunk lie whose header was not
 * read: the others take as much room, and some more is told than that. False
 * where there is no telling, or too much would be read in vain. */
bool bfs_guess_blocks(struct bfs_array *array, uint64_t n,
		      const struct bfs_span *span, uint32_t pos, uint64_t len,
		      struct bfs_range *ret_range);

#endif
