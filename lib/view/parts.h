/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.h - what views answer alike: attributes and parts of files that are
 * one text or one stream.
 */
#ifndef BFS_VIEW_PARTS_H
#define BFS_VIEW_PARTS_H

#include "view/kept.h"

/* Block size for stat: the container's blocks as a power of two between
 * 4 KiB and 1 MiB. */
uint32_t bfs_file_blksize(const struct bfs_file *file);

/* The attributes of a text of len bytes. */
void bfs_text_stat(size_t len, struct bfs_attr *ret_attr);
/* The part of a text at off; RANGE behind its end. */
enum bfs_err bfs_text_part(const char *text, size_t text_len, uint64_t off,
			   uint64_t len, struct bfs_part *ret_part,
			   struct bfs_diag *diag) BFS_MUST_CHECK;

/* The part of a file that is one stream, or as much of it. */
static inline void bfs_stream_part(const struct bfs_stream *stream,
				   uint64_t off, uint64_t len,
				   struct bfs_part *ret_part)
{
	ret_part->stream = *stream;
	ret_part->off = off;
	ret_part->len = len;
}

/* The attributes of a file that is one stream; a length that cannot be known
 * is 0. */
void bfs_stream_stat(struct bfs_file *file, const struct bfs_stream *stream,
		     struct bfs_attr *ret_attr);

#endif
