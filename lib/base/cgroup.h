/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cgroup.h - the CPUs and memory that control groups (version 1 and 2) leave
 * to this process: the smallest limit from its own group up to the root.
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
