/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keeper.h - the process that is known as the daemon. It makes the mount and
 * takes it away, hears signals and writes the log anew, and keeps all rights
 * that it was started with; so it looks into no file of SOURCE. Its child
 * serves the mount (serve.h).
 */
#ifndef BFS_DAEMON_MOUNT_KEEPER_H
#define BFS_DAEMON_MOUNT_KEEPER_H

#include "check/info.h"
#include "daemon.h"

/* Called once the mount answers; error is NULL then. Called with a sentence
 * instead when it cannot be made and nobody has said why. False: nobody waits
 * any more, so unmount. */
typedef bool (*keeper_told)(void *arg, const char *error);

/* Mounts, and returns when the mount has ended: EXIT_OK after an unmount or a
 * signal, EXIT_DIED where who served it died. */
enum exit_code keeper_run(struct daemon *daemon, keeper_told told, void *arg);

/* A descriptor of told's, which its listener waits to see closed: who serves
 * does not keep it. Before keeper_run. */
void keeper_keep_fd(int fd);

#endif
