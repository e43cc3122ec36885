/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mounttable.h - the kernel's tables of mounts (proc(5), mountinfo), line by
 * line. Reading them asks no file system anything.
 */
#ifndef BFS_DAEMON_TREE_MOUNTTABLE_H
#define BFS_DAEMON_TREE_MOUNTTABLE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct mount_entry {
	unsigned id;		/* may come back once the mount is gone */
	unsigned major, minor;	/* all mounts of one system share it */
	const char *point;	/* valid while the line is being seen */
	char type[64];
	char source[128];	/* cut to fit */
	bool has_owner;		/* FUSE: who mounted it */
	uid_t owner;
};

/* Whether to go on. */
typedef bool (*mounttable_see)(void *arg, const struct mount_entry *entry);

/* Shows each mount in turn. Returns false if the table cannot be read. */
bool mounttable_read(FILE *table, mounttable_see see, void *arg);
/* What is mounted on an absolute path: of several the topmost. point is NULL
 * then. False if nothing is. */
bool mount_find(const char *path, struct mount_entry *ret_entry);
/* False where no /proc is mounted: nothing is found then. */
bool mount_has_table(void);
/* Where a mount is, which may have been moved: to be freed; NULL if it is gone,
 * or on no memory. */
char *mount_find_moved(unsigned id, unsigned major, unsigned minor);
/* Whether it is one of bloscfs, of whomever. */
bool mounttable_is_bloscfs(const struct mount_entry *entry);

#endif
