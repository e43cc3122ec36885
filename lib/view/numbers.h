/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numbers.h - numbers as file names (ten decimal digits, more only where the
 * number has more), and folders that hold one file or folder per chunk.
 */
#ifndef BFS_VIEW_NUMBERS_H
#define BFS_VIEW_NUMBERS_H

#include "view/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the name of n; name holds 21 bytes. */
void bfs_number_name(uint64_t n, char *name);
/* Whether name is exactly that of a number. */
bool bfs_number_parse(const char *name, size_t len, uint64_t *ret_n);

/* Lookup and list of a folder whose entry N is chunk N, as nodes of `kind`
 * with the chunk as index. */
bool bfs_per_chunk_lookup(struct bfs_file *file, const struct bfs_node *dir,
			  uint16_t kind, const char *name, size_t name_len,
			  struct bfs_node *ret_node);
bool bfs_per_chunk_list(struct bfs_file *file, const struct bfs_node *dir,
			uint16_t kind, uint64_t pos, char *name,
			struct bfs_node *ret_node);

#endif
