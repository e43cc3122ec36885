/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numbers.c - numbers as file names, and folders with one file per chunk.
 */
#include "view/numbers.h"

#include "view/kept.h"

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
