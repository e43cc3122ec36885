/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpus.c - the CPUs that this process may use: its affinity, and the
 * quotas of its control groups.
 */
#include "base/cpus.h"

#include "base/cgroup.h"
#include "base/mem.h"

#include <sched.h>
#include <stdint.h>

#define MAX_CPUS 65536

unsigned bfs_pool_quota(const char *list, const char *root)
{
	uint64_t n = bfs_cgroup_cpus(list, root);

	return n > MAX_CPUS ? 0 : (unsigned)n;
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
