/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * holders.h - who keeps a mount: processes with something open on it, and
 * mount namespaces in which it still is. Asks /proc alone, never the mount;
 * of other users' processes it sees what we may.
 */
#ifndef BFS_DAEMON_MOUNT_HOLDERS_H
#define BFS_DAEMON_MOUNT_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>

struct holders {
	char users[256];	/* "name (pid), ..." or "" */
	char spaces[256];	/* the same, one process of each namespace that
				 * has the mount and is not ours */
};

/* Of the mount with this device. */
void holders_find(unsigned major, unsigned minor, struct holders *ret);

#endif
