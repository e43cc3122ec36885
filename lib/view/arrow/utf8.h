/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * utf8.h - texts that are stored as UTF-8, one behind the other: verified where
 * they are read. Programs that map a file of Arrow take them for what it says
 * that they are.
 */
#ifndef BFS_VIEW_ARROW_UTF8_H
#define BFS_VIEW_ARROW_UTF8_H

#include "view/arrow/table.h"

/* Where they lie: [span.start, span.end) of a store; it begins and ends where
 * a text does. */
struct bfs_arrow_texts {
	const struct bfs_arrow_reader *reader;
	size_t store;
	struct bfs_arrow_span span;
};

/* Reads bytes [off, off + len) of the store, inside the span. CORRUPT where
 * they are part of what is no character: characters that the range cuts are
 * looked at as a whole. */
enum bfs_err bfs_arrow_read_texts(const struct bfs_arrow_texts *texts,
				  uint64_t off, uint8_t *buf, size_t len,
				  struct bfs_diag *diag) BFS_MUST_CHECK;

/* Verifies that texts begin at n offsets, ascending and inside the span (or its
 * end): CORRUPT where one lies within a character. scratch takes
 * BFS_ARROW_SCRATCH bytes. */
#define BFS_ARROW_SCRATCH ((size_t)32 << 10)
enum bfs_err bfs_arrow_check_begins(const struct bfs_arrow_texts *texts,
				    const struct bfs_arrow_type *type,
				    const uint8_t *offsets, size_t n,
				    uint8_t *scratch,
				    struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
