/* SPDX-License-Identifier: BSD-3-Clause */
/* shown.c - see shown.h. */
#include "shown.h"

#include "entries.h"
#include "support/strictmarkup.h"
#include "support/strictpng.h"
#include "view/dispatch.h"

#include <string.h>

static bool has_ending(const char *name, const char *ending)
{
	size_t len = strlen(name), n = strlen(ending);

	return len > n && strcmp(name + len - n, ending) == 0;
}

static void check_bytes(const char *name, const uint8_t *bytes, size_t len)
{
	const char *why;
	size_t off = 0;

	if (has_ending(name, ".png"))
		why = strict_png(bytes, len, NULL, NULL);
	else
		why = strict_markup((const char *)bytes, len,
				    has_ending(name, ".html"), &off);
	if (why)
		fprintf(stderr, "%s: %s at %zu\n", name, why, off);
	need(!why);
}

size_t shown_check(struct bfs_file *file, const struct bfs_node *node,
		   const char *name, size_t max)
{
	struct bfs_attr attr;
	uint8_t *bytes;
	size_t n = 0;

	if (!has_ending(name, ".html") && !has_ending(name, ".svg") &&
	    !has_ending(name, ".png"))
		return 0;
	bfs_file_stat(file, node, &attr);
	if (attr.len > max)
		return 0;
	bytes = malloc((size_t)attr.len + 1);
	need(bytes);
	if (bfs_file_read(file, node, 0, bytes, (size_t)attr.len, &n, NULL) ==
	    BFS_OK) {
		need(n == attr.len);
		check_bytes(name, bytes, n);
	}
	free(bytes);
	return n;
}
