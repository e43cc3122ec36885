/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diskcache_priv.h - what a disk cache is, for the files that make it up.
 */
#ifndef BFS_DAEMON_REMOTE_DISKCACHE_PRIV_H
#define BFS_DAEMON_REMOTE_DISKCACHE_PRIV_H

#include "remote/diskcache.h"
#include "remote/diskfolder.h"

#include <pthread.h>

struct diskcache {
	struct diskfolder folder;	/* of the thread, but for its fd */
	const char *path;
	struct bloscfs *fs;		/* whose memory it is; or NULL */

	pthread_mutex_t lock;		/* guards what follows */
	pthread_cond_t come;
	struct diskjob *first, **last;
	struct diskjob *at_work;	/* taken from the queue, or NULL */
	uint64_t queued;		/* bytes, with those at work */
	uint64_t n_notes;		/* queued, with one at work */
	bool running, ending;
	int64_t end_ms;			/* when to leave, while ending */
	int64_t paused_ms;		/* nothing is written until then */
	pthread_t thread;
	struct diskcache_counts counts;
	bool told_write, told_damage;
};

#endif
