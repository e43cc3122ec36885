/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diskfolder.h - the folder of the disk cache: whose it is, how much lies in
 * it, and what leaves it.
 *
 * Below the folder that the user names, each user has one of their own, with
 * the version of the files in its name, which nobody else may enter. All
 * processes of a user share it. A file there, "size", tells how much all have
 * written; who looks at it locks it and never waits for the lock. Who finds
 * that it is too much counts the files and removes those that were not used
 * for the longest time. Other names are left alone.
 */
#ifndef BFS_DAEMON_REMOTE_DISKFOLDER_H
#define BFS_DAEMON_REMOTE_DISKFOLDER_H

#include "remote/stripe.h"

#include <sys/types.h>

/* One process's view of it; for one thread at a time but fd. */
struct diskfolder {
	int fd;
	uint64_t limit;		/* bytes that files may take */
	uint64_t total;		/* as it was told last */
	uint64_t own;		/* written since then */
	bool counted;		/* by this process, once */
	uint64_t n_evicted;
};

/* Makes the user's folder where it is not there. 0; -EACCES, -EROFS, -ENOSPC
 * and the like where it cannot be made; -EINVAL where it must not be used,
 * since others could change what lies there; with one sentence in error. */
int diskfolder_open(const char *path, uint64_t limit,
		    struct diskfolder *ret_folder, char *error,
		    size_t error_cap);
void diskfolder_close(struct diskfolder *folder);

/* Says what was written, and makes room where it is needed. 0; -EAGAIN where
 * more was written than may be before it is said, while another process holds
 * the lock; or -errno. */
int diskfolder_add(struct diskfolder *folder, uint64_t written);
/* Removes a file that is damaged. */
void diskfolder_remove(const struct diskfolder *folder, const char *name);

#endif
