/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * object.c - objects opened by their head and tail, and held against what the
 * server has now.
 */
#include "remote/object.h"

#include "remote/diskcache.h"
#include "remote/folder.h"
#include "remote/pieces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define END_LEN (32 << 10)	/* of head and tail, each */
#define OPEN_TRIES 3
#define FAR_MS 8		/* an answer that takes so long is dear */

/* The tail, asked for while the head is. */
struct tail {
	struct response response;
	char *bytes;
	pthread_mutex_t lock;
	pthread_cond_t over;
	bool done;
};

static void tail_over(void *arg)
{
	struct tail *tail = arg;

	pthread_mutex_lock(&tail->lock);
	tail->done = true;
	pthread_cond_signal(&tail->over);
	pthread_mutex_unlock(&tail->lock);
}

/* Waits for the tail; the head has told meanwhile whether that is worth it.
 * The job lives as long as its end was not told, which the lock holds up. */
static void wait_tail(struct remote *remote, struct tail *tail,
		      struct job *job, bool wanted)
{
	bool cancelled = false;

	pthread_mutex_lock(&tail->lock);
	while (!tail->done) {
		if (!cancelled && (!wanted || remote_stopped(remote))) {
			transport_cancel(remote->transport, job);
			cancelled = true;
		}
		remote_wait_a_moment(&tail->over, &tail->lock);
	}
	pthread_mutex_unlock(&tail->lock);
}

/* Head and tail at once. The tail may fail, or be nothing: it is asked for when
 * needed. */
static void ask_ends(struct object *o, char *head, struct response *r,
		     struct tail *tail)
{
	struct request want = object_request(&o->id, 0, END_LEN, head);
	struct request end = want;
	struct job *job = NULL;

	if (!remote_may_wait(o->id.remote, o->id.url)) {
		*r = (struct response){ .outcome = REMOTE_STOPPED };
		return;
	}
	end.from_end = true;
	end.buf = tail->bytes;
	if (o->has_tail)
		job = transport_start(o->id.remote->transport, &end,
				      &tail->response, tail_over, tail);
	if (!job)
		tail->response.outcome = REMOTE_BUSY;
	remote_ask(o->id.remote, &want, r);
	if (job)
		wait_tail(o->id.remote, tail, job, r->outcome == REMOTE_OK);
}

/* Where the tail begins, for the disk cache. */
static uint64_t tail_from(const struct object *o, uint64_t size, uint64_t head)
{
	uint64_t from = size > END_LEN ? size - END_LEN : 0;

	if (!o->has_tail)
		return size;
	from = (from + STRIPE_CELL - 1) / STRIPE_CELL * STRIPE_CELL;
	return from > head ? from : head;
}

/* Head and tail by the disk cache, for what it knows of the address. */
static bool recall(struct object *o, struct object_facts *ret_facts,
		   char *head, char *tail)
{
	struct diskcache *disk = o->id.remote->disk;
	uint64_t size, n, from, lacking, got;

	if (!disk || !remote_may_wait(o->id.remote, o->id.url) ||
	    !diskcache_recall(disk, o->id.url, ret_facts))
		return false;
	diskcache_name(disk, o->id.url, ret_facts, &o->disk);
	size = ret_facts->size;
	n = size < END_LEN ? size : END_LEN;
	from = tail_from(o, size, n);
	if (!o->disk.cache || !n)
		return false;
	/* Both, so that damage in both is met at once. */
	got = diskcache_read(&o->disk, 0, n, head, &lacking);
	if (from < size)
		got += diskcache_read(&o->disk, from, size - from, tail,
				      &lacking);
	return got == n + size - from;
}

static bool is_same(const struct response *r, const struct object_facts *f)
{
	if (r->outcome == REMOTE_SAME)
		return (!*r->tag || strcmp(r->tag, f->tag) == 0) &&
		       (!r->modified || r->modified == f->modified);
	return r->outcome == REMOTE_OK && r->total == f->size &&
	       strcmp(r->tag, f->tag) == 0 && r->modified == f->modified;
}

/* Of the quicker of two answers: the other one may have met a bad moment. */
static uint64_t wait_cost(const struct response *one,
			  const struct response *other)
{
	uint64_t ms = one->wait_ms;

	if (other->outcome == REMOTE_OK && other->wait_ms < ms)
		ms = other->wait_ms;
	return ms < FAR_MS ? 0 : ms * REMOTE_BYTES_A_MS;
}

