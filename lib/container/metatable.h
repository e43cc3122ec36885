/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metatable.h - the tables of metalayers in a frame's header and trailer,
 * and the array metalayer in particular.
 */
#ifndef BFS_CONTAINER_METATABLE_H
#define BFS_CONTAINER_METATABLE_H

#include "container/container.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* The part of a frame that holds a table: its place in the source, and its
 * first bytes in memory (buf_len may be less than len). */
struct bfs_section {
	struct bfs_source *source;
	uint64_t off;
	uint64_t len;
	const uint8_t *buf;
	size_t buf_len;
};

/* Parses the table that begins with 0x93 at `at` of the section and adds its
 * entries. An entry that does not hold is left out and blamed on the container;
 * a table that does not hold is the error. */
enum bfs_err bfs_metatable_parse(struct bfs_container *container,
				 const struct bfs_section *section, size_t at,
				 bool is_chunk,
				 struct bfs_diag *diag) BFS_MUST_CHECK;

/* Looks for b2nd or caterva among the fixed metalayers and fills
 * container->array. One that does not hold is blamed on the container. Fails
 * with errors of the moment alone. */
enum bfs_err bfs_metatable_array(struct bfs_container *container,
				 struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
