/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numbers.c - numbers as file names, and folders with one file per chunk.
 */
#include "view/numbers.h"

#include "view/file.h"

#define DIGITS 10

void bfs_number_name(uint64_t n, char *name)
{
	char digits[20];
	size_t len = 0, i;

	do {
		digits[len++] = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0);
	while (len < DIGITS)
		digits[len++] = '0';
	for (i = 0; i < len; i++)
		name[i] = digits[len - 1 - i];
	name[len] = '\0';
}

bool bfs_number_parse(const char *name, size_t len, uint64_t *ret_n)
{
	uint64_t n = 0;

	if (len < DIGITS || len > 19 || (len > DIGITS && name[0] == '0'))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (name[i] < '0' || name[i] > '9')
			return false;
		n = n * 10 + (uint64_t)(name[i] - '0');
	}
	*ret_n = n;
	return true;
}

bool bfs_per_chunk_lookup(struct bfs_file *file, const struct bfs_node *dir,
			  uint16_t kind, const char *name, size_t name_len,
			  struct bfs_node *ret_node)
{
	uint64_t n;

	if (!bfs_number_parse(name, name_len, &n) ||
	    n >= file->array->container->n_chunks)
		return false;
	*ret_node = (struct bfs_node){ dir->view, kind, n };
	return true;
}

bool bfs_per_chunk_list(struct bfs_file *file, const struct bfs_node *dir,
			uint16_t kind, uint64_t pos, char *name,
			struct bfs_node *ret_node)
{
	if (pos >= file->array->container->n_chunks)
		return false;
	*ret_node = (struct bfs_node){ dir->view, kind, pos };
	bfs_number_name(pos, name);
	return true;
}

bool bfs_chunk_is_hole(struct bfs_container *container, uint64_t n)
{
	struct bfs_span span;

	return !container->no_blank &&
	       bfs_container_span(container, n, &span, NULL) == BFS_OK &&
	       bfs_kind_is_blank(span.special);
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
