/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * serve.h - the running mount: workers, signals, the end.
 */
#ifndef BFS_DAEMON_MOUNT_SERVE_H
#define BFS_DAEMON_MOUNT_SERVE_H

#include "daemon.h"

/* Called once the mount answers; error is NULL then. Called with a sentence
 * instead when it cannot be made. False: nobody waits any more, so unmount. */
typedef bool (*serve_told)(void *arg, const char *error);

/* Mounts and serves until unmounted or told to end by a signal. 0, or -1
 * when the mount failed. */
int serve_run(struct daemon *daemon, const char *source, serve_told told,
	      void *arg);

#endif
