/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attrs.h - attributes of entries, and who may what: getattr and access.
 */
#ifndef BFS_DAEMON_OPS_ATTRS_H
#define BFS_DAEMON_OPS_ATTRS_H

#include "daemon.h"

/* What a node is now. 0 or -errno. Who has a file open keeps its attributes,
 * whatever its name stands for by now. */
int attrs_find(struct daemon *daemon, struct node *node, struct stat *attr);

void attrs_get(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi);
void attrs_access(fuse_req_t req, fuse_ino_t id, int mask);

#endif
