/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * terms.h - what a mount and the kernel agree upon before the first request.
 */
#ifndef BFS_DAEMON_OPS_TERMS_H
#define BFS_DAEMON_OPS_TERMS_H

#include "daemon.h"

/* Takes out of libfuse's arguments what terms_agree says: how much is read
 * ahead or waits. False where they are no numbers, or memory is lacking. */
bool terms_take(struct fuse_args *args);
/* Answers the kernel's first request; userdata is the struct daemon. */
void terms_agree(void *userdata, struct fuse_conn_info *conn);
/* Serves a device that somebody else has mounted; 0 on success. */
int terms_serve(struct fuse_session *session, int device);

#endif
