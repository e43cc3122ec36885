/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tell.h - what the log is told of a node that failed.
 */
#ifndef BFS_DAEMON_TREE_TELL_H
#define BFS_DAEMON_TREE_TELL_H

#include "daemon.h"

/* Logs that the system refused something at the node's file. */
void look_tell_error(const struct daemon *daemon, struct node *node,
		     const char *deed, int error);
/* Logs what the library says against an entry, or a container. */
void look_tell_failure(const struct daemon *daemon, struct node *node,
		       const char *deed, int error,
		       const struct bloscfs_diag *why);
/* Logs how a container was found when it was opened. */
void look_tell_status(const char *path, struct bloscfs_file *file);

#endif
