/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chunkfiles.h - the examination (examine.h) of containers that have a file for
 * each chunk: what is in these files beside the chunk, and what lies beside
 * these files.
 */
#ifndef BFS_CONTAINER_CHUNKFILES_H
#define BFS_CONTAINER_CHUNKFILES_H

#include "container/examine.h"

/* Looks at what comes before the chunk of a file: len bytes, at most
 * BFS_CHUNKFILES_HEAD. */
#define BFS_CHUNKFILES_HEAD 16
typedef void bfs_chunkfiles_look(const struct bfs_examiner *x, uint64_t chunk,
				 const uint8_t *head, size_t len);

/* What is_named does not know of the files' directory, and bytes behind a
 * chunk, are noted; look may be NULL. Files that do not hold are left out: who
 * decodes them finds that. A directory of a caller's own is not looked at,
 * where each file may be a request. */
struct bfs_chunkfiles {
	struct bfs_dir *dir;
	bool (*is_named)(const void *arg, const char *name);
	const void *arg;
	bfs_chunkfiles_look *look;
};
enum bfs_err bfs_chunkfiles_examine(struct bfs_container *container,
				    const struct bfs_chunkfiles *files,
				    const struct bfs_examiner *examiner,
				    struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
