/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport_priv.h - what a transport and its jobs are, for transport.c and
 * job.c.
 */
#ifndef BFS_DAEMON_REMOTE_TRANSPORT_PRIV_H
#define BFS_DAEMON_REMOTE_TRANSPORT_PRIV_H

#include "remote/exchange.h"
#include "remote/transport.h"

#include <pthread.h>

struct job {
	struct exchange exchange;
	struct request request;
	struct job *next, *prev;
	struct host *host;
	bool done, cancelled;
	pthread_cond_t over;		/* of one that is waited for */
	void (*tell)(void *arg);	/* of another: whom to tell */
	void *arg;
};

struct transport {
	struct transport_options options;
	CURLM *multi;
	pthread_t thread;
	pthread_mutex_t lock;
	bool running, ending, hurry;
	struct job *fresh, *freshest;	/* not seen by the thread yet: the
					 * first and the last that came */
	struct job *active;		/* in the multi handle */
	struct transport_counts counts;
	struct hosts hosts;
	struct sockets sockets;		/* the thread's */
};

/* With the lock held: starts the thread where it is not there yet. False on no
 * memory or threads. */
bool transport_run(struct transport *t);

#endif
