/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job.c - requests handed to the transport's thread, by those who wait for
 * them and those who are told.
 */
#include "remote/transport_priv.h"

#include "invariant.h"
#include "remote/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STOPPED_MS 50		/* how often a waiting caller asks */

/* In the order of coming: what is asked for first is needed first. */
static void append(struct transport *t, struct job *job)
{
	job->next = NULL;
	job->prev = t->fresh ? t->freshest : NULL;
	if (job->prev)
		job->prev->next = job;
	else
		t->fresh = job;
	t->freshest = job;
}

/* With the lock held: waits until the thread has let go of the job. */
static void wait_for(struct transport *t, struct job *job,
		     bool (*stopped)(void *arg), void *arg)
{
	while (!job->done) {
		struct timespec until;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += STOPPED_MS * 1000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		if (pthread_cond_timedwait(&job->over, &t->lock, &until) !=
		    ETIMEDOUT)
			continue;
		pthread_mutex_unlock(&t->lock);
		bool leave = stopped && stopped(arg);
		pthread_mutex_lock(&t->lock);
		if (leave && !job->cancelled) {
			job->cancelled = true;
			curl_multi_wakeup(t->multi);
		}
	}
}

struct job *transport_start(struct transport *t,
			    const struct request *request,
			    struct response *response,
			    void (*over)(void *arg), void *arg)
{
	struct job *job = calloc(1, sizeof(*job));
	bool started;

	if (!job)
		return NULL;
	*response = (struct response){ .total = UINT64_MAX };
	job->request = *request;
	job->exchange.request = &job->request;
	job->exchange.response = response;
	job->exchange.owner = job;
	job->exchange.begin_ms = remote_now_ms();
	job->host = hosts_find(&t->hosts, request->url);
	job->tell = over;
	job->arg = arg;
	pthread_mutex_lock(&t->lock);
	started = transport_run(t);
	if (started) {
		append(t, job);
		curl_multi_wakeup(t->multi);
	}
	pthread_mutex_unlock(&t->lock);
	if (!started) {
		free(job);
		job = NULL;
	}
	return job;
}

void transport_cancel(struct transport *t, struct job *job)
{
	pthread_mutex_lock(&t->lock);
	INVARIANT(job->tell);
	job->cancelled = true;
	if (t->running)
		curl_multi_wakeup(t->multi);
	pthread_mutex_unlock(&t->lock);
}

void transport_ask(struct transport *t, const struct request *request,
		   bool (*stopped)(void *arg), void *arg,
		   struct response *ret_response)
{
	struct job job = {
		.exchange = { .request = request, .response = ret_response },
	};
	pthread_condattr_t attr;
	int64_t begin = remote_now_ms();

	*ret_response = (struct response){ .total = UINT64_MAX };
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&job.over, &attr);
	pthread_condattr_destroy(&attr);
	job.host = hosts_find(&t->hosts, request->url);
	job.exchange.owner = &job;
	job.exchange.begin_ms = begin;
	pthread_mutex_lock(&t->lock);
	if (transport_run(t)) {
		append(t, &job);
		curl_multi_wakeup(t->multi);
		wait_for(t, &job, stopped, arg);
	} else {
		ret_response->outcome = REMOTE_BUSY;
		strcpy(ret_response->why, "no memory or threads for it");
	}
	pthread_mutex_unlock(&t->lock);
	pthread_cond_destroy(&job.over);
}
