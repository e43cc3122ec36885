/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cgroup.h - what the control groups of this process leave to it: CPUs and
 * memory, of versions 1 and 2, the least on the whole path.
 *
 * list is the file that names the groups (/proc/self/cgroup), root the folder
 * they are mounted in (/sys/fs/cgroup).
 */
#ifndef BFS_BASE_CGROUP_H
#define BFS_BASE_CGROUP_H

#include <stdint.h>

/* CPUs, rounded up; UINT64_MAX: no quota. */
uint64_t bfs_cgroup_cpus(const char *list, const char *root);
/* Bytes that the process may have: of the machine's memory, what its groups
 * and its own limits (RLIMIT_AS, RLIMIT_DATA) allow. */
uint64_t bfs_cgroup_memory(const char *list, const char *root);

#endif
