/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read.h - bytes of open files: the kernel's read.
 */
#ifndef BFS_DAEMON_OPS_READ_H
#define BFS_DAEMON_OPS_READ_H

#include "daemon.h"

void read_answer(fuse_req_t req, fuse_ino_t id, size_t len, off_t off,
		 struct fuse_file_info *fi);

#endif
