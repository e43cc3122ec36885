/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.c - attributes and parts of texts and streams.
 */
#include "view/parts.h"

#include "base/bytes.h"

uint32_t bfs_file_blksize(const struct bfs_file *file)
{
	uint32_t want = file->array->container->blocksize;
	uint32_t size = 4096;

	if (!want)
		want = 65536;
	while (size < want && size < 1048576)
		size *= 2;
	return size;
}

void bfs_text_stat(size_t len, struct bfs_attr *ret_attr)
{
	ret_attr->len = len;
	ret_attr->stored_len = len;
	ret_attr->blksize = 4096;
}

enum bfs_err bfs_text_part(const char *text, size_t text_len, uint64_t off,
			   uint64_t len, struct bfs_part *ret_part,
			   struct bfs_diag *diag)
{
	if (off >= text_len)
		return bfs_fail(diag, BFS_ERR_RANGE, off,
				"beyond the end of a text");
	ret_part->bytes = text + off;
	ret_part->len = bfs_min(len, text_len - off);
	return BFS_OK;
}

void bfs_stream_stat(struct bfs_file *file, const struct bfs_stream *stream,
		     struct bfs_attr *ret_attr)
{
	uint64_t len;

	ret_attr->blksize = bfs_file_blksize(file);
	if (bfs_array_len(file->array, stream, &len, NULL) != BFS_OK)
		return;
	ret_attr->len = len;
	ret_attr->stored_len = len;
}
