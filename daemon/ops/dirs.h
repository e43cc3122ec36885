/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dirs.h - listing directories, of the source and of containers. Listings
 * take constant memory and resume at any offset.
 */
#ifndef BFS_DAEMON_OPS_DIRS_H
#define BFS_DAEMON_OPS_DIRS_H

#include "daemon.h"

void dirs_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi);
void dirs_read(fuse_req_t req, fuse_ino_t id, size_t len, off_t off,
	       struct fuse_file_info *fi);
void dirs_read_plus(fuse_req_t req, fuse_ino_t id, size_t len, off_t off,
		    struct fuse_file_info *fi);
/* A name is looked up in the directory: who lists it may want attributes. */
void dirs_note_lookup(struct node *dir);

#endif
