/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool_cpus.c - the CPUs that this process may use: its affinity, and the
 * quotas of its control groups (version 2 cpu.max, version 1 cpu.cfs_*).
 *
 * A container often sees only the lower part of its group's path, so every
 * folder on the way up is looked at, and those that are not there are passed
 * over.
 */
#include "pool_cpus.h"

#include "pool.h"

#include "mem.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_CPUS 65536

/* Up to two numbers from a file of one line; "max" reads as -1. Returns how
 * many there were. */
static int read_numbers(const char *dir, const char *name, int64_t *ret_a,
			int64_t *ret_b)
{
	char path[PATH_MAX], line[64];
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

/* The quota of one folder, or UINT_MAX. */
static unsigned read_quota(const char *dir, int version)
{
	int64_t quota = -1, period = 100000, n;

	if (version == 2) {
		read_numbers(dir, "cpu.max", &quota, &period);
	} else {
		read_numbers(dir, "cpu.cfs_quota_us", &quota, &period);
		read_numbers(dir, "cpu.cfs_period_us", &period, &n);
	}
	if (quota <= 0 || period <= 0)
		return UINT_MAX;
	n = quota / period + (quota % period != 0);
	return n > MAX_CPUS ? UINT_MAX : (unsigned)n;
}

/* From root/mount/group up to root/mount. */
static unsigned read_path(const char *root, const char *mount,
			  const char *group, int version)
{
	char dir[PATH_MAX];
	unsigned least = UINT_MAX;
	size_t top_len;
	int len;

	len = snprintf(dir, sizeof(dir), "%s/%s", root, mount);
	if (len < 0 || (size_t)len >= sizeof(dir))
		return UINT_MAX;
	top_len = (size_t)len;
	len = snprintf(dir + top_len, sizeof(dir) - top_len, "%s", group);
	if (len < 0 || (size_t)len >= sizeof(dir) - top_len)
		return UINT_MAX;
	for (;;) {
		unsigned n = read_quota(dir, version);
		char *slash = strrchr(dir + top_len, '/');

		if (n < least)
			least = n;
		if (!slash)
			return least;
		*slash = 0;
	}
}

static int lists_cpu(char *controllers)
{
	char *save, *name;

	for (name = strtok_r(controllers, ",", &save); name;
	     name = strtok_r(NULL, ",", &save)) {
		if (!strcmp(name, "cpu"))
			return 1;
	}
	return 0;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* One line "id:controllers:path"; without controllers it is version 2. */
static unsigned read_line(char *line, const char *root)
{
	char *controllers = strchr(line, ':');
	char *group, mount[64];

	line[strcspn(line, "\n")] = 0;
	group = controllers ? strchr(++controllers, ':') : NULL;
	if (!group)
		return UINT_MAX;
	*group++ = 0;
	if (!*controllers)
		return least(read_path(root, "", group, 2),
			     read_path(root, "unified", group, 2));
	if (strlen(controllers) >= sizeof(mount))
		return UINT_MAX;
	strcpy(mount, controllers);
	if (!lists_cpu(controllers))
		return UINT_MAX;
	return least(read_path(root, mount, group, 1),
		     strcmp(mount, "cpu") ?
		     read_path(root, "cpu", group, 1) : UINT_MAX);
}

unsigned bfs_pool_quota(const char *list, const char *root)
{
	unsigned quota = UINT_MAX;
	char line[PATH_MAX];
	FILE *file = fopen(list, "re");

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		quota = least(quota, read_line(line, root));
	fclose(file);
	return quota == UINT_MAX ? 0 : quota;
}

/* The kernel refuses a set that is too small for the machine. */
static unsigned count_affinity(void)
{
	unsigned n_max;

	for (n_max = 1024; n_max <= MAX_CPUS; n_max *= 2) {
		size_t len = CPU_ALLOC_SIZE(n_max);
		cpu_set_t *set = bfs_zalloc(1, len);
		int n = 0;

		if (!set)
			break;
		if (!sched_getaffinity(0, len, set))
			n = CPU_COUNT_S(len, set);
		bfs_free(set);
		if (n > 0)
			return (unsigned)n;
	}
	return 1;
}

unsigned bfs_pool_cpus(void)
{
	unsigned n = count_affinity();
	unsigned quota = bfs_pool_quota("/proc/self/cgroup", "/sys/fs/cgroup");

	return quota && quota < n ? quota : n;
}
