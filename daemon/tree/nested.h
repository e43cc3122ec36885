/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nested.h - mounts of bloscfs below the source.
 *
 * A daemon that enters one waits for a daemon, perhaps itself, which may be
 * waiting for this one. So they are told apart without a request: statx(2)
 * says from memory that a name is a mount's root and on which device, and
 * the table of mounts says whose device that is. All calls may run at once.
 */
#ifndef BFS_DAEMON_TREE_NESTED_H
#define BFS_DAEMON_TREE_NESTED_H

#include <stdbool.h>
#include <stdint.h>

/* What is known of a name without asking its file system. */
struct nested {
	bool is_bloscfs;	/* a mount of bloscfs begins here */
	uint64_t dev, id;	/* of that mount */
};

/* What name in dir_fd is, or dir_fd itself where name is "". Mounts that
 * would be made on access are not. 0 or -errno. */
int nested_look(int dir_fd, const char *name, struct nested *ret_nested);
/* Whether an open file or folder lies in a mount of bloscfs, at any depth. */
bool nested_holds(int fd);
/* Whether a mount of bloscfs begins at a name, which need not be there. */
bool nested_is(int dir_fd, const char *name);

#endif
