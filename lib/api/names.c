/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.c - the public interface: what names and folders say, before
 * anything is opened.
 */
#include "api/priv.h"

#include "container/container.h"
#include "container/foreign.h"
#include "container/format.h"

const char *bloscfs_claimed(const char *name)
{
	return name ? bfs_claimed_container(name) : NULL;
}

enum bloscfs_err bloscfs_is_foreign(int dirfd, bool *ret_is)
{
	if (!ret_is)
		return BLOSCFS_ERR_INVALID;
	return (enum bloscfs_err)bfs_foreign_store(dirfd, ret_is);
}

/* The row that the i-th name of an index leads to. */
static const struct bfs_format *find_index(size_t i, const char **ret_name)
{
	/* Those of containers beside their directories come last. */
	for (int beside = 0; beside < 2; beside++)
		for (int other = 0; other < 2; other++)
			for (size_t k = 0; k < bfs_n_formats; k++) {
				const struct bfs_format *row = bfs_formats[k];
				const char *name = other ? row->index_else :
							   row->index_name;

				if (!name || row->beside != beside || i-- > 0)
					continue;
				*ret_name = name;
				return row;
			}
	return NULL;
}

const char *bloscfs_dir_index(size_t i)
{
	const char *name;

	return find_index(i, &name) ? name : NULL;
}

bool bloscfs_dir_is_beside(size_t i)
{
	const char *name;
	const struct bfs_format *row = find_index(i, &name);

	return row && row->beside;
}

const char *bloscfs_beside_name(const struct bloscfs *fs, size_t i)
{
	if (!fs || !(fs->views >> BFS_ROW_arrow & 1))
		return NULL;
	if (i == 0)
		return "table.arrow";
	return i == 1 && fs->views >> BFS_ROW_info & 1 ? "info.json" : NULL;
}

const char *bloscfs_dir_format(size_t i)
{
	const char *name;
	const struct bfs_format *row = find_index(i, &name);

	return row ? row->name : NULL;
}

bool bloscfs_dir_part(size_t i, size_t k, const char **ret_folder,
		      const char **ret_ending)
{
	const char *name;
	const struct bfs_format *row = find_index(i, &name);
	const struct bfs_dir_part *part = row ? row->parts : NULL;

	if (!ret_folder || !ret_ending)
		return false;
	/* The last has no folder. */
	while (part && part->folder && k-- > 0)
		part++;
	if (!part || !part->folder)
		return false;
	*ret_folder = part->folder;
	*ret_ending = part->ending;
	return true;
}
