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
#include "remote/pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST (4 << 10)		/* a request costs more than so many bytes */
#define MOST (8 << 20)		/* of one request */
#define KEPT (4 << 20)		/* of one object, beside head and tail */
#define MOST_AHEAD (64 << 20)	/* asked for ahead and not used yet, of all */
#define WINDOW (16 << 20)	/* how far ahead of one who reads forwards */
#define LEAST_WINDOW (4 << 20)
#define SETTLED 8		/* steps of one who is read ahead for */
#define WAITS 4			/* so many waits' worth of bytes in between */
#define STRIDE (1 << 20)	/* of one request of these */
#define GAP (64 << 10)		/* what such a reader may leave out */
#define SURE 4			/* steps in order, after which it is one */
#define FASTER 4		/* so much further with each step then */
#define USELESS_MS 5000

struct piece {
	struct object *object;
	uint64_t off, len;
	uint64_t charged;		/* bytes of memory */
	struct piece *newer, *older;
	unsigned refs;			/* who waits for it or copies it */
	bool loading, failed, stays;
	bool ahead;			/* asked for ahead, and not used yet */
	int64_t since_ms;
	struct job *job;		/* while it is asked for ahead */
	struct response response;
	char bytes[];
};

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

/* Where pieces may begin and end. */
static uint64_t round_down(const struct object *o, uint64_t off)
{
	return o->disk.cache ? off - off % STRIPE_CELL : off;
}

static uint64_t round_up(const struct object *o, uint64_t off)
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

/* From here on it is one of those that are kept for a while. */
static void use(struct piece *p)
{
	if (!p->ahead)
		return;
	atomic_fetch_sub_explicit(&p->object->id.remote->ahead, p->len,
				  memory_order_relaxed);
	p->object->held += p->len;
	p->ahead = false;
}

static void drop(struct object *o, struct piece *p)
{
	use(p);
	unlink_piece(o, p);
	if (!p->stays)
		o->held -= p->len;
	remote_give_back(o->id.remote, p->charged);
	free(p);
}

static void trim(struct object *o)
{
	uint64_t most = remote_is_tight(o->id.remote) ? 0 : KEPT;
	struct piece *p = o->oldest, *next;

	for (; p && o->held > most; p = next) {
		next = p->newer;
		if (!p->loading && !p->refs && !p->stays && !p->ahead)
			drop(o, p);
	}
}

/* NULL where there is no memory for it, or others need that. */
static struct piece *add(struct object *o, uint64_t off, uint64_t len)
{
	struct remote *remote = o->id.remote;
	uint64_t whole = sizeof(struct piece) + len;
	struct piece *p;

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

/* The piece that holds byte off, or the first that begins in [off, end). One
 * that failed is there for those who waited for it alone. */
static struct piece *find(struct object *o, uint64_t off, uint64_t end)
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

void pieces_keep(struct object *o, uint64_t off, uint64_t len,
		 const void *bytes)
{
	uint64_t first = round_up(o, off);
	struct piece *p;

	if (first >= off + len)
		return;
	bytes = (const char *)bytes + (first - off);
	len -= first - off;
	off = first;
	pthread_mutex_lock(&o->lock);
	p = find(o, off, off + len);
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
	p = add(o, off, len);
	if (p) {
		memcpy(p->bytes, bytes, len);
		p->stays = true;
	}
	pthread_mutex_unlock(&o->lock);
}

/* Of a piece that was loading: for others to take or to be gone. */
static void settle(struct object *o, struct piece *p, bool good)
{
	p->loading = false;
	p->failed = !good;
	o->n_loading--;
	if (!p->refs && (p->failed ||
			 (p->ahead && remote_is_tight(o->id.remote))))
		drop(o, p);
	pthread_cond_broadcast(&o->arrived);
}

/* Without the lock; by the transport's thread. */
static void ahead_over(void *arg)
{
	struct piece *p = arg;
	struct object *o = p->object;
	bool good = object_fits(&o->id, &p->response) &&
		    p->response.len == p->len;

	if (good)
		diskcache_keep(&o->disk, p->off, p->len, p->bytes);
	pthread_mutex_lock(&o->lock);
	p->job = NULL;
	settle(o, p, good);
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
			drop(o, p);
	}
}

/* False where there is no room for more. */
static bool ask_ahead(struct object *o, uint64_t off, uint64_t len)
{
	struct remote *remote = o->id.remote;
	struct request request;
	struct piece *p;
	bool started;

	if (atomic_load_explicit(&remote->ahead, memory_order_relaxed) + len >
	    MOST_AHEAD) {
		drop_useless(o);
		return false;
	}
	p = add(o, off, len);
	if (!p)
		return false;
	p->ahead = true;
	atomic_fetch_add_explicit(&remote->ahead, len, memory_order_relaxed);
	request = object_request(&o->id, off, len, p->bytes);
	p->loading = true;
	o->n_loading++;
	p->job = transport_start(o->id.remote->transport, &request,
				 &p->response, ahead_over, p);
	started = p->job != NULL;
	if (!started)
		settle(o, p, false);
	return started;
}

