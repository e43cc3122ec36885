/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * workers.h - the threads that take requests from the kernel and answer them.
 *
 * They end when the device closes, when the last user of the mount is gone. A
 * worker that cannot start, or one that is forced to end and does not, ends the
 * process: whoever asked it would wait for ever.
 */
#ifndef BFS_DAEMON_MOUNT_WORKERS_H
#define BFS_DAEMON_MOUNT_WORKERS_H

#include "daemon.h"
#include "mount/unmount.h"

#include <pthread.h>

#define MAX_WORKERS 256

struct workers {
	struct daemon *daemon;
	int ended;		/* eventfd: a worker ended */
	char name[UNMOUNT_THREAD_NAME_CAP];
	bool forced;		/* not to wait for what is stuck */
	pthread_t threads[MAX_WORKERS];
	unsigned n;
};

/* And the slow threads. 0 or -errno. */
int workers_start(struct workers *workers);
/* Has all of them give up what they decode, and end. */
void workers_wake(struct workers *workers);
/* Waits for all of them, and the slow threads. */
void workers_end(struct workers *workers);

#endif
