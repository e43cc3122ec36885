/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * patience.h - tells who starts a mount what it waits for, while a file system
 * or a server does not answer: the call itself cannot be left.
 */
#ifndef BFS_DAEMON_MOUNT_PATIENCE_H
#define BFS_DAEMON_MOUNT_PATIENCE_H

#include <pthread.h>
#include <stdbool.h>

struct patience {
	const char *what;		/* a path; outlives it */
	pthread_t thread;
	pthread_mutex_t lock;		/* guards over */
	pthread_cond_t end;
	bool over;
	bool running;			/* of who began it */
};

/* From now on: after two seconds one line on stderr names what. Where there
 * can be no thread for it, nothing is told. */
void patience_begin(struct patience *patience, const char *what);
/* No thread is left behind. */
void patience_end(struct patience *patience);

#endif
