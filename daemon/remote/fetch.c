/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fetch.c - reading an object: from its pieces, and from the server where there
 * is none.
 */
#include "remote/pieces_priv.h"

#include "invariant.h"

#include <errno.h>
#include <string.h>

#define LEAST (4 << 10)		/* a request costs more than so many bytes */

/* Waits until the piece has its first len bytes, or all that will come. 0 or
 * -EINTR. */
static int wait_for(struct object *o, struct piece *p, uint64_t len)
{
	int status = 0;

	while (p->loading && p->got < len && !status) {
		if (!p->needed || len < p->needed)
			p->needed = len;
		remote_wait_a_moment(&o->arrived, &o->lock);
		pthread_mutex_unlock(&o->lock);
		if (remote_stopped(o->id.remote))
			status = -EINTR;
		pthread_mutex_lock(&o->lock);
	}
	return status;
}

/* Copies what the piece has of [off, off + len), waiting for it. Sets
 * *ret_len; 0 where it could not be loaded. 0 or -EINTR. */
static int take(struct object *o, struct piece *p, char *buf, uint64_t off,
		uint64_t len, uint64_t *ret_len)
{
	uint64_t part = p->off + p->len - off;
	int status;

	INVARIANT(!p->failed && off >= p->off && off - p->off < p->len);
	*ret_len = 0;
	if (part > len)
		part = len;
	if (p->loading && p->got < off - p->off + part &&
	    !remote_may_wait(o->id.remote, o->id.url))
		return -EINTR;
	p->refs++;
	status = wait_for(o, p, off - p->off + part);
	p->refs--;
	if (status && p->loading)
		return status;
	if (p->failed) {
		if (!p->refs)
			pieces_drop(o, p);
		return status;
	}
	/* It may have become shorter while it was loaded. */
	if (!status && off - p->off < p->len) {
		if (part > p->off + p->len - off)
			part = p->off + p->len - off;
		memcpy(buf, p->bytes + (off - p->off), part);
		pieces_use(p);
		p->finished |= off - p->off + part == p->len;
		*ret_len = part;
		pieces_touch(o, p);
	}
	pieces_trim(o);
	INVARIANT_WALK(pieces_are_sound(o));
	return status;
}

/* Makes a piece that is loading end earlier. */
static void shorten(struct object *o, struct piece *p, uint64_t len)
{
	INVARIANT(p->loading && !p->ahead && len > 0 && len <= p->len);
	o->held -= p->len - len;
	p->len = len;
}

/* Asks the server for a piece. Without the lock. */
static int load_far(struct object *o, struct piece *p, uint64_t len,
		    char *why)
{
	struct request request = object_request(&o->id, p->off, len,
						p->bytes);
	int status;

	request.progress = pieces_come;
	request.progress_arg = p;
	remote_ask(o->id.remote, &request, &p->response);
	if (object_fits(&o->id, &p->response) && p->response.len != len) {
		p->response.outcome = REMOTE_REFUSED;
		strcpy(p->response.why, "the server sends less than there is");
	}
	status = remote_errno(&p->response, true);
	if (!status)
		diskcache_keep(&o->disk, p->off, len, p->bytes);
	strcpy(why, p->response.why);
	return status;
}

/* Loads [off, off + len), where no piece is, or less; others wait for this
 * one. The lock is left meanwhile. */
static int load(struct object *o, uint64_t off, uint64_t len, char *why)
{
	struct piece *p = pieces_add(o, off, len);
	/* Others are followed while the lock is left. */
	bool is_new = ahead_is_new(o);
	uint64_t there, lacking;
	int status = 0;

	if (!p)
		return -ENOMEM;
	p->loading = true;
	o->held += len;
	o->n_loading++;
	pthread_mutex_unlock(&o->lock);
	there = diskcache_read(&o->disk, off, len, p->bytes, &lacking);
	if (!there)
		status = load_far(o, p, lacking, why);
	pthread_mutex_lock(&o->lock);
	if (!there && is_new && o->disk.cache)
		ahead_lacked(o);
	shorten(o, p, there ? there : lacking);
	pieces_settle(o, p, !status);
	return status;
}

/* Reads without a piece, to where the bytes are wanted. The lock is left
 * meanwhile. */
static int load_there(struct object *o, void *buf, uint64_t off, uint64_t len,
		      char *why)
{
	struct request request = object_request(&o->id, off, len, buf);
	struct response r;
	int status;

	pthread_mutex_unlock(&o->lock);
	remote_ask(o->id.remote, &request, &r);
	if (object_fits(&o->id, &r) && r.len != len) {
		r.outcome = REMOTE_REFUSED;
		strcpy(r.why, "the server sends less than there is");
	}
	status = remote_errno(&r, true);
	strcpy(why, r.why);
	pthread_mutex_lock(&o->lock);
	return status;
}

/* How much is asked for at from, where a reader wants it to end. */
static uint64_t wanted(struct object *o, uint64_t off, uint64_t end,
		       uint64_t from, uint64_t asked)
{
	uint64_t want = end - from;
	const struct piece *p;

	/* What was asked for ahead and did not come is asked for in pieces as
	 * large: one refusal does not make many requests. */
	if (off < asked && want < STRIDE)
		want = asked - from < STRIDE ? asked - from : STRIDE;
	/* A little more than is asked for costs nothing. */
	if (want < LEAST)
		want = LEAST;
	want = pieces_round_up(o, from + want) - from;
	if (want > MOST)
		want = MOST;
	p = pieces_find(o, from, from + want);
	return p && p->off > from ? p->off - from : want;
}

int pieces_read(struct object *o, void *buf, size_t len, uint64_t off,
		char *why)
{
	uint64_t end = off + len, part, asked, from;
	char *to = buf;
	int status = 0;

	*why = '\0';
	if (object_is_stale(&o->id)) {
		strcpy(why, object_fate(&o->id));
		return -ESTALE;
	}
	pthread_mutex_lock(&o->lock);
	ahead_follow(o, off, len);
	asked = ahead_asked(o, off);
	while (!status && off < end) {
		struct piece *p = pieces_find(o, off, end);

		if (p && p->off <= off) {
			status = take(o, p, to, off, end - off, &part);
			to += part;
			off += part;
			continue;
		}
		from = pieces_round_down(o, off);
		status = load(o, from, wanted(o, off, end, from, asked), why);
		if (status != -ENOMEM)
			continue;
		p = pieces_find(o, off, end);
		part = p && p->off > off ? p->off - off : end - off;
		if (part > MOST)
			part = MOST;
		status = load_there(o, to, off, part, why);
		to += part;
		off += part;
	}
	if (status == -EINTR)
		ahead_leave(o, off, end);
	pthread_mutex_unlock(&o->lock);
	return status;
}
