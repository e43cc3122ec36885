/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpus.h - how many CPUs this process may use.
 */
#ifndef BFS_BASE_CPUS_H
#define BFS_BASE_CPUS_H

/* The CPUs that this process may use: affinity and cgroup quota, at least 1. */
unsigned bfs_pool_cpus(void);
/* The smallest quota of the process's groups and of those above them, in CPUs
 * rounded up; 0: none is set. `list` is a file like /proc/self/cgroup, `root`
 * a folder like /sys/fs/cgroup. */
unsigned bfs_pool_quota(const char *list, const char *root);

#endif
