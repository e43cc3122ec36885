/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * openfiles.h - the few chunk files that a directory container keeps open.
 */
#ifndef BFS_CONTAINER_OPENFILES_H
#define BFS_CONTAINER_OPENFILES_H

#include "base/err.h"
#include "source/dir.h"

#include <pthread.h>
#include <stdint.h>

#define BFS_OPENFILES 8

struct bfs_openfiles {
	pthread_mutex_t lock;		/* guards all below */
	const struct bfs_guard *guard;	/* constant */
	unsigned next;			/* the slot to be replaced next */
	struct {
		uint64_t number;
		struct bfs_source *source;	/* NULL: free */
	} slots[BFS_OPENFILES];
};

/* guard must live as long; NULL is fine. */
void bfs_openfiles_init(struct bfs_openfiles *files,
			const struct bfs_guard *guard);
void bfs_openfiles_release(struct bfs_openfiles *files);

/* File `number` of a directory, called `name` there, referenced. */
enum bfs_err bfs_openfiles_get(struct bfs_openfiles *files,
			       struct bfs_dir *dir, uint64_t number,
			       const char *name,
			       struct bfs_source **ret_source,
			       struct bfs_diag *diag) BFS_MUST_CHECK;

/* bfs_source_rest of each that is open. */
void bfs_openfiles_rest(struct bfs_openfiles *files);

#endif
