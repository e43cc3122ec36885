/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * patience.c - a thread, since a signal is not heard in a call that waits for a
 * file system.
 */
#include "mount/patience.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#define SECONDS 2

static void *watch(void *arg)
{
	struct patience *patience = arg;
	struct timespec until;
	int status = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += SECONDS;
	pthread_mutex_lock(&patience->lock);
	while (!patience->over && status != ETIMEDOUT)
		status = pthread_cond_timedwait(&patience->end,
						&patience->lock, &until);
	if (!patience->over)
		fprintf(stderr, "bloscfs: waiting for '%s', which has not "
			"answered for %d seconds; see whether what it lies on "
			"still works, or end bloscfs by Ctrl-C, or SIGKILL "
			"where that is not heard\n",
			patience->what, SECONDS);
	pthread_mutex_unlock(&patience->lock);
	return NULL;
}

/* It hears no signals: these are for the thread that waits. */
static bool start(struct patience *patience)
{
	sigset_t all, old;
	bool started;

	sigfillset(&all);
	/* Else the sandbox could not say which call it ended us for. */
	sigdelset(&all, SIGSYS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	started = pthread_create(&patience->thread, NULL, watch,
				 patience) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return started;
}

void patience_begin(struct patience *patience, const char *what)
{
	pthread_condattr_t attr;

	*patience = (struct patience){ .what = what };
	pthread_mutex_init(&patience->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&patience->end, &attr);
	pthread_condattr_destroy(&attr);
	patience->running = start(patience);
}

void patience_end(struct patience *patience)
{
	if (patience->running) {
		pthread_mutex_lock(&patience->lock);
		patience->over = true;
		pthread_cond_signal(&patience->end);
		pthread_mutex_unlock(&patience->lock);
		pthread_join(patience->thread, NULL);
	}
	pthread_cond_destroy(&patience->end);
	pthread_mutex_destroy(&patience->lock);
}
