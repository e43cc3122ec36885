/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dir.h - a directory whose files are opened by name: one of a file system, or
 * one of a caller's own (a prefix of a store).
 *
 * It is listed for an examination alone. Shared by reference count; all calls
 * may run at once.
 */
#ifndef BFS_SOURCE_DIR_H
#define BFS_SOURCE_DIR_H

#include "base/err.h"
#include "source/fds.h"
#include "source/source.h"

#include <stdbool.h>
#include <stdint.h>

struct bfs_dir;

/* What lies under a name. Symlinks and all else that is neither is NOTHING. */
enum bfs_there { BFS_NOTHING, BFS_FILE, BFS_FOLDER };

/* A directory of a caller's own. Paths are relative to it, "data/__0.blp". */
struct bfs_dir_callback {
	void *arg;
	/* Both leave what they return unset where nothing is there: NOTHING,
	 * no source. Errors of the moment are not taken for that. */
	enum bfs_err (*find)(void *arg, const char *path,
			     enum bfs_there *ret_there, uint64_t *ret_len,
			     struct bfs_diag *diag);
	enum bfs_err (*open)(void *arg, const char *path,
			     struct bfs_source **ret_source,
			     struct bfs_diag *diag);
	void (*close)(void *arg);	/* with the last reference */
};

/* A directory by descriptor, which is copied. */
enum bfs_err bfs_dir_fd(int dirfd, struct bfs_dir **ret_dir,
			struct bfs_diag *diag) BFS_MUST_CHECK;
/* how->arg is taken over. */
enum bfs_err bfs_dir_callback(const struct bfs_dir_callback *how,
			      struct bfs_dir **ret_dir,
			      struct bfs_diag *diag) BFS_MUST_CHECK;
struct bfs_dir *bfs_dir_ref(struct bfs_dir *dir);
/* NULL is fine. */
void bfs_dir_unref(struct bfs_dir *dir);

/* The directory called name in it. NULL on no memory and where there is no
 * such directory; why is counted (base/moment.h). */
struct bfs_dir *bfs_dir_below(struct bfs_dir *dir,
			      const char *name) BFS_MUST_CHECK;
/* A file of it; guard as for bfs_source_guarded, of a file system alone. NULL
 * is fine. */
enum bfs_err bfs_dir_file(struct bfs_dir *dir, const char *name,
			  const struct bfs_guard *guard,
			  struct bfs_source **ret_source,
			  struct bfs_diag *diag) BFS_MUST_CHECK;
/* Whether a file of that name is there, and its length in bytes; errors are
 * counted (base/moment.h). */
bool bfs_dir_has(struct bfs_dir *dir, const char *name,
		 uint64_t *ret_len) BFS_MUST_CHECK;

/* Tells each name in it, "." and ".." not, in no order, until each returns
 * false. UNSUPPORTED for a caller's own. */
enum bfs_err bfs_dir_each(struct bfs_dir *dir,
			  bool (*each)(void *arg, const char *name), void *arg,
			  struct bfs_diag *diag) BFS_MUST_CHECK;

/* bfs_fd_set_how and bfs_fd_is_nameless; false for a caller's own. */
bool bfs_dir_set_how(struct bfs_dir *dir, const struct bfs_fd_how *how);
bool bfs_dir_is_nameless(const struct bfs_dir *dir);

#endif