/* One request that says whether it is still what it was. 1: it is not. */
static int ask_known(struct object *o, const struct object_facts *f,
		     char *head, char *why)
{
	struct request want = object_request(&o->id, 0, END_LEN, head);
	struct response r;

	/* A weak ETag is none of bytes. */
	if (*f->tag && strncmp(f->tag, "W/", 2) != 0)
		want.unless_tag = f->tag;
	else
		want.unless_date = f->modified;
	if (!want.unless_tag && !want.unless_date)
		return 1;
	remote_ask(o->id.remote, &want, &r);
	if (!is_same(&r, f)) {
		strcpy(why, r.why);
		return r.outcome == REMOTE_SAME || r.outcome == REMOTE_OK ||
		       r.outcome == REMOTE_BEYOND ||
		       r.outcome == REMOTE_REFUSED ? 1 :
		       remote_errno(&r, false);
	}
	o->id.wait_cost = wait_cost(&r, &r);
	return 0;
}

/* Opens what the disk cache has the ends of, if it is still so. 1 where it is
 * not. */
static int open_known(struct object *o, uint64_t listed, char *head,
		      char *tail, char *why)
{
	struct object_facts facts;
	uint64_t n, from;
	int status = 0;

	if (!recall(o, &facts, head, tail))
		return 1;
	if (!listed || folder_identity(facts.tag, facts.modified) != listed)
		status = ask_known(o, &facts, head, why);
	if (status)
		return status;
	o->id.facts = facts;
	atomic_store(&o->id.checked_ms, remote_now_ms());
	n = facts.size < END_LEN ? facts.size : END_LEN;
	from = tail_from(o, facts.size, n);
	pieces_keep(o, 0, n, head);
	pieces_keep(o, from, facts.size - from, tail);
	return 0;
}

/* For the next opening, by whomever. */
static void remember(struct object *o, const char *head, uint64_t head_len,
		     const struct response *end, const char *tail)
{
	const struct object_facts *f = &o->id.facts;
	uint64_t from = tail_from(o, f->size, head_len);

	o->disk = (struct disk_object){ 0 };
	if (!f->size || !(*f->tag || f->modified))
		return;
	diskcache_name(o->id.remote->disk, o->id.url, f, &o->disk);
	diskcache_note(o->id.remote->disk, o->id.url, f);
	diskcache_keep(&o->disk, 0, head_len, head);
	if (end->outcome == REMOTE_OK && from < f->size && from >= end->off)
		diskcache_keep(&o->disk, from, f->size - from,
			       tail + (from - end->off));
}

/* Takes what came; false where the two are of different objects. */
static bool take_ends(struct object *o, char *head,
		      const struct response *r, struct tail *tail)
{
	struct response *end = &tail->response;

	o->id.facts = (struct object_facts){ r->total, r->modified, "" };
	strcpy(o->id.facts.tag, r->tag);
	atomic_store(&o->id.checked_ms, remote_now_ms());
	if (end->outcome == REMOTE_OK && !object_fits(&o->id, end)) {
		atomic_store(&o->id.stale_ms, 0);
		return false;
	}
	remember(o, head, r->len, end, tail->bytes);
	o->id.wait_cost = wait_cost(r, end);
	pieces_keep(o, 0, r->len, head);
	if (end->outcome == REMOTE_OK && r->len < r->total)
		pieces_keep(o, end->off, end->len, tail->bytes);
	return true;
}

/* No range lies in an empty object, and a refused one need not tell which
 * object it is: then it is asked for as a whole. */
static void ask_empty(struct object *o, struct response *r)
{
	struct request want;
	char byte;

	if (r->total != 0 || (!r->tag[0] && !r->modified)) {
		want = object_request(&o->id, 0, 1, &byte);
		want.whole = true;
		remote_ask(o->id.remote, &want, r);
		if (r->outcome == REMOTE_OK && r->len)
			r->outcome = REMOTE_CHANGED;
		if (r->outcome != REMOTE_OK)
			return;
	}
	r->outcome = REMOTE_OK;
	r->len = r->total = 0;
}

/* As object_open; head and tail take END_LEN. */
static int open_new(struct object *o, char *head, char *tail_bytes,
		    char *why)
{
	struct tail tail = { .lock = PTHREAD_MUTEX_INITIALIZER,
			     .over = PTHREAD_COND_INITIALIZER,
			     .bytes = tail_bytes };
	struct response r;
	int status = -EIO;

	for (int i = 0; i < OPEN_TRIES && status == -EIO; i++) {
		tail.done = false;
		ask_ends(o, head, &r, &tail);
		if (r.outcome == REMOTE_BEYOND)
			ask_empty(o, &r);
		status = remote_errno(&r, false);
		strcpy(why, r.why);
		if (status)
			break;
		if (!take_ends(o, head, &r, &tail)) {
			status = -EIO;
			strcpy(why, "it changes all the time");
		}
	}
	return status;
}

