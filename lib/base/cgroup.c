/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cgroup.c - limits of control groups (version 2 cpu.max, memory.max and
 * memory.high; version 1 cpu.cfs_* and memory.limit_in_bytes).
 *
 * A container often sees only the lower part of its group's path, so every
 * folder on the way up is looked at, and those that are not there are passed
 * over.
 */
#include "base/cgroup.h"

#include "base/bytes.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define NONE UINT64_MAX
#define LINE_LEN 64

/* What is sought: a controller, and how one folder tells its limit. */
struct want {
	const char *controller;
	uint64_t (*read)(const char *dir, int version);
	const char *root;
};

/* Up to two numbers from a file of one line; "max" reads as -1. Returns how
 * many there were. */
static int read_numbers(const char *dir, const char *name, int64_t *ret_a,
			int64_t *ret_b)
{
	char path[PATH_MAX], line[LINE_LEN];
	int64_t a = 0, b = 0;
	FILE *file;
	int n = 0;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >=
	    (int)sizeof(path))
		return 0;
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fgets(line, sizeof(line), file)) {
		n = sscanf(line, "%" SCNd64 " %" SCNd64, &a, &b);
		if (n < 1 && !strncmp(line, "max", 3)) {
			a = -1;
			n = 1;
		}
	}
	fclose(file);
	if (n > 0)
		*ret_a = a;
	if (n > 1)
		*ret_b = b;
	return n < 0 ? 0 : n;
}

static uint64_t read_cpus(const char *dir, int version)
{
	int64_t quota = -1, period = 100000, n;

	if (version == 2) {
		read_numbers(dir, "cpu.max", &quota, &period);
	} else {
		read_numbers(dir, "cpu.cfs_quota_us", &quota, &period);
		read_numbers(dir, "cpu.cfs_period_us", &period, &n);
	}
	if (quota <= 0 || period <= 0)
		return NONE;
	return (uint64_t)(quota / period + (quota % period != 0));
}

/* One file, as bytes. */
static uint64_t read_limit(const char *dir, const char *name)
{
	int64_t len = -1, none;

	read_numbers(dir, name, &len, &none);
	return len < 0 ? NONE : (uint64_t)len;
}

/* Above memory.high the kernel slows a process down. */
static uint64_t read_memory(const char *dir, int version)
{
	if (version == 1)
		return read_limit(dir, "memory.limit_in_bytes");
	return bfs_min(read_limit(dir, "memory.max"),
		       read_limit(dir, "memory.high"));
}

/* From root/mount/group up to root/mount. */
static uint64_t read_path(const struct want *want, const char *mount,
			  const char *group, int version)
{
	uint64_t least = NONE;
	char dir[PATH_MAX];
	size_t top_len;
	int len;

	len = snprintf(dir, sizeof(dir), "%s/%s", want->root, mount);
	if (len < 0 || (size_t)len >= sizeof(dir))
		return NONE;
	top_len = (size_t)len;
	len = snprintf(dir + top_len, sizeof(dir) - top_len, "%s", group);
	if (len < 0 || (size_t)len >= sizeof(dir) - top_len)
		return NONE;
	for (;;) {
		char *slash = strrchr(dir + top_len, '/');

		least = bfs_min(least, want->read(dir, version));
		if (!slash)
			return least;
		*slash = 0;
	}
}

static int is_listed(char *controllers, const char *sought)
{
	char *save, *name;

	for (name = strtok_r(controllers, ",", &save); name;
	     name = strtok_r(NULL, ",", &save)) {
		if (!strcmp(name, sought))
			return 1;
	}
	return 0;
}

/* One line "id:controllers:path"; without controllers it is version 2. */
static uint64_t read_line(const struct want *want, char *line)
{
	char *controllers = strchr(line, ':');
	char *group, mount[64];

	line[strcspn(line, "\n")] = 0;
	group = controllers ? strchr(++controllers, ':') : NULL;
	if (!group)
		return NONE;
	*group++ = 0;
	if (!*controllers)
		return bfs_min(read_path(want, "", group, 2),
			       read_path(want, "unified", group, 2));
	if (strlen(controllers) >= sizeof(mount))
		return NONE;
	strcpy(mount, controllers);
	if (!is_listed(controllers, want->controller))
		return NONE;
	return bfs_min(read_path(want, mount, group, 1),
		       read_path(want, want->controller, group, 1));
}

static uint64_t read_list(const char *list, const struct want *want)
{
	uint64_t least = NONE;
	char line[PATH_MAX];
	FILE *file = fopen(list, "re");

	if (!file)
		return NONE;
	while (fgets(line, sizeof(line), file))
		least = bfs_min(least, read_line(want, line));
	fclose(file);
	return least;
}

uint64_t bfs_cgroup_cpus(const char *list, const char *root)
{
	struct want want = { "cpu", read_cpus, root };

	return read_list(list, &want);
}

/* What getrlimit() said, with its result. */
static uint64_t own_limit(int status, const struct rlimit *limit)
{
	if (status < 0 || limit->rlim_cur == RLIM_INFINITY)
		return NONE;
	return limit->rlim_cur;
}

uint64_t bfs_cgroup_memory(const char *list, const char *root)
{
	struct want want = { "memory", read_memory, root };
	long n_pages = sysconf(_SC_PHYS_PAGES);
	long page_len = sysconf(_SC_PAGESIZE);
	struct rlimit limit;
	uint64_t len = NONE;

	if (n_pages > 0 && page_len > 0)
		len = (uint64_t)n_pages * (uint64_t)page_len;
	len = bfs_min(len, read_list(list, &want));
	len = bfs_min(len, own_limit(getrlimit(RLIMIT_AS, &limit), &limit));
	return bfs_min(len, own_limit(getrlimit(RLIMIT_DATA, &limit), &limit));
}
