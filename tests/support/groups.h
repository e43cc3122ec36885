/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * groups.h - a made tree of control groups, in a folder of its own: a test
 * program makes it before all its tests and removes it behind them. Behind
 * cmocka.h and its headers.
 */
#ifndef SUPPORT_GROUPS_H
#define SUPPORT_GROUPS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Its path. */
static char groups_root[80];

/* A file of the tree, in folders that are made where they are not there. */
static inline void groups_write(const char *name, const char *text)
{
	char path[300], *slash;
	FILE *file;

	assert_true(snprintf(path, sizeof(path), "%s/%s", groups_root, name) <
		    300);
	for (slash = strchr(path + strlen(groups_root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Writes the list of a process's groups (/proc/self/cgroup); its path, in
 * path, which holds 100 bytes. */
static inline const char *groups_list(const char *list, char *path)
{
	groups_write("list", list);
	assert_true(snprintf(path, 100, "%s/list", groups_root) < 100);
	return path;
}

static inline int groups_make(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	if (snprintf(groups_root, sizeof(groups_root), "%s/bfs-test-XXXXXX",
		     tmp && strlen(tmp) < 40 ? tmp : "/tmp") < 0)
		return 1;
	return !mkdtemp(groups_root);
}

static inline int groups_remove(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -r '%s'", groups_root);
	return system(command);
}

#endif
