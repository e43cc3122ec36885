/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * openfiles.c - the chunk files that were opened last; a new one replaces the
 * oldest. Files are opened and closed outside the lock.
 */
#include "container/openfiles.h"

#include <stddef.h>

void bfs_openfiles_init(struct bfs_openfiles *files,
			const struct bfs_guard *guard)
{
	files->guard = guard;
	pthread_mutex_init(&files->lock, NULL);
}

void bfs_openfiles_release(struct bfs_openfiles *files)
{
	unsigned i;

	for (i = 0; i < BFS_OPENFILES; i++)
		bfs_source_unref(files->slots[i].source);
	pthread_mutex_destroy(&files->lock);
}

static struct bfs_source *find_open(struct bfs_openfiles *files,
				    uint64_t number)
{
	struct bfs_source *source = NULL;
	unsigned i;

	pthread_mutex_lock(&files->lock);
	for (i = 0; i < BFS_OPENFILES && !source; i++)
		if (files->slots[i].source && files->slots[i].number == number)
			source = bfs_source_ref(files->slots[i].source);
	pthread_mutex_unlock(&files->lock);
	return source;
}

static void keep_open(struct bfs_openfiles *files, uint64_t number,
		      struct bfs_source *source)
{
	struct bfs_source *old;

	bfs_source_ref(source);
	pthread_mutex_lock(&files->lock);
	old = files->slots[files->next].source;
	files->slots[files->next].source = source;
	files->slots[files->next].number = number;
	files->next = (files->next + 1) % BFS_OPENFILES;
	pthread_mutex_unlock(&files->lock);
	bfs_source_unref(old);
}

enum bfs_err bfs_openfiles_get(struct bfs_openfiles *files,
			       struct bfs_dir *dir, uint64_t number,
			       const char *name,
			       struct bfs_source **ret_source,
			       struct bfs_diag *diag)
{
	struct bfs_source *found = find_open(files, number);

	if (!found) {
		BFS_TRY(bfs_dir_file(dir, name, files->guard, &found,
				     diag));
		keep_open(files, number, found);
	}
	*ret_source = found;
	return BFS_OK;
}

void bfs_openfiles_rest(struct bfs_openfiles *files)
{
	struct bfs_source *held[BFS_OPENFILES];
	unsigned i, n = 0;

	pthread_mutex_lock(&files->lock);
	for (i = 0; i < BFS_OPENFILES; i++)
		if (files->slots[i].source)
			held[n++] = bfs_source_ref(files->slots[i].source);
	pthread_mutex_unlock(&files->lock);
	while (n--) {
		bfs_source_rest(held[n]);
		bfs_source_unref(held[n]);
	}
}
