/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * serve.h - the process that serves a mount: in a sandbox, with all threads,
 * and nothing to say but over the line to its keeper, without whom it ends.
 */
#ifndef BFS_DAEMON_MOUNT_SERVE_H
#define BFS_DAEMON_MOUNT_SERVE_H

#include "check/info.h"
#include "daemon.h"
#include "mount/line.h"

#include <sys/types.h>

/* Opens SOURCE, takes the device, serves until it closes. Frees the daemon.
 * Called by the keeper's child; keeper is the keeper's process. */
enum exit_code serve_run(struct daemon *daemon, const struct line *line,
			 pid_t keeper);

#endif
