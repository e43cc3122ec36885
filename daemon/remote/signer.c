/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * signer.c - keys, and one thread at a time that has new ones made.
 */
#include "remote/signer.h"

#include "invariant.h"
#include "remote/clock.h"
#include "remote/command.h"
#include "remote/hired.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OUTPUT_CAP (64 << 10)
#define EARLY 300		/* seconds before they expire ... */
#define EARLY_SHARE 4		/* ... or this part of a short life */
#define RETRY_MS 10000		/* while the old ones are still good */
#define SLICE_MS 50

struct signer {
	char *process;		/* or NULL */
	uint64_t limit_ms;
	struct hired hired;	/* who runs it for us, if somebody does */
	pthread_mutex_t lock;	/* guards what follows */
	pthread_cond_t made;
	struct keys keys;	/* id NULL: none */
	int64_t renew, until;	/* seconds since 1970 */
	int64_t made_ms;	/* CLOCK_MONOTONIC */
	int64_t failed_ms;	/* ... when it failed last; 0: it did not */
	bool making;
};

static int copy(char **to, const char *text)
{
	*to = text ? strdup(text) : NULL;
	return text && !*to ? -ENOMEM : 0;
}

struct signer *signer_new(const struct keys *keys, const char *process,
			  uint64_t limit_ms)
{
	struct signer *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->made, NULL);
	s->limit_ms = limit_ms;
	s->hired.end = -1;
	s->renew = s->until = keys->id ? INT64_MAX : 0;
	if (copy(&s->process, process) || copy(&s->keys.id, keys->id) ||
	    copy(&s->keys.secret, keys->secret) ||
	    copy(&s->keys.token, keys->token)) {
		signer_free(s);
		return NULL;
	}
	return s;
}

void signer_free(struct signer *s)
{
	if (!s)
		return;
	INVARIANT(!s->making);
	if (s->hired.end >= 0)
		close(s->hired.end);
	keys_forget(&s->keys);
	free(s->process);
	pthread_cond_destroy(&s->made);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* With the lock held. */
static bool is_good(const struct signer *s)
{
	return s->keys.id && time(NULL) < s->until;
}

/* With the lock held. */
static bool is_wanted(const struct signer *s)
{
	return s->process && time(NULL) >= s->renew &&
	       !(is_good(s) && s->failed_ms &&
		 remote_now_ms() - s->failed_ms < RETRY_MS);
}

/* With the lock held. */
static void put(struct signer *s, struct keys *keys, int64_t until)
{
	int64_t now = time(NULL), early = EARLY;

	keys_forget(&s->keys);
	s->keys = *keys;
	s->until = s->renew = until;
	s->made_ms = remote_now_ms();
	if (until == INT64_MAX)
		return;
	if (until > now && (until - now) / EARLY_SHARE < early)
		early = (until - now) / EARLY_SHARE;
	s->renew = until - early;
}

int signer_hire(struct signer *s)
{
	return s->process && s->hired.end < 0 ?
	       hired_start(s->process, &s->hired) : 0;
}

static int run(struct signer *s, bool (*stopped)(void *arg), void *arg,
	       char *text, size_t *ret_len, const char **ret_why)
{
	return s->hired.end >= 0 ?
	       hired_run(&s->hired, s->limit_ms, stopped, arg, text,
			 OUTPUT_CAP, ret_len, ret_why) :
	       command_run(s->process, s->limit_ms, stopped, arg, text,
			   OUTPUT_CAP, ret_len, ret_why);
}

/* With the lock held, which is left meanwhile. */
static int make(struct signer *s, bool (*stopped)(void *arg), void *arg,
		const char **ret_why)
{
	char *text = malloc(OUTPUT_CAP);
	struct keys keys;
	int64_t until;
	size_t len = 0;
	int status = -ENOMEM;

	INVARIANT(!s->making);
	*ret_why = "no memory for credential_process";
	s->making = true;
	pthread_mutex_unlock(&s->lock);
	if (text) {
		status = run(s, stopped, arg, text, &len, ret_why);
		if (!status) {
			status = granted_parse(text, len, &keys, &until);
			*ret_why = "credential_process prints no keys";
		}
		explicit_bzero(text, OUTPUT_CAP);
	}
	free(text);
	pthread_mutex_lock(&s->lock);
	s->making = false;
	s->failed_ms = status ? remote_now_ms() : 0;
	if (!status)
		put(s, &keys, until);
	pthread_cond_broadcast(&s->made);
	return status;
}

/* With the lock held: another one makes keys. */
static void wait_a_moment(struct signer *s)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += SLICE_MS * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&s->made, &s->lock, &until);
}

int signer_ready(struct signer *s, bool (*stopped)(void *arg), void *arg,
		 const char **ret_why)
{
	int status = 0;

	*ret_why = "the keys have expired";
	pthread_mutex_lock(&s->lock);
	while (!status && is_wanted(s)) {
		if (!s->making) {
			status = make(s, stopped, arg, ret_why);
			break;
		}
		/* Others go on meanwhile. */
		if (is_good(s))
			break;
		wait_a_moment(s);
		pthread_mutex_unlock(&s->lock);
		if (stopped && stopped(arg))
			status = -EINTR;
		pthread_mutex_lock(&s->lock);
	}
	if (status != -EINTR && (is_good(s) || (!status && s->keys.id)))
		status = 0;
	else if (status != -EINTR)
		status = -EACCES;
	pthread_mutex_unlock(&s->lock);
	return status;
}

bool signer_expire(struct signer *s, int64_t begin_ms)
{
	bool can;

	pthread_mutex_lock(&s->lock);
	can = s->process != NULL;
	/* Those that were made since are others. */
	if (can && s->made_ms <= begin_ms)
		s->renew = s->until = 0;
	pthread_mutex_unlock(&s->lock);
	return can;
}

bool signer_use(struct signer *s,
		bool (*take)(void *arg, const struct keys *keys), void *arg)
{
	bool taken;

	pthread_mutex_lock(&s->lock);
	taken = s->keys.id && take(arg, &s->keys);
	pthread_mutex_unlock(&s->lock);
	return taken;
}
