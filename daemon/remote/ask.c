/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ask.c - requests, pauses between them, and answers held against identity.
 */
#include "remote/ask.h"

#include "remote/signer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FIRST_PAUSE_MS 100
#define LONGEST_PAUSE_MS 5000
#define SLICE_MS 50
#define STALE_MS 1000
#define WONDER_MS 1000

bool remote_charge(struct remote *remote, uint64_t len)
{
	return !remote->fs || bloscfs_charge(remote->fs, len);
}

void remote_give_back(struct remote *remote, uint64_t len)
{
	bloscfs_give_back(remote->fs, len);
}

bool remote_is_tight(struct remote *remote)
{
	return bloscfs_is_tight(remote->fs);
}

bool remote_stopped(void *arg)
{
	const struct remote *remote = arg;

	return remote->stopped && remote->stopped();
}

bool remote_may_wait(const struct remote *remote, const char *url)
{
	struct hosts *hosts = transport_hosts(remote->transport);

	return !remote->may_wait ||
	       remote->may_wait(hosts_number(hosts, hosts_find(hosts, url)));
}

void remote_note(struct host *host, int64_t begin_ms,
		 const struct response *r)
{
	if (r->slow_down)
		host_slow_down(host, begin_ms, r->slow_down, r->retry_ms);
	else if (r->outcome != REMOTE_BUSY && r->outcome != REMOTE_STOPPED)
		host_answers(host, begin_ms);
	if (r->date)
		host_tells_date(host, r->date);
}

int remote_errno(const struct response *r, bool opened)
{
	switch (r->outcome) {
	case REMOTE_OK:
	case REMOTE_SAME:
		return 0;
	case REMOTE_ABSENT:
		return opened ? -ESTALE : -ENOENT;
	case REMOTE_CHANGED:
	case REMOTE_BEYOND:
		return -ESTALE;
	case REMOTE_DENIED:
	case REMOTE_EXPIRED:
		return -EACCES;
	case REMOTE_STOPPED:
		return -EINTR;
	case REMOTE_REFUSED:
	case REMOTE_BUSY:
		break;
	}
	return -EIO;
}

/* Milliseconds before try number i; what many do at once is spread. */
static uint64_t pause_before(unsigned i, const struct response *r)
{
	uint64_t pause = FIRST_PAUSE_MS;

	while (i-- > 1 && pause < LONGEST_PAUSE_MS)
		pause *= 2;
	pause += hosts_draw(pause / 2 + 1);
	return pause > r->retry_ms ? pause : r->retry_ms;
}

/* False where the thread's work is wanted no more. */
static bool sleep_for(struct remote *remote, uint64_t ms)
{
	const struct timespec slice = { .tv_nsec = SLICE_MS * 1000000 };
	int64_t end = remote_now_ms() + (int64_t)ms;

	while (remote_now_ms() < end) {
		if (remote_stopped(remote) || atomic_load(&remote->hurry))
			return false;
		nanosleep(&slice, NULL);
	}
	return true;
}

void remote_wait_a_moment(pthread_cond_t *cond, pthread_mutex_t *lock)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += SLICE_MS * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(cond, lock, &until);
}

/* False where there are no keys to sign with. */
static bool find_keys(struct remote *remote, const struct request *request,
		      struct response *r)
{
	const char *why = "";
	int status;

	if (!request->signer)
		return true;
	status = signer_ready(request->signer, remote_stopped, remote, &why);
	if (!status)
		return true;
	*r = (struct response){ .total = UINT64_MAX };
	r->outcome = status == -EINTR ? REMOTE_STOPPED : REMOTE_DENIED;
	snprintf(r->why, sizeof(r->why), "%s", why);
	return false;
}

/* Asks once, and once more with new keys where the old ones have expired. */
static void ask_signed(struct remote *remote, const struct request *request,
		       struct response *r)
{
	int64_t begin;

	for (int i = 0; i < 2; i++) {
		if (!find_keys(remote, request, r))
			return;
		begin = remote_now_ms();
		transport_ask(remote->transport, request, remote_stopped,
			      remote, r);
		if (r->outcome != REMOTE_EXPIRED || !request->signer ||
		    !signer_expire(request->signer, begin))
			return;
	}
}

/* Waits until the server may be asked for the i-th time. False where that is
 * too late, or is wanted no more. */
