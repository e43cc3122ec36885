/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fds.h - descriptors that are let go while nobody uses them.
 *
 * A process may have few descriptors and be asked for many files. Each file
 * has one bfs_fd; whoever reads takes it for the time of a call. Where there
 * are too many those not used lately are closed, and opened again when
 * taken. The descriptor of a file that was removed is kept: without a name it
 * could not be opened again. All calls may run at once; no system call is made
 * under a lock.
 */
#ifndef BFS_SOURCE_FDS_H
#define BFS_SOURCE_FDS_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>

/* How a file is opened once more. */
struct bfs_fd_how {
	/* A descriptor of the very same file with the same content, or
	 * -errno: -ESTALE where there is no such file any more. */
	int (*open)(void *arg);
	void (*release)(void *arg);	/* when not needed any more */
	void *arg;
};

struct bfs_fd;

/* Takes over fd, which stays open until there is a way to open it again.
 * NULL on no memory: then fd stays the caller's. */
struct bfs_fd *bfs_fd_new(int fd) BFS_MUST_CHECK;
/* Takes over how->arg. At most once, before the bfs_fd is shared. */
void bfs_fd_set_how(struct bfs_fd *f, const struct bfs_fd_how *how);
struct bfs_fd *bfs_fd_ref(struct bfs_fd *f);
/* NULL is fine. */
void bfs_fd_unref(struct bfs_fd *f);

/* The descriptor, good until given back, or -errno (then nothing is to be
 * given back): -EMFILE or -ENFILE if there is truly none left. */
int bfs_fd_take(struct bfs_fd *f) BFS_MUST_CHECK;
/* The same if it is open, else -EBADF: it is not opened for it. */
int bfs_fd_take_open(struct bfs_fd *f) BFS_MUST_CHECK;
void bfs_fd_give(struct bfs_fd *f);

/* Whether it is open, and its file has no name any more. Answers from what this
 * machine knows, without waiting: a removal by another one may be unknown. */
bool bfs_fd_is_nameless(struct bfs_fd *f);

/* How many are to be open at once; SIZE_MAX without a call. */
void bfs_fd_set_limit(size_t n);
/* Closes one that nobody uses; false if there is none. What has met EMFILE
 * elsewhere may try again after it. */
bool bfs_fd_spare(void);
/* Whether to try again after this errno. */
bool bfs_fd_may_retry(int error);
/* How many are open now. */
size_t bfs_fd_count(void);

#endif
