/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * examine.h - what is wrong with how a container is laid out, beyond what
 * serving it needs to know: chunks that share bytes, bytes that nothing names,
 * numbers that contradict one another, checksums of members.
 */
#ifndef BFS_CONTAINER_EXAMINE_H
#define BFS_CONTAINER_EXAMINE_H

#include "container/container.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who is told. A note is of what the format permits, such as bytes that a
 * writer left behind; all else is damage. why has the place and the reason. */
struct bfs_examiner {
	void (*tell)(void *arg, bool is_note, const struct bfs_diag *why);
	void *arg;
};

/* Reads the headers of all chunks (up to BFS_EXAMINE_MAX) and all members that
 * have a checksum. Fails only for what says nothing about the container. */
#define BFS_EXAMINE_MAX (UINT64_C(1) << 20)
enum bfs_err bfs_container_examine(struct bfs_container *container,
				   const struct bfs_examiner *examiner,
				   struct bfs_diag *diag) BFS_MUST_CHECK;

/* Tells one finding, worded as by printf. */
void bfs_examine_tell(const struct bfs_examiner *examiner, bool is_note,
		      uint64_t off, int64_t chunk, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* Tells what is odd about how the streams of stored chunk n lie in it, which is
 * at span of source: blocks that begin at one place are damage, bytes that no
 * stream takes a note. */
enum bfs_err bfs_examine_streams(struct bfs_container *container, uint64_t n,
				 struct bfs_source *source,
				 const struct bfs_span *span,
				 const struct bfs_examiner *examiner,
				 struct bfs_diag *diag) BFS_MUST_CHECK;

/* A part of a container that has a name. */
struct bfs_region {
	uint64_t off, len;
	const char *name;
};
/* Tells what overlaps (damage) and what lies between (notes) of parts that
 * should fill [start, end); sorts them. */
void bfs_examine_regions(const struct bfs_examiner *examiner,
			 struct bfs_region *regions, size_t n, uint64_t start,
			 uint64_t end);

#endif
