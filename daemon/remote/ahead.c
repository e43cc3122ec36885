/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ahead.c - what is asked for before it is read: what comes next for those who
 * read forwards, what the library says, and all of a small object.
 *
 * Who reads here and there in an object on a far server waits for an answer
 * each time. Where the object is no larger than who mounts says, and all that
 * is left of it costs no more than a few such waits, it is asked for after some
 * of them: in waves, the next one when half of the
 * last is here, each four times as wide, and only as long as what comes is as
 * quick as that. It is kept then as far as memory goes.
 */
#include "remote/pieces_priv.h"

#include <errno.h>
#include <string.h>

#define MOST_AHEAD (64 << 20)	/* asked for ahead and not used yet, of all */
#define WINDOW (16 << 20)	/* how far ahead of one who reads forwards */
#define LEAST_WINDOW (4 << 20)
#define SETTLED 8		/* steps after which it is all of WINDOW */
#define WAITS 4			/* before that so many waits' worth of bytes */
#define GAP (64 << 10)		/* what such a reader may leave out */
#define SURE 4			/* steps in order; then it counts as one */
#define FASTER 4		/* so much further with each step then */
#define USELESS_MS 5000
#define FEW_JUMPS 4		/* waits, before all is fetched */
#define WORTH 16		/* waits that fetching all may cost */
#define WORTH_A_JUMP 5		/* ... for each that was waited for */
#define MOST_WHOLES (UINT64_C(256) << 20)	/* of all */

static void ask_for_all(struct object *o);

/* Without the lock; by the transport's thread. */
static void ahead_over(void *arg)
{
	struct piece *p = arg;
	struct object *o = p->object;
	bool good = object_fits(&o->id, &p->response) &&
		    p->response.len == p->len;

	remote_note(o->id.host, p->since_ms, &p->response);
	if (good)
		diskcache_keep(&o->disk, p->off, p->len, p->bytes);
	pthread_mutex_lock(&o->lock);
	p->job = NULL;
	o->wave.came_ms = remote_now_ms();
	if (o->whole)
		pieces_use(p);
	pieces_settle(o, p, good);
	/* The disk is not for this thread to wait for. */
	if (o->whole && good && !o->ending && !o->disk.cache)
		ask_for_all(o);
	pthread_mutex_unlock(&o->lock);
}

/* Drops what was asked for ahead and is not wanted, as it seems by now. */
static void drop_useless(struct object *o)
{
	int64_t now = remote_now_ms();
	struct piece *p = o->oldest, *next;

	for (; p; p = next) {
		next = p->newer;
		if (p->ahead && !p->loading && !p->refs &&
		    now - p->since_ms > USELESS_MS)
			pieces_drop(o, p);
	}
}

/* False where there is no room for more. */
static bool ask_ahead(struct object *o, uint64_t off, uint64_t len)
{
	struct remote *remote = o->id.remote;
	struct request request;
	struct piece *p;
	bool started;

	if (host_pause(o->id.host) || atomic_load(&remote->hurry))
		return false;
	if (atomic_load_explicit(&remote->ahead, memory_order_relaxed) + len >
	    MOST_AHEAD) {
		drop_useless(o);
		return false;
	}
	p = pieces_add(o, off, len);
	if (!p)
		return false;
	p->ahead = true;
	atomic_fetch_add_explicit(&remote->ahead, len, memory_order_relaxed);
	request = object_request(&o->id, off, len, p->bytes);
	request.progress = pieces_come;
	request.progress_arg = p;
	p->loading = true;
	o->n_loading++;
	p->job = transport_start(o->id.remote->transport, &request,
				 &p->response, ahead_over, p);
	started = p->job != NULL;
	if (!started)
		pieces_settle(o, p, false);
	return started;
}

/* Asks for what of a range is neither here nor on its way. */
static bool ask_missing(struct object *o, uint64_t off, uint64_t end)
{
	while (off < end) {
		struct piece *p = pieces_find(o, off, end);
		uint64_t to = p && p->off > off ? p->off : end;

		if (p && p->off <= off) {
			off = p->off + p->len;
			continue;
		}
		if (to - off > STRIDE)
			to = off + STRIDE;
		if (!ask_ahead(o, off, to - off))
			return false;
		off = to;
	}
	return true;
}

