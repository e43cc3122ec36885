/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * within.h - names in containers, and in those beside folders. 0 or -errno.
 */
#ifndef BFS_DAEMON_OPS_WITHIN_H
#define BFS_DAEMON_OPS_WITHIN_H

#include "daemon.h"

/* An entry of a container, or of a folder in it, which is looked up then. */
int within_lookup(struct daemon *daemon, struct node *parent,
		  const char *name, struct fuse_entry_param *param);
/* The same of the container beside a folder; -ENOENT where there is none. */
int within_lookup_beside(struct daemon *daemon, struct node *folder,
			 const char *name, struct fuse_entry_param *param);

#endif
