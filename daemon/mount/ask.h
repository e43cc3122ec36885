/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ask.h - questions to file systems that may never answer. Another process
 * asks, and is waited for no longer than ANSWER_MS: who waits for a daemon that
 * is stopped may be past killing.
 */
#ifndef BFS_DAEMON_MOUNT_ASK_H
#define BFS_DAEMON_MOUNT_ASK_H

#include <stdbool.h>

/* realpath of a path, to be freed. NULL with errno: ETIMEDOUT where a file
 * system on the way does not answer. */
char *ask_real_path(const char *path);

/* Whether the kernel says, at once, that the daemon of the mount at path is
 * gone. */
bool ask_is_dead(const char *path);

#endif