/* The same without what the disk cache has. The lock is left while that is
 * asked. */
static bool ask_lacking(struct object *o, uint64_t off, uint64_t end)
{
	uint64_t lacking, there;
	bool asked = true;

	while (asked && off < end) {
		pthread_mutex_unlock(&o->lock);
		lacking = diskcache_lacks(&o->disk, off, end - off, &there);
		pthread_mutex_lock(&o->lock);
		asked = ask_missing(o, off, off + lacking);
		off += lacking + there;
	}
	return asked;
}

/* The stream that a read goes on with, or a new one in place of the one that
 * was not heard of for the longest time; it comes first then. */
static struct stream *stream_of(struct object *o, uint64_t off)
{
	struct stream found = { 0 };
	int i;

	for (i = 0; i < N_STREAMS - 1; i++) {
		struct stream *s = &o->streams[i];

		if (s->steps && off >= s->end && off - s->end <= GAP)
			break;
	}
	found = o->streams[i];
	if (!(found.steps && off >= found.end && off - found.end <= GAP))
		found = (struct stream){ .asked = off };
	memmove(o->streams + 1, o->streams, (size_t)i * sizeof(found));
	o->streams[0] = found;
	return &o->streams[0];
}

/* Enough to fill the line while answers are waited for. More would at first
 * come beside what the reader wants next, and hold it up. */
static uint64_t widest(const struct object *o, unsigned further)
{
	uint64_t len = WAITS * o->id.wait_cost;

	if (further > SETTLED)
		return WINDOW;
	if (len < LEAST_WINDOW)
		return LEAST_WINDOW;
	return len < WINDOW ? len : WINDOW;
}

/* Asks further ahead of one who reads forwards with each step, to hide how long
 * an answer takes. */
static void go_ahead(struct object *o, struct stream *s)
{
	uint64_t window, from, to, most;
	unsigned further;

	if (s->steps < SURE)
		return;
	further = s->steps - SURE;
	most = widest(o, further);
	for (window = STRIDE; window < most && further > 0; further--)
		window *= FASTER;
	if (window > most)
		window = most;
	from = pieces_round_up(o, s->asked > s->end ? s->asked : s->end);
	to = s->end + window < o->id.facts.size ? s->end + window :
					       o->id.facts.size;
	/* In whole strides, but at the end. */
	if (to < o->id.facts.size && to - s->end > STRIDE)
		to -= (to - from) % STRIDE;
	if (to < o->id.facts.size)
		to = pieces_round_down(o, to);
	if (from >= to)
		return;
	s->asked = to;
	if (ask_lacking(o, from, to))
		return;
	/* Another stream may have come before it. */
	for (size_t i = 0; i < N_STREAMS; i++) {
		if (o->streams[i].asked == to)
			o->streams[i].asked = from;
	}
}

/* ---- all of a small object ------------------------------------------- */

static uint64_t on_its_way(const struct object *o)
{
	uint64_t len = 0;

	for (const struct piece *p = o->newest; p; p = p->older)
		len += p->ahead && p->loading ? p->len : 0;
	return len;
}

/* Whether what is left comes as quickly as it must, by the last wave. */
static bool is_quick(const struct object *o, uint64_t left)
{
	int64_t wait = (int64_t)(o->id.wait_cost / REMOTE_BYTES_A_MS);
	int64_t took = o->wave.came_ms - o->wave.since_ms - wait;
	uint64_t rest = o->id.facts.size - o->wave.to;

	if (!o->wave.len || took <= 0)
		return true;
	/* (rest / rate) / wait, where the rate is (len - left) / took. */
	return (o->wave.len - left) * WORTH * (uint64_t)wait >=
	       rest * (uint64_t)took;
}

static bool is_worth_all(struct object *o)
{
	struct remote *remote = o->id.remote;
	uint64_t size = o->id.facts.size, cost = o->id.wait_cost;

	if (o->whole)
		return true;
	if (!cost || o->n_jumps < FEW_JUMPS || size > remote->whole_most ||
	    size > WORTH * cost || size > o->n_jumps * WORTH_A_JUMP * cost ||
	    atomic_load(&remote->wholes) + size > MOST_WHOLES)
		return false;
	atomic_fetch_add(&remote->wholes, size);
	o->whole = true;
	return true;
}

