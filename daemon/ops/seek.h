/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seek.h - lseek with SEEK_DATA and SEEK_HOLE.
 */
#ifndef BFS_DAEMON_OPS_SEEK_H
#define BFS_DAEMON_OPS_SEEK_H

#include "daemon.h"

void seek_answer(fuse_req_t req, fuse_ino_t id, off_t off, int whence,
		 struct fuse_file_info *fi);

#endif
