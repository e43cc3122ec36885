/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mount.h - what a mount needs of the system around it: the mount point,
 * fusermount3, the kernel's settings.
 *
 * Errors come as one sentence for the user.
 */
#ifndef BFS_DAEMON_MOUNT_MOUNT_H
#define BFS_DAEMON_MOUNT_MOUNT_H

#include "tree/mounttable.h"
#include "opts/opts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number of the mount at path that no later mount gets; 0 where the kernel
 * has none (before 6.8). Does not ask the mount. */
uint64_t mount_unique_id(const char *path);

/* The mount point as the table of mounts spells it, to be freed, and what is
 * mounted there; NULL if nothing is, with errno: ETIMEDOUT where a file system
 * on the way does not answer, ENOENT where there is no such folder. The mount
 * itself is not touched if that can be avoided: its daemon may be dead. */
char *mount_resolve(const char *mountpoint, struct mount_entry *ret_entry);

/* Says so of one that ETIMEDOUT told of; -1. */
int mount_refuse_silent(const char *mountpoint, char *error, size_t cap);

/* Whether a mount can be made. One of the caller's own at that place whose
 * daemon is dead is cleared, which is said on stderr. *ret_real is the mount
 * point without symlinks, to be freed; with the option mkdir it is made where
 * it is not there, and *ret_made says so. 0 or -1. */
int mount_check(const struct opts *opts, const char *mountpoint,
		char **ret_real, bool *ret_made, char *error, size_t cap);

/* The options for libfuse, to be freed; NULL on no memory. */
char *mount_options(const struct opts *opts, const char *source);

/* Takes the mount away: at once when lazy (its users keep what they have),
 * else only if nobody uses it. 0 or -errno, with a reason; it is -ENOPKG where
 * the reason is that fusermount3 is missing, and what helps stands in it. */
int mount_detach(const char *path, bool lazy, char *reason, size_t cap);

/* 0 or -errno. */
int mount_set_readahead(unsigned major, unsigned minor, uint64_t len);

#endif
