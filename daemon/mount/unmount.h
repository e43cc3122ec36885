/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unmount.h - bloscfs --unmount: take a mount away and wait for its daemon.
 *
 * A daemon is found by the names of its threads, which say the device number
 * of its mount.
 */
#ifndef BFS_DAEMON_MOUNT_UNMOUNT_H
#define BFS_DAEMON_MOUNT_UNMOUNT_H

#include <stddef.h>

/* With the NUL: what the kernel keeps of a thread's name. */
#define UNMOUNT_THREAD_NAME_CAP 16

/* The name of the main thread of who serves: its parent is the daemon. */
#define UNMOUNT_SERVER_NAME "bloscfs-serve"

void unmount_thread_name(char *buf, unsigned major, unsigned minor);
/* 0 or -1 with one sentence. */
int unmount_run(const char *mountpoint, char *error, size_t cap);

#endif