static int open_ends(struct object *o, uint64_t listed, char *why)
{
	char *head = malloc(END_LEN), *tail = malloc(END_LEN);
	int status = -ENOMEM;

	if (head && tail)
		status = open_known(o, listed, head, tail, why);
	if (status == 1)
		status = open_new(o, head, tail, why);
	free(head);
	free(tail);
	return status;
}

int object_open(struct remote *remote, const char *url, bool s3, bool has_tail,
		uint64_t listed, struct object **ret_object, char *why)
{
	struct object *o = calloc(1, sizeof(*o));
	int status = -ENOMEM;

	*why = '\0';
	if (o)
		o->id.url = strdup(url);
	if (o && o->id.url) {
		o->id.remote = remote;
		o->id.s3 = s3;
		o->id.host = hosts_find(transport_hosts(remote->transport),
					o->id.url);
		o->has_tail = has_tail;
		pieces_init(o);
		status = open_ends(o, listed, why);
	}
	if (!status && o->id.facts.tag[0] == '\0' && !o->id.facts.modified) {
		/* Nothing would tell one object from the next. */
		strcpy(why, "the server tells neither an ETag nor a date, so "
		       "that a change would not be noticed");
		status = -EIO;
	}
	if (status && o && o->id.url)
		pieces_release(o);
	if (status && o) {
		free(o->id.url);
		free(o);
	}
	if (!status)
		*ret_object = o;
	return status;
}

void object_close(struct object *o)
{
	if (!o)
		return;
	pieces_release(o);
	free(o->id.url);
	free(o);
}

uint64_t object_wait_cost(const struct object *o)
{
	return o->id.wait_cost;
}

bool object_is_newer(const struct object *o, int64_t since_ms)
{
	return host_is_since(o->id.host, o->id.facts.modified, since_ms);
}

void object_get(const struct object *o, struct object_facts *ret_facts)
{
	*ret_facts = o->id.facts;
}

/* No range asks about an empty object: when it is not believed any more it is
 * to be opened anew. */
static int check_empty(const struct object *o, int64_t now, int64_t since_ms)
{
	int64_t seen = atomic_load(&o->id.checked_ms);
	bool must = seen < since_ms;

	if (!must && now - seen < (int64_t)o->id.remote->fresh_ms)
		return 0;
	if (!remote_may_wait(o->id.remote, o->id.url))
		return must ? -EINTR : 0;
	return -ESTALE;
}

int object_check(struct object *o, int64_t since_ms)
{
	int64_t now = remote_now_ms(), seen, asking;
	struct request request;
	struct response r;
	bool must;
	char byte;

	if (object_is_stale(&o->id))
		return -ESTALE;
	if (!o->id.facts.size)
		return check_empty(o, now, since_ms);
	seen = atomic_load_explicit(&o->id.checked_ms, memory_order_relaxed);
	must = seen < since_ms;
	asking = atomic_load(&o->id.asking_ms);
	if (!must && now - (seen > asking ? seen : asking) <
			     (int64_t)o->id.remote->fresh_ms &&
	    !atomic_load(&o->id.stale_ms))
		return 0;
	if (!remote_may_wait(o->id.remote, o->id.url))
		return must ? -EINTR : 0;
	/* One asks, and the others go on meanwhile. */
	if (!atomic_compare_exchange_strong(&o->id.asking_ms, &asking, now) &&
	    !must)
		return 0;
	if (!must && host_pause(o->id.host))
		return 0;
	request = object_request(&o->id, 0, 1, &byte);
	transport_ask(o->id.remote->transport, &request, remote_stopped,
		      o->id.remote, &r);
	remote_note(o->id.host, now, &r);
	if (!object_fits(&o->id, &r) && must)
		return r.outcome == REMOTE_STOPPED ? -EINTR : -ESTALE;
	return atomic_load(&o->id.stale_ms) ? -ESTALE : 0;
}

int object_read(struct object *o, void *buf, size_t len, uint64_t off,
		char *why)
{
	return pieces_read(o, buf, len, off, why);
}

bool object_is_near(struct object *o, uint64_t off, uint64_t len)
{
	return pieces_have(o, off, len);
}

void object_want(struct object *o, const struct extent *extents, size_t n)
{
	pieces_want(o, extents, n);
}
