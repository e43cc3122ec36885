/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pieces.c - what of an object is here, or on its way.
 *
 * Pieces do not overlap. One that is loading is waited for by all who need
 * it; one that could not be loaded is gone, and each of them tries for
 * itself. Those that were loaded for one reader leave the longest unused
 * first. What is held counts against the library's max_memory; where that is in
 * use nothing is asked for ahead or kept, and reads go to where their bytes are
 * wanted. What the disk cache has comes from there, and it keeps what comes
 * from the server; pieces begin and end with its cells then.
 */
#include "remote/pieces_priv.h"

#include "invariant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of one object, beside head and tail. */
#define KEPT (4 << 20)		/* beyond it pieces read to their end leave */
#define UNFINISHED (16 << 20)	/* beyond it the others leave, too */

void pieces_init(struct object *o)
{
	struct remote *remote = o->id.remote;

	pthread_mutex_init(&o->lock, NULL);
	pthread_cond_init(&o->arrived, NULL);
	pthread_mutex_lock(&remote->lock);
	o->next = remote->opened;
	o->at = &remote->opened;
	if (o->next)
		o->next->at = &o->next;
	remote->opened = o;
	pthread_mutex_unlock(&remote->lock);
}

uint64_t pieces_round_down(const struct object *o, uint64_t off)
{
	return o->disk.cache ? off - off % STRIPE_CELL : off;
}

uint64_t pieces_round_up(const struct object *o, uint64_t off)
{
	uint64_t up = off;

	if (o->disk.cache && off % STRIPE_CELL)
		up += STRIPE_CELL - off % STRIPE_CELL;
	return up < o->id.facts.size ? up : o->id.facts.size;
}

static void link_newest(struct object *o, struct piece *p)
{
	p->newer = NULL;
	p->older = o->newest;
	if (o->newest)
		o->newest->newer = p;
	else
		o->oldest = p;
	o->newest = p;
}

static void unlink_piece(struct object *o, struct piece *p)
{
	if (p->newer)
		p->newer->older = p->older;
	else
		o->newest = p->older;
	if (p->older)
		p->older->newer = p->newer;
	else
		o->oldest = p->newer;
}

/* All below with the lock held, unless they say otherwise. */

/* Whether a piece is as its flags say. One that failed is there for those who
 * wait for it alone. */
static bool is_sound(const struct piece *p)
{
	return p->len > 0 && (!p->job || p->loading) &&
	       (!p->failed || (p->refs > 0 && !p->loading)) &&
	       !(p->stays && (p->loading || p->ahead));
}

static bool overlap(const struct piece *p, const struct piece *q)
{
	return p->off < q->off + q->len && q->off < p->off + p->len;
}

bool pieces_are_sound(const struct object *o)
{
	const struct piece *newest = o->newest, *newer = NULL;
	unsigned n_loading = 0;
	uint64_t held = 0;

	for (const struct piece *p = newest; p; newer = p, p = p->older) {
		if (p->object != o || p->newer != newer || !is_sound(p))
			return false;
		if (p != newest && !p->failed && !newest->failed &&
		    overlap(p, newest))
			return false;
		n_loading += p->loading;
		held += p->ahead || p->stays ? 0 : p->len;
	}
	return o->oldest == newer && o->n_loading == n_loading &&
	       o->held == held;
}

void pieces_use(struct piece *p)
{
	uint64_t ahead;

	if (!p->ahead)
		return;
	ahead = atomic_fetch_sub_explicit(&p->object->id.remote->ahead, p->len,
					  memory_order_relaxed);
	INVARIANT(ahead >= p->len);
	p->object->held += p->len;
	p->ahead = false;
}

void pieces_drop(struct object *o, struct piece *p)
{
	INVARIANT(p->object == o && !p->refs && !p->loading && !p->job);
	pieces_use(p);
	unlink_piece(o, p);
	INVARIANT(p->stays || o->held >= p->len);
	if (!p->stays)
		o->held -= p->len;
	remote_give_back(o->id.remote, p->charged);
	free(p);
}

static void trim_to(struct object *o, uint64_t most, bool finished)
{
	struct piece *p = o->oldest, *next;

	for (; p && o->held > most; p = next) {
		next = p->newer;
		if (!p->loading && !p->refs && !p->stays && !p->ahead &&
		    (p->finished || !finished))
			pieces_drop(o, p);
	}
}

void pieces_touch(struct object *o, struct piece *p)
{
	unlink_piece(o, p);
	link_newest(o, p);
}

void pieces_trim(struct object *o)
{
	if (remote_is_tight(o->id.remote)) {
		trim_to(o, 0, false);
	} else if (!o->whole) {
		trim_to(o, KEPT, true);
		trim_to(o, UNFINISHED, false);
	}
}

struct piece *pieces_add(struct object *o, uint64_t off, uint64_t len)
{
	struct remote *remote = o->id.remote;
	uint64_t whole = sizeof(struct piece) + len;
	struct piece *p;

