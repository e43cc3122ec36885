/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ready.h - telling who started us that the mount answers, and that it ends:
 * by a line end on notify_fd, and to a service manager by the datagrams that
 * sd_notify(3) describes. Where NOTIFY_SOCKET names no socket, nothing is sent.
 */
#ifndef BFS_DAEMON_MOUNT_READY_H
#define BFS_DAEMON_MOUNT_READY_H

#include "opts/opts.h"

/* Called by the process that is to be known as the daemon. Closes notify_fd. */
void ready_tell(const struct opts *opts);
void ready_tell_end(void);

#endif
