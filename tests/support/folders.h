/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * folders.h - for tests: containers that are folders, by a descriptor of the
 * folder, which is copied.
 */
#ifndef FOLDERS_H
#define FOLDERS_H

#include "container/container.h"
#include "source/dir.h"

/* The row that takes it, or NULL. */
static inline const struct bfs_format *folder_probe(int dirfd)
{
	const struct bfs_format *row;
	struct bfs_dir *dir;

	if (bfs_dir_fd(dirfd, &dir, NULL) != BFS_OK)
		return NULL;
	row = bfs_container_probe_in(dir);
	bfs_dir_unref(dir);
	return row;
}

/* Without a guard for its files, and with caches of its own. */
static inline enum bfs_err folder_open(int dirfd,
				       struct bfs_container **ret_container)
{
	const struct bfs_guard guard = { 0 };
	struct bfs_dir *dir;
	enum bfs_err err;

	BFS_TRY(bfs_dir_fd(dirfd, &dir, NULL));
	err = bfs_container_open_in(dir, &guard, NULL, ret_container, NULL);
	bfs_dir_unref(dir);
	return err;
}

#endif
