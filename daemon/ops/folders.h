/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * folders.h - folders of the source, opened and listed.
 */
#ifndef BFS_DAEMON_OPS_FOLDERS_H
#define BFS_DAEMON_OPS_FOLDERS_H

#include "ops/handle.h"
#include "ops/reply.h"

/* Opens the folder for a handle, once more where it was let go: -ESTALE if it
 * is another directory by now. 0 or -errno. */
int folders_open(struct daemon *daemon, struct node *node,
		 struct handle *handle);
/* Adds what fits of a folder from off on. With the handle's lock held, but for
 * a mount of bloscfs (dirs.c knows it by is_source_dir). 0 or -errno. */
int folders_list(struct daemon *daemon, struct listing *list,
		 struct handle *handle, off_t off);
void folders_list_nested(struct daemon *daemon, struct listing *list,
			 const struct handle *handle, off_t off);

#endif