	INVARIANT(len > 0 && off < o->id.facts.size &&
		  len <= o->id.facts.size - off);
	if (!remote_charge(remote, whole))
		return NULL;
	p = malloc(whole);
	if (!p) {
		remote_give_back(remote, whole);
		return NULL;
	}
	*p = (struct piece){ .object = o, .off = off, .len = len,
			     .charged = remote->fs ? whole : 0,
			     .since_ms = remote_now_ms() };
	link_newest(o, p);
	return p;
}

struct piece *pieces_find(struct object *o, uint64_t off, uint64_t end)
{
	struct piece *first = NULL;

	for (struct piece *p = o->newest; p; p = p->older) {
		if (p->failed)
			continue;
		if (p->off <= off && off - p->off < p->len)
			return p;
		if (p->off > off && p->off < end &&
		    (!first || p->off < first->off))
			first = p;
	}
	return first;
}

bool pieces_have(struct object *o, uint64_t off, uint64_t len)
{
	uint64_t end = off + len, lacking = 0, there = 0;
	const struct piece *p;
	bool have;

	pthread_mutex_lock(&o->lock);
	p = pieces_find(o, off, end);
	have = p && !p->loading && p->off <= off && end - p->off <= p->len;
	pthread_mutex_unlock(&o->lock);
	if (have || !o->disk.cache)
		return have;
	end = pieces_round_up(o, end);
	for (off = pieces_round_down(o, off); off < end && !lacking;
	     off += there)
		lacking = diskcache_lacks(&o->disk, off, end - off, &there);
	return !lacking;
}

void pieces_keep(struct object *o, uint64_t off, uint64_t len,
		 const void *bytes)
{
	uint64_t first = pieces_round_up(o, off);
	struct piece *p;

	if (first >= off + len)
		return;
	bytes = (const char *)bytes + (first - off);
	len -= first - off;
	off = first;
	pthread_mutex_lock(&o->lock);
	p = pieces_find(o, off, off + len);
	/* The tail of a small object may begin within its head. */
	if (p && p->off <= off && off - p->off < p->len) {
		uint64_t known = p->off + p->len - off;

		if (known >= len) {
			pthread_mutex_unlock(&o->lock);
			return;
		}
		off += known;
		bytes = (const char *)bytes + known;
		len -= known;
	}
	p = pieces_add(o, off, len);
	if (p) {
		memcpy(p->bytes, bytes, len);
		p->stays = true;
	}
	pthread_mutex_unlock(&o->lock);
}

void pieces_settle(struct object *o, struct piece *p, bool good)
{
	INVARIANT(p->loading && !p->job && o->n_loading > 0);
	p->loading = false;
	p->failed = !good;
	o->n_loading--;
	if (!p->refs && (p->failed ||
			 (p->ahead && remote_is_tight(o->id.remote))))
		pieces_drop(o, p);
	INVARIANT_WALK(pieces_are_sound(o));
	pthread_cond_broadcast(&o->arrived);
}

void pieces_release(struct object *o)
{
	struct remote *remote = o->id.remote;

	pthread_mutex_lock(&remote->lock);
	INVARIANT(*o->at == o);
	*o->at = o->next;
	if (o->next)
		o->next->at = o->at;
	pthread_mutex_unlock(&remote->lock);
	pthread_mutex_lock(&o->lock);
	o->ending = true;
	for (struct piece *p = o->newest; p; p = p->older) {
		if (p->job)
			transport_cancel(o->id.remote->transport, p->job);
	}
	while (o->n_loading)
		remote_wait_a_moment(&o->arrived, &o->lock);
	while (o->oldest)
		pieces_drop(o, o->oldest);
	INVARIANT(!o->newest && !o->held);
	if (o->whole)
		atomic_fetch_sub(&remote->wholes, o->id.facts.size);
	pthread_mutex_unlock(&o->lock);
	pthread_cond_destroy(&o->arrived);
	pthread_mutex_destroy(&o->lock);
}

/* Those that are read or on their way stay. */
static void drop_idle(struct object *o)
{
	struct piece *p, *next;

	pthread_mutex_lock(&o->lock);
	for (p = o->oldest; p; p = next) {
		next = p->newer;
		if (!p->loading && !p->refs)
			pieces_drop(o, p);
	}
	pthread_mutex_unlock(&o->lock);
}

void pieces_drop_idle(struct remote *remote)
{
	pthread_mutex_lock(&remote->lock);
	for (struct object *o = remote->opened; o; o = o->next)
		drop_idle(o);
	pthread_mutex_unlock(&remote->lock);
}

void pieces_come(void *arg, const struct response *r, uint64_t got)
{
	struct piece *p = arg;
	struct object *o = p->object;

	pthread_mutex_lock(&o->lock);
	/* The answer's own headers were held against the request. */
	if (!got)
		p->sound = r->total == o->id.facts.size &&
			   strcmp(r->tag, o->id.facts.tag) == 0 &&
			   r->modified == o->id.facts.modified;
	p->got = p->sound ? got : 0;
	if (p->needed && p->got >= p->needed) {
		p->needed = 0;
		pthread_cond_broadcast(&o->arrived);
	}
	pthread_mutex_unlock(&o->lock);
}