static bool wait_for_host(struct remote *remote, const struct host *host,
			  unsigned i, int64_t end, struct response *r)
{
	uint64_t pause;

	/* One reader after the other would wait for the same silence. */
	if (atomic_load(&remote->hurry) && atomic_load(&host->hangs)) {
		*r = (struct response){ .total = UINT64_MAX,
					.outcome = REMOTE_BUSY };
		strcpy(r->why, "the server is silent, and the mount is to "
		       "end");
		return false;
	}
	/* Who asked first may have heard the same again. */
	while ((pause = host_pause(host))) {
		if (i == 1) {
			*r = (struct response){ .total = UINT64_MAX,
						.outcome = REMOTE_BUSY };
			snprintf(r->why, sizeof(r->why), "the server says "
				 "%ld, and is left alone for a while",
				 atomic_load(&host->status));
		}
		if (remote_now_ms() + (int64_t)pause > end ||
		    atomic_load(&remote->hurry))
			return false;
		if (sleep_for(remote, pause))
			continue;
		if (remote_stopped(remote))
			r->outcome = REMOTE_STOPPED;
		return false;
	}
	return true;
}

/* Waits before try number i + 1. False where there is to be none. */
static bool wait_for_try(struct remote *remote, unsigned i, int64_t end,
			 struct response *r)
{
	uint64_t pause = r->slow_down ? 0 : pause_before(i, r);

	/* A longer pause than all may take (hosts.h). */
	if (remote_now_ms() + (int64_t)(pause ? pause : r->retry_ms) > end ||
	    atomic_load(&remote->hurry))
		return false;
	atomic_fetch_add_explicit(&remote->n_retries, 1, memory_order_relaxed);
	if (sleep_for(remote, pause))
		return true;
	if (remote_stopped(remote))
		r->outcome = REMOTE_STOPPED;
	return false;
}

static void tell_in_vain(struct remote *remote, const struct request *request,
			 int64_t end, const struct response *r)
{
	int64_t left = end - remote_now_ms();

	if (remote->in_vain && *r->why &&
	    left + WONDER_MS <= (int64_t)remote->retry_ms &&
	    atomic_exchange(&remote->probing, false))
		remote->in_vain(request->url, r->why,
				left > 0 ? (uint64_t)(left + 999) / 1000 : 0);
}

void remote_ask(struct remote *remote, const struct request *request,
		struct response *r)
{
	int64_t end = remote_now_ms() + (int64_t)remote->retry_ms, begin;
	struct host *host = hosts_find(transport_hosts(remote->transport),
				       request->url);

	if (!remote_may_wait(remote, request->url)) {
		*r = (struct response){ .outcome = REMOTE_STOPPED };
		return;
	}
	for (unsigned i = 1;; i++) {
		if (!wait_for_host(remote, host, i, end, r))
			return;
		begin = remote_now_ms();
		ask_signed(remote, request, r);
		remote_note(host, begin, r);
		if (r->outcome == REMOTE_BUSY)
			tell_in_vain(remote, request, end, r);
		if (r->outcome != REMOTE_BUSY ||
		    !wait_for_try(remote, i, end, r))
			return;
	}
}

struct request object_request(const struct identity *o, uint64_t off,
			      uint64_t len, void *buf)
{
	const char *tag = o->facts.tag;
	bool weak = strncmp(tag, "W/", 2) == 0;

	return (struct request){
		.url = o->url, .s3 = o->s3,
		.signer = o->s3 ? o->remote->signer : NULL,
		.off = off, .len = len, .buf = buf,
		.if_tag = *tag ? tag : NULL,
		.if_date = *tag && !weak ? 0 : o->facts.modified,
	};
}

const char *object_fate(const struct identity *o)
{
	return atomic_load(&o->gone) ? "the server has it no more" :
				       "it is another object by now";
}

bool object_fits(struct identity *o, struct response *r)
{
	if (r->outcome == REMOTE_OK &&
	    (r->total != o->facts.size ||
	     strcmp(r->tag, o->facts.tag) != 0 ||
	     r->modified != o->facts.modified))
		r->outcome = REMOTE_CHANGED;
	if (r->outcome == REMOTE_CHANGED || r->outcome == REMOTE_ABSENT ||
	    r->outcome == REMOTE_BEYOND) {
		atomic_store(&o->gone, r->outcome == REMOTE_ABSENT);
		atomic_store(&o->stale_ms, remote_now_ms());
		strcpy(r->why, object_fate(o));
	}
	if (r->outcome != REMOTE_OK)
		return false;
	atomic_store(&o->stale_ms, 0);
	atomic_store_explicit(&o->checked_ms, remote_now_ms(),
			      memory_order_relaxed);
	return true;
}

bool object_is_stale(const struct identity *o)
{
	int64_t since = atomic_load(&o->stale_ms);
	uint64_t most = o->remote->fresh_ms < STALE_MS ? o->remote->fresh_ms :
							 STALE_MS;

	return since && remote_now_ms() - since < (int64_t)most;
}
