/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xattrs.h - getxattr and listxattr of the mount.
 */
#ifndef BFS_DAEMON_OPS_XATTRS_H
#define BFS_DAEMON_OPS_XATTRS_H

#include "daemon.h"

void xattrs_get(fuse_req_t req, fuse_ino_t id, const char *name, size_t cap);
void xattrs_list(fuse_req_t req, fuse_ino_t id, size_t cap);

#endif
