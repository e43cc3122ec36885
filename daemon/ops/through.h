/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * through.h - plain files that the kernel reads itself, past us: passthrough of
 * FUSE. It takes a kernel from 6.9 on, libfuse 3.17, and CAP_SYS_ADMIN where
 * files are opened, which only a server without a sandbox has.
 */
#ifndef BFS_DAEMON_OPS_THROUGH_H
#define BFS_DAEMON_OPS_THROUGH_H

#include "daemon.h"

struct through;

/* Asks for it where it may be had, when a connection begins. */
void through_ask(struct daemon *daemon, struct fuse_conn_info *conn);
/* Of a plain file that is opened: hands it to the kernel, or leaves it to us;
 * while a node is open all its handles are read the same way. *ret_through is
 * NULL where nothing is to be noted. 0 or -ENOMEM. */
int through_open(struct daemon *daemon, const struct node *node,
		 struct bloscfs_fd *file, struct fuse_file_info *fi,
		 struct through **ret_through);
/* The kernel has let the handle go. The node is still there. */
void through_close(struct daemon *daemon, struct through *through);
/* Whether the kernel agreed, and did not refuse for good. */
bool through_is_on(struct daemon *daemon);

#endif
