/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * task.h - a request of the kernel's, as long as it is not answered.
 */
#ifndef BFS_DAEMON_OPS_TASK_H
#define BFS_DAEMON_OPS_TASK_H

#include "daemon.h"

struct task {
	fuse_req_t req;
	/* Does and answers it. False, with nothing answered and all undone,
	 * where call_is_void() says so. */
	bool (*run)(struct daemon *daemon, struct task *task);
	const char *deed;	/* "read", for the log */
	fuse_ino_t id;
	const char *name;	/* or NULL */
	size_t len;
	off_t off;
	int flag;
	bool decodes;		/* a glance is for what is decoded already */
	struct fuse_file_info fi;
};

#endif
