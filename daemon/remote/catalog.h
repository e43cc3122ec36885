/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * catalog.h - which addresses are where in the mount: a file of lines with
 * an address, a tab and a path each. Lines without a tab that are empty or
 * begin with "#" say nothing.
 */
#ifndef BFS_DAEMON_REMOTE_CATALOG_H
#define BFS_DAEMON_REMOTE_CATALOG_H

#include "remote/folder.h"
#include "remote/url.h"

struct catalog_line {
	char *path;		/* file names of the mount, "/" between */
	char *url;
	size_t number;		/* of the line, from 1 */
};

/* Sorted by path; never changes. */
struct catalog {
	struct catalog_line *lines;
	size_t n, cap;
};

/* 0, -ENOMEM, -EINVAL or another -errno, with one sentence in error. */
int catalog_read(const char *file, struct catalog *ret_catalog, char *error,
		 size_t error_cap);
void catalog_release(struct catalog *catalog);
/* Of two lines by path, for bsearch. */
int catalog_compare(const void *a, const void *b);
/* Fills a folder; path "" is the root. 0, -ENOENT or -ENOMEM. */
int catalog_list(const struct catalog *catalog, const char *path,
		 struct folder *folder);

#endif
