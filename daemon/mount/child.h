/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * child.h - the process that serves, as its keeper sees it. What it says is
 * not trusted.
 */
#ifndef BFS_DAEMON_MOUNT_CHILD_H
#define BFS_DAEMON_MOUNT_CHILD_H

#include "check/info.h"
#include "daemon.h"
#include "mount/line.h"

#include <stddef.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	struct line line;	/* to it; closed where it has ended */
	int breach;		/* a call that the sandbox forbids; -1 */
};

/* leave: descriptors that it does not keep. 0 or -errno. */
int child_start(struct child *child, struct daemon *daemon, const int *leave,
		size_t n_leave);
/* Once the line is closed, when the process has ended or is about to: waits
 * for it, and logs what it died of. forced: it was told to give up. */
enum exit_code child_reap(struct child *child, bool forced);
enum exit_code child_kill(struct child *child);
/* LINE_BREACH: the text is the number of a system call. */
void child_breach(struct child *child, const char *text);
/* LINE_LOG: a digit and a line, which is one line whatever it holds. */
void child_log(char *text);

#endif
