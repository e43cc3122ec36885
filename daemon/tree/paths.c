/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * paths.c - paths of nodes below the source's root. Names and parents of nodes
 * never change, so that no lock is needed.
 */
#include "tree/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a node's path with its end; 0 for the root. */
static size_t path_len(const struct node *node)
{
	size_t len = 0;

	for (; node->parent; node = node->parent) {
		size_t part = strlen(node->name) - node->suffix;

		len += part ? part + 1 : 0;
	}
	return len;
}

static void write_path(const struct node *node, char *buf, size_t len)
{
	size_t pos = len ? len - 1 : 0, part;

	buf[pos] = '\0';
	for (; node->parent; node = node->parent) {
		part = strlen(node->name) - node->suffix;
		/* What is beside a folder has its path. */
		if (!part)
			continue;
		pos -= part;
		memcpy(buf + pos, node->name, part);
		if (pos > 0)
			buf[--pos] = '/';
	}
}

int tree_path(struct node *node, char *buf, size_t cap)
{
	size_t len = path_len(node);

	if (len > cap)
		return -ENAMETOOLONG;
	write_path(node, buf, len);
	return 0;
}

char *tree_long_path(struct node *node)
{
	size_t len = path_len(node);
	char *path = malloc(len + 1);

	if (path)
		write_path(node, path, len);
	return path;
}
