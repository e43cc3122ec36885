/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.h - libfuse's side of a mount. The keeper mounts by one session and
 * hands the device on; who serves has a session of its own over that.
 */
#ifndef BFS_DAEMON_MOUNT_SESSION_H
#define BFS_DAEMON_MOUNT_SESSION_H

#include "daemon.h"

/* NULL: session_said() tells why not. */
struct fuse_session *session_new(struct daemon *daemon);
/* 0 or -1, as session_said() tells. *ret_watched, for auto_unmount: a socket of
 * libfuse's, at whose end fusermount3 unmounts; else -1. */
int session_mount(struct fuse_session *session, const char *mountpoint,
		  int *ret_watched);
/* Serves an opened device, which it takes; 0 or -1. */
int session_serve(struct fuse_session *session, int device);
/* Frees the keeper's, whose device goes on elsewhere; unmounts nothing. */
void session_leave(struct fuse_session *session);

/* The last thing that libfuse or fusermount3 said; never empty. */
const char *session_said(void);
/* What libfuse says is logged from now on. */
void session_log(void);

#endif
