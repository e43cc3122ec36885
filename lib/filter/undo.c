/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * undo.c - undoing one filter by the best variant that the CPU has. A file
 * apart from the table, which names the filters: some of them call this.
 */
#include "filter/filter.h"

void bfs_filter_undo(const struct bfs_filter *filter,
		     const struct bfs_filter_job *job)
{
	const enum bfs_cpu have = bfs_cpu_level();

	for (int level = BFS_N_CPUS - 1; level >= 0; level--)
		if (filter->undo[level] &&
		    bfs_cpu_allows(have, (enum bfs_cpu)level)) {
			filter->undo[level](job);
			return;
		}
}
