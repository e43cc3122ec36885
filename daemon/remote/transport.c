/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport.c - the thread that drives libcurl.
 *
 * A job is on the list of new ones, then in the multi handle, then done.
 * The lock guards the lists and a job's state; libcurl is called by the
 * thread alone, and without the lock.
 */
#include "remote/transport_priv.h"

#include "invariant.h"

#include <stdatomic.h>
#include <stdlib.h>

#define MOST_CONNECTIONS 32
#define POLL_MS 1000
#define BUSY_POLL_MS 200	/* while an answer may fall silent */
#define HURRY_MS 500
#define HANGS_MS 100		/* of a server that was as silent */

static void put_in(struct job **list, struct job *job)
{
	job->prev = NULL;
	job->next = *list;
	if (*list)
		(*list)->prev = job;
	*list = job;
}

static void take_out(struct job **list, struct job *job)
{
	INVARIANT((job->prev ? job->prev->next : *list) == job);
	if (job->prev)
		job->prev->next = job->next;
	else
		*list = job->next;
	if (job->next)
		job->next->prev = job->prev;
}

/* By the thread, with the lock held, which is left for a while where somebody
 * is told. The job is the caller's again, or gone. */
static void finish(struct transport *t, struct job *job)
{
	struct response *r = job->exchange.response;
	unsigned power = 0;

	INVARIANT(!job->done && !job->exchange.wire.easy);
	take_out(&t->active, job);
	while (power < TRANSPORT_N_TOOK - 1 && r->took_ms > 1u << power)
		power++;
	t->counts.n_requests++;
	t->counts.n_failed += r->outcome != REMOTE_OK &&
			       r->outcome != REMOTE_SAME;
	t->counts.n_cancelled += r->outcome == REMOTE_STOPPED;
	if (r->outcome == REMOTE_OK)
		atomic_store(&job->host->hangs, false);
	t->counts.bytes += r->len;
	t->counts.took[power]++;
	t->counts.took_ms += r->took_ms;
	job->done = true;
	if (!job->tell) {
		pthread_cond_signal(&job->over);
		return;
	}
	pthread_mutex_unlock(&t->lock);
	job->tell(job->arg);
	free(job);
	pthread_mutex_lock(&t->lock);
}

static struct job *cancelled_one(struct transport *t)
{
	struct job *job = t->active;

	while (job && !job->cancelled)
		job = job->next;
	return job;
}

/* Moves what is new into the multi handle, and out of it what was given up. */
static void begin_and_drop(struct transport *t)
{
	struct job *job;

	pthread_mutex_lock(&t->lock);
	while ((job = t->fresh)) {
		take_out(&t->fresh, job);
		put_in(&t->active, job);
		if (!job->cancelled && exchange_begin(&job->exchange,
						      &t->options,
						      &t->sockets) &&
		    curl_multi_add_handle(t->multi, job->exchange.wire.easy) ==
			    CURLM_OK)
			continue;
		exchange_end(&job->exchange, CURLE_OUT_OF_MEMORY,
			     job->cancelled);
		finish(t, job);
	}
	while ((job = cancelled_one(t))) {
		curl_multi_remove_handle(t->multi, job->exchange.wire.easy);
		exchange_end(&job->exchange, CURLE_OK, true);
		finish(t, job);
	}
	pthread_mutex_unlock(&t->lock);
}

static void collect(struct transport *t)
{
	CURLMsg *msg;
	struct job *job;
	int left;

	while ((msg = curl_multi_info_read(t->multi, &left))) {
		CURLcode code = msg->data.result;
		void *private = NULL;

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE,
				  (char **)&private);
		job = private;
		curl_multi_remove_handle(t->multi, msg->easy_handle);
		pthread_mutex_lock(&t->lock);
		exchange_end(&job->exchange, code, false);
		finish(t, job);
		pthread_mutex_unlock(&t->lock);
	}
}

static struct job *silent_one(struct transport *t)
{
	struct job *job = t->active;
	uint64_t silence;

	for (; job; job = job->next) {
		silence = t->options.silence_ms;
		if (t->hurry && silence > HURRY_MS)
			silence = HURRY_MS;
		if (t->hurry && atomic_load(&job->host->hangs))
			silence = HANGS_MS;
		if (exchange_is_silent(&job->exchange, silence, t->hurry))
			break;
	}
	return job;
}

static void drop_silent(struct transport *t)
{
	struct job *job;

	pthread_mutex_lock(&t->lock);
	while ((job = silent_one(t))) {
		curl_multi_remove_handle(t->multi, job->exchange.wire.easy);
		exchange_end(&job->exchange, CURLE_OPERATION_TIMEDOUT, false);
		if (t->hurry)
			atomic_store(&job->host->hangs, true);
		finish(t, job);
	}
	pthread_mutex_unlock(&t->lock);
}

static bool is_ending(struct transport *t)
{
	bool ending;

	pthread_mutex_lock(&t->lock);
	ending = t->ending;
	pthread_mutex_unlock(&t->lock);
	return ending;
}

static void *drive(void *arg)
{
	struct transport *t = arg;
	int running;

	while (!is_ending(t)) {
		begin_and_drop(t);
		curl_multi_perform(t->multi, &running);
		collect(t);
		drop_silent(t);
		curl_multi_poll(t->multi, NULL, 0,
				running ? BUSY_POLL_MS : POLL_MS, NULL);
	}
	return NULL;
}

struct transport *transport_new(const struct transport_options *options)
{
	struct transport *t = calloc(1, sizeof(*t));

	if (!t || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		free(t);
		return NULL;
	}
	t->options = *options;
	pthread_mutex_init(&t->lock, NULL);
	return t;
}

void transport_rest(struct transport *t)
{
	pthread_t thread;
	bool running;

	pthread_mutex_lock(&t->lock);
	running = t->running;
	thread = t->thread;
	t->ending = true;
	t->running = false;
	if (running)
		curl_multi_wakeup(t->multi);
	pthread_mutex_unlock(&t->lock);
	if (running) {
		pthread_join(thread, NULL);
		curl_multi_cleanup(t->multi);
		t->multi = NULL;
	}
	/* Nobody would tell who waits for one. */
	INVARIANT(!t->fresh && !t->active);
	t->ending = false;
}

void transport_free(struct transport *t)
{
	if (!t)
		return;
	transport_rest(t);
	pthread_mutex_destroy(&t->lock);
	curl_global_cleanup();
	free(t);
}

bool transport_run(struct transport *t)
{
	if (t->running)
		return true;
	t->multi = curl_multi_init();
	if (!t->multi)
		return false;
	curl_multi_setopt(t->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
			  (long)MOST_CONNECTIONS);
	curl_multi_setopt(t->multi, CURLMOPT_MAXCONNECTS,
			  (long)MOST_CONNECTIONS);
	if (pthread_create(&t->thread, NULL, drive, t)) {
		curl_multi_cleanup(t->multi);
		t->multi = NULL;
		return false;
	}
	pthread_setname_np(t->thread, "bloscfs-net");
	t->running = true;
	return true;
}

struct hosts *transport_hosts(struct transport *t)
{
	return &t->hosts;
}

void transport_hurry(struct transport *t)
{
	pthread_mutex_lock(&t->lock);
	t->hurry = true;
	if (t->running)
		curl_multi_wakeup(t->multi);
	pthread_mutex_unlock(&t->lock);
}

void transport_count(struct transport *t,
		     struct transport_counts *ret_counts)
{
	pthread_mutex_lock(&t->lock);
	*ret_counts = t->counts;
	pthread_mutex_unlock(&t->lock);
}