static void ask_for_all(struct object *o)
{
	uint64_t left, from = o->wave.to, size = o->id.facts.size, len;

	if (from >= size || !is_worth_all(o) || remote_is_tight(o->id.remote))
		return;
	left = on_its_way(o);
	if (from && left > o->wave.len / 2)
		return;
	if (from && !is_quick(o, left)) {
		o->wave.to = size;
		return;
	}
	len = from ? 4 * o->wave.len : 2 * o->id.wait_cost;
	o->wave = (struct wave){
		.to = size - from > len ?
		      pieces_round_down(o, from + len) : size,
		.len = len, .since_ms = remote_now_ms(),
	};
	/* Where there is no room it stays with what was asked for. */
	if (!ask_lacking(o, from, o->wave.to))
		o->wave.to = size;
}

/* Those that wait at the same time are one. */
static void note_jump(struct object *o)
{
	int64_t now = remote_now_ms();
	uint64_t wait = o->id.wait_cost / REMOTE_BYTES_A_MS;

	if (o->n_jumps && now - o->jumped_ms < (int64_t)wait / 2)
		return;
	o->n_jumps++;
	o->jumped_ms = now;
}

void ahead_follow(struct object *o, uint64_t off, uint64_t len)
{
	struct stream *s = stream_of(o, off);
	const struct piece *p = pieces_find(o, off, off + len);

	s->end = off + len;
	s->steps++;
	/* With a disk cache it is known later whether it is waited for. */
	if (s->steps == 1 && (p && p->off <= off ? p->loading :
						   !o->disk.cache))
		note_jump(o);
	go_ahead(o, s);
	ask_for_all(o);
}

bool ahead_is_new(const struct object *o)
{
	return o->streams[0].steps == 1;
}

void ahead_lacked(struct object *o)
{
	note_jump(o);
}

void ahead_leave(struct object *o, uint64_t off, uint64_t end)
{
	struct remote *remote = o->id.remote;
	uint64_t asked = ahead_asked(o, off);

	/* It may only be done elsewhere. */
	if (!remote_stopped(remote) || !remote_may_wait(remote, o->id.url))
		return;
	if (end < asked)
		end = asked;
	for (struct piece *p = o->newest; p; p = p->older) {
		if (p->job && !p->refs && p->off + p->len > off &&
		    p->off < end)
			transport_cancel(remote->transport, p->job);
	}
	for (size_t i = 0; i < N_STREAMS; i++) {
		if (o->streams[i].asked > off && o->streams[i].asked <= asked)
			o->streams[i] = (struct stream){ 0 };
	}
}

/* How far it was asked for ahead, where somebody reads forwards; else 0. */
uint64_t ahead_asked(const struct object *o, uint64_t off)
{
	uint64_t most = 0;

	for (size_t i = 0; i < N_STREAMS; i++) {
		const struct stream *s = &o->streams[i];

		if (s->steps >= SURE && s->asked > off && s->asked > most &&
		    s->asked - off <= WINDOW)
			most = s->asked;
	}
	return most;
}

void pieces_want(struct object *o, const struct extent *extents, size_t n)
{
	pthread_mutex_lock(&o->lock);
	for (size_t i = 0; i < n; i++) {
		uint64_t off = extents[i].off, len = extents[i].len;

		/* What is one request is asked for by who reads it, unless it
		 * is more than that. */
		if (n == 1 && len <= MOST && !o->id.wait_cost)
			break;
		if (off > o->id.facts.size || len > o->id.facts.size - off)
			continue;
		if (o->disk.cache || o->id.wait_cost) {
			if (!ask_lacking(o, pieces_round_down(o, off),
					 pieces_round_up(o, off + len)))
				break;
			continue;
		}
		while (len) {
			uint64_t part = len < MOST ? len : MOST;

			if (!pieces_find(o, off, off + part) &&
			    !ask_ahead(o, off, part))
				break;
			off += part;
			len -= part;
		}
	}
	pieces_trim(o);
	pthread_mutex_unlock(&o->lock);
}

