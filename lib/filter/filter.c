/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * filter.c - the table of filters, and their names.
 */
#include "filter/filter.h"

#include <stdio.h>

const struct bfs_filter *const bfs_filters[] = {
#define BFS_FILTER_ROW(stem) &bfs_filter_##stem,
#include "filter/rows.def"
#undef BFS_FILTER_ROW
};

const size_t bfs_n_filters = BFS_ARRAY_LEN(bfs_filters);

const struct bfs_filter *bfs_filter_find(unsigned id)
{
	for (size_t i = 0; i < bfs_n_filters; i++)
		if ((unsigned)bfs_filters[i]->id == id)
			return bfs_filters[i];
	return NULL;
}

const char *bfs_filter_name(unsigned id, char buf[24])
{
	const struct bfs_filter *filter = bfs_filter_find(id);

	if (filter)
		return filter->name;
	if (id == 0)
		return "none";
	snprintf(buf, 24, "filter-%u", id);
	return buf;
}
