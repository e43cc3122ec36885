/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control.h - .bloscfs/ at the root of a mount: what the mount knows of
 * itself, as files. It is found by its name and listed nowhere.
 *
 * Each lookup of a file takes a snapshot, a node of its own: its size and
 * bytes stay as they are, whatever happens meanwhile. Nothing of a name is
 * kept by the kernel, so that the next lookup sees what is new.
 */
#ifndef BFS_DAEMON_OPS_CONTROL_H
#define BFS_DAEMON_OPS_CONTROL_H

#include "daemon.h"
#include "ops/reply.h"

/* The folder in the root, or one of its files. 0 or -errno. */
int control_lookup(struct daemon *daemon, struct node *parent,
		   const char *name, struct fuse_entry_param *param);
void control_attr(const struct daemon *daemon, const struct node *node,
		  struct stat *ret_attr);
/* The file at position i; NULL at the end. */
const char *control_list(size_t i);
void control_read(fuse_req_t req, const struct node *node, size_t len,
		  off_t off);
/* The place that lseek with SEEK_DATA or SEEK_HOLE finds, or -ENXIO. */
off_t control_seek(const struct node *node, off_t off, bool hole);

/* Logs the numbers of stats as one line. */
void control_log_stats(struct daemon *daemon);

#endif