/* Asks for what of a range is neither here nor on its way. */
static bool ask_missing(struct object *o, uint64_t off, uint64_t end)
{
	while (off < end) {
		struct piece *p = find(o, off, end);
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

/* Notes a read, and asks ahead of who reads forwards: further with each step,
 * to hide how long an answer takes. */
static void follow(struct object *o, uint64_t off, uint64_t len)
{
	struct stream *s = stream_of(o, off);
	uint64_t window, from, to, most;
	unsigned further;

	s->end = off + len;
	if (++s->steps < SURE)
		return;
	further = s->steps - SURE;
	most = widest(o, further);
	for (window = STRIDE; window < most && further > 0; further--)
		window *= FASTER;
	if (window > most)
		window = most;
	from = round_up(o, s->asked > s->end ? s->asked : s->end);
	to = s->end + window < o->id.facts.size ? s->end + window :
					       o->id.facts.size;
	/* In whole strides, but at the end. */
	if (to < o->id.facts.size && to - s->end > STRIDE)
		to -= (to - from) % STRIDE;
	if (to < o->id.facts.size)
		to = round_down(o, to);
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

/* How far it was asked for ahead, where somebody reads forwards; else 0. */
static uint64_t asked_from(const struct object *o, uint64_t off)
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
		if (o->disk.cache || (o->id.wait_cost && len <= STRIDE)) {
			if (!ask_lacking(o, round_down(o, off),
					 round_up(o, off + len)))
				break;
			continue;
		}
		while (len) {
			uint64_t part = len < MOST ? len : MOST;

			if (!find(o, off, off + part) &&
			    !ask_ahead(o, off, part))
				break;
			off += part;
			len -= part;
		}
	}
	trim(o);
	pthread_mutex_unlock(&o->lock);
}

void pieces_release(struct object *o)
{
	struct remote *remote = o->id.remote;

	pthread_mutex_lock(&remote->lock);
	*o->at = o->next;
	if (o->next)
		o->next->at = o->at;
	pthread_mutex_unlock(&remote->lock);
	pthread_mutex_lock(&o->lock);
	for (struct piece *p = o->newest; p; p = p->older) {
		if (p->job)
			transport_cancel(o->id.remote->transport, p->job);
	}
	while (o->n_loading)
		remote_wait_a_moment(&o->arrived, &o->lock);
	while (o->oldest)
		drop(o, o->oldest);
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
			drop(o, p);
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

/* Copies what the piece has of [off, off + len), waiting for it. Sets
 * *ret_len; 0 where it could not be loaded. 0 or -EINTR. */
static int take(struct object *o, struct piece *p, char *buf, uint64_t off,
		uint64_t len, uint64_t *ret_len)
{
	uint64_t part;
	int status = 0;

	*ret_len = 0;
	if (p->loading && !remote_may_wait(o->id.remote))
		return -EINTR;
	p->refs++;
	while (p->loading && !status) {
		remote_wait_a_moment(&o->arrived, &o->lock);
		pthread_mutex_unlock(&o->lock);
		if (remote_stopped(o->id.remote))
			status = -EINTR;
		pthread_mutex_lock(&o->lock);
	}
	p->refs--;
	if (p->loading)
		return status;
	if (p->failed) {
		if (!p->refs)
			drop(o, p);
		return status;
	}
	/* It may have become shorter while it was loaded. */
	if (!status && off - p->off < p->len) {
		part = p->off + p->len - off;
		if (part > len)
			part = len;
		memcpy(buf, p->bytes + (off - p->off), part);
		use(p);
		*ret_len = part;
		unlink_piece(o, p);
		link_newest(o, p);
	}
	trim(o);
	return status;
}

/* Makes a piece that is loading end earlier. */
static void shorten(struct object *o, struct piece *p, uint64_t len)
{
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
	struct piece *p = add(o, off, len);
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
	shorten(o, p, there ? there : lacking);
	settle(o, p, !status);
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

int pieces_read(struct object *o, void *buf, size_t len, uint64_t off,
		char *why)
{
	uint64_t end = off + len, part, asked;
	char *to = buf;
	int status = 0;

	*why = '\0';
	if (object_is_stale(&o->id)) {
		strcpy(why, object_fate(&o->id));
		return -ESTALE;
	}
	pthread_mutex_lock(&o->lock);
	follow(o, off, len);
	asked = asked_from(o, off);
	while (!status && off < end) {
		struct piece *p = find(o, off, end);
		uint64_t from = round_down(o, off), want = end - from;

		if (p && p->off <= off) {
			status = take(o, p, to, off, end - off, &part);
			to += part;
			off += part;
			continue;
		}
		/* What was asked for ahead and did not come is asked for in
		 * pieces as large: one refusal does not make many requests. */
		if (off < asked && want < STRIDE)
			want = asked - from < STRIDE ? asked - from : STRIDE;
		/* A little more than is asked for costs nothing. */
		if (want < LEAST)
			want = LEAST;
		want = round_up(o, from + want) - from;
		if (want > MOST)
			want = MOST;
		p = find(o, from, from + want);
		if (p && p->off > from)
			want = p->off - from;
		status = load(o, from, want, why);
		if (status != -ENOMEM)
			continue;
		p = find(o, off, end);
		part = p && p->off > off ? p->off - off : end - off;
		if (part > MOST)
			part = MOST;
		status = load_there(o, to, off, part, why);
		to += part;
		off += part;
	}
	pthread_mutex_unlock(&o->lock);
	return status;
}
