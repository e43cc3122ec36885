/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plain.h - files of the source that are no containers, as they are.
 */
#ifndef BFS_DAEMON_OPS_PLAIN_H
#define BFS_DAEMON_OPS_PLAIN_H

#include "ops/handle.h"

/* Gives the handle its file, which is read from then on. 0 or -errno. */
int plain_open(struct daemon *daemon, struct node *node,
	       struct handle *handle, struct fuse_file_info *fi);
/* Answers the request. False: it is void (call_is_void), and not answered. */
bool plain_read(fuse_req_t req, struct daemon *daemon,
		const struct handle *handle, size_t len, off_t off);

#endif
