/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * root.h - the root of a mount's tree: what SOURCE is.
 */
#ifndef BFS_DAEMON_MOUNT_ROOT_H
#define BFS_DAEMON_MOUNT_ROOT_H

#include "check/info.h"
#include "daemon.h"

/* Looks into SOURCE, which is open, and makes the tree. What is wrong is said
 * on stderr. */
enum exit_code root_open(struct daemon *daemon);
/* Frees the daemon's parts, as far as they are there, and closes the log. */
void root_release(struct daemon *daemon);

#endif
