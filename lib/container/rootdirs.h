/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rootdirs.h - __rootdirs__ of a table of bcolz: {"names": [...]}, the folders
 * of its columns in their order. See docs/formats/bcolz.md.
 */
#ifndef BFS_CONTAINER_ROOTDIRS_H
#define BFS_CONTAINER_ROOTDIRS_H

#include "container/container.h"
#include "base/err.h"
#include "source/dir.h"
#include "text/json_read.h"

#include <stdbool.h>

#define BFS_ROOTDIRS "__rootdirs__"

struct bfs_rootdirs {
	struct bfs_document *document;	/* owned */
	const struct bfs_value *names;	/* its list of them, of any values */
};

/* guard: as for bfs_dir_file. A reason that is about the file begins with its
 * name; LIMIT where it is longer than a MiB. */
enum bfs_err bfs_rootdirs_read(struct bfs_dir *table,
			       const struct bfs_guard *guard,
			       struct bfs_rootdirs *ret_rootdirs,
			       struct bfs_diag *diag) BFS_MUST_CHECK;
void bfs_rootdirs_release(struct bfs_rootdirs *rootdirs);

/* Whether one of the values can be the name of a folder beside the file: UTF-8
 * of up to 255 bytes. */
bool bfs_rootdirs_is_name(const struct bfs_value *value);

/* Opens the column of that name. NOT_FORMAT where there is none; its own errors
 * where one does not hold. */
enum bfs_err bfs_rootdirs_open(struct bfs_dir *table, const char *name,
			       const struct bfs_guard *guard,
			       struct bfs_cache *cache,
			       struct bfs_container **ret_column,
			       struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
