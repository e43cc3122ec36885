/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.c - see parts.h. Records are few, and small but for containers of very
 * many chunks; a container whose record is gone begins with a turn of its own,
 * so that nothing read before is taken for what it has.
 */
#include "remote/parts.h"

#include "invariant.h"
#include "remote/held.h"
#include "remote/parts_ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CONTAINERS 1024	/* that nobody has open */
#define MOST_PARTS (1 << 20)	/* of all; more are not looked after */
#define SHARE 20		/* of the time is more than asking takes */
#define LONGEST_MS 1000		/* a look-up asks, and the next goes on */

struct parts {
	struct parts *next;	/* by use, the newest first */
	char *path;
	uint64_t turn, state;
	struct folder seen;	/* by escaped names; told: not untold */
	uint64_t charged;	/* bytes of memory that count */
	char *from;		/* the first that the next look-up asks about,
				 * or NULL */
	int64_t until_ms;	/* so long they are believed */
	unsigned n_asking, refs;	/* of openings */
	bool untold;		/* a listing told another identity of one that
				 * was what it was */
};

/* All with the lock held, down to parts_release. */

static void forget_seen(struct shelf *shelf, struct parts *p)
{
	INVARIANT(shelf->n_seen >= p->seen.n && shelf->named >= p->charged);
	shelf->n_seen -= p->seen.n;
	shelf->named -= p->charged;
	remote_give_back(&shelf->remote, p->charged);
	p->charged = 0;
	folder_release(&p->seen);
	free(p->from);
	p->from = NULL;
}

static void free_parts(struct shelf *shelf, struct parts *p)
{
	forget_seen(shelf, p);
	free(p->path);
	free(p);
}

static struct parts *find(struct shelf *shelf, const char *path)
{
	struct parts **at = &shelf->parts, *p;

	while (*at && strcmp((*at)->path, path) != 0)
		at = &(*at)->next;
	p = *at;
	if (!p)
		return NULL;
	*at = p->next;
	p->next = shelf->parts;
	shelf->parts = p;
	return p;
}

static bool is_idle(const struct parts *p)
{
	return !p->refs && !p->n_asking;
}

/* Where more than most are idle the one unused for the longest time makes room:
 * who has a container open must not be told that it is another. False where
 * none does. */
static bool drop_one(struct shelf *shelf, size_t most)
{
	struct parts **at = &shelf->parts, **last = NULL, *p;
	size_t n = 0;

	for (; *at; at = &(*at)->next) {
		if (is_idle(*at)) {
			last = at;
			n++;
		}
	}
	if (n <= most)
		return false;
	p = *last;
	*last = p->next;
	if (p->turn >= shelf->next_turn)
		shelf->next_turn = p->turn;
	shelf->next_turn++;
	shelf->n_parts--;
	free_parts(shelf, p);
	return true;
}

static struct parts *make(struct shelf *shelf, const char *path)
{
	struct parts *p = find(shelf, path);

	if (p)
		return p;
	while (shelf->n_parts >= MOST_CONTAINERS &&
	       drop_one(shelf, MOST_CONTAINERS - 1))
		;
	p = calloc(1, sizeof(*p));
	if (p)
		p->path = strdup(path);
	if (!p || !p->path) {
		free(p);
		return NULL;
	}
	p->turn = shelf->next_turn;
	p->next = shelf->parts;
	shelf->parts = p;
	shelf->n_parts++;
	return p;
}

static void begin_turn(struct shelf *shelf, struct parts *p)
{
	p->turn++;
	forget_seen(shelf, p);
}

/* The same, where it was not a listing that told it: those at hand are of
 * before. */
static void begin_turn_unlisted(struct shelf *shelf, struct parts *p)
{
	begin_turn(shelf, p);
	held_outdate(shelf, p->path);
}

/* As held_count: it is needed all the same. */
static void count_memory(struct shelf *shelf, struct parts *p)
{
	uint64_t now = folder_memory(&p->seen), more = now - p->charged;

	if (now <= p->charged || shelf->named + more > shelf->most_named ||
	    !remote_charge(&shelf->remote, more))
		return;
	p->charged = now;
	shelf->named += more;
}

static int add_seen(struct shelf *shelf, struct parts *p, const char *name,
		    const struct folder_entry *seen)
{
	size_t before = p->seen.n;
	int status = 0;

	while (shelf->n_seen >= MOST_PARTS && drop_one(shelf, 0))
		;
	if (shelf->n_seen < MOST_PARTS)
		status = folder_add(&p->seen, name, seen);
	shelf->n_seen += p->seen.n - before;
	count_memory(shelf, p);
	return status;
}

static struct folder_entry *find_seen(const struct parts *p, const char *name)
{
	char *escaped = folder_escape(name);
	const struct folder_entry *e = escaped ? folder_find(&p->seen, escaped)
					       : NULL;

	free(escaped);
	return e ? &p->seen.entries[e - p->seen.entries] : NULL;
}

void parts_release(struct shelf *shelf)
{
	struct parts *next;

	for (struct parts *p = shelf->parts; p; p = next) {
		INVARIANT(is_idle(p));
		next = p->next;
		free_parts(shelf, p);
	}
	shelf->parts = NULL;
	INVARIANT(!shelf->n_seen);
}

/* ---- what is seen ---------------------------------------------------- */

uint64_t shelf_turn(struct shelf *shelf, const char *path)
{
	struct parts *p;
	uint64_t turn;

	pthread_mutex_lock(&shelf->lock);
	p = find(shelf, path);
	turn = p ? p->turn : shelf->next_turn;
	pthread_mutex_unlock(&shelf->lock);
	return turn;
}

int shelf_join(struct shelf *shelf, const char *path, uint64_t *ret_turn)
{
	uint64_t state = shelf_state(shelf, path);
	struct parts *p;

	pthread_mutex_lock(&shelf->lock);
	p = make(shelf, path);
	if (p) {
		p->refs++;
		if (!p->state)
			p->state = state;
		*ret_turn = p->turn;
	}
	pthread_mutex_unlock(&shelf->lock);
	return p ? 0 : -ENOMEM;
}

void shelf_leave(struct shelf *shelf, const char *path)
{
	struct parts *p;

	pthread_mutex_lock(&shelf->lock);
	p = find(shelf, path);
	INVARIANT(p && p->refs > 0);
	p->refs--;
	/* Of one that nothing was read of there is nothing to know. */
	if (is_idle(p) && !p->seen.n && p->turn == shelf->next_turn) {
		shelf->parts = p->next;
		shelf->n_parts--;
		free_parts(shelf, p);
	}
	pthread_mutex_unlock(&shelf->lock);
}

bool shelf_is_untold(struct shelf *shelf, const char *path)
{
	struct parts *p;
	bool is;

	pthread_mutex_lock(&shelf->lock);
	p = find(shelf, path);
	is = p && p->untold;
	pthread_mutex_unlock(&shelf->lock);
	return is;
}

int shelf_note_part(struct shelf *shelf, const char *path, const char *name,
		    const struct shelf_stat *stat, uint64_t turn)
{
	const struct folder_entry seen = { .told = true, .size = stat->size,
					   .identity = stat->identity };
	const struct folder_entry *before;
	struct parts *p;
	int status = 0;

	pthread_mutex_lock(&shelf->lock);
	p = make(shelf, path);
	before = p ? find_seen(p, name) : NULL;
	if (!p)
		status = -ENOMEM;
	else if (p->turn != turn)
		status = -ESTALE;
	else if (before && before->identity != stat->identity)
		status = -ESTALE;
	else if (!before)
		status = add_seen(shelf, p, name, &seen);
	if (p && status == -ESTALE && p->turn == turn)
		begin_turn_unlisted(shelf, p);
	pthread_mutex_unlock(&shelf->lock);
	return status;
}

/* ---- what they are now ----------------------------------------------- */

static void free_copies(struct part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(parts[i].name);
	free(parts);
}

/* With the lock held. NULL on no memory. */
static struct part *copy_seen(const struct parts *p)
{
	struct part *parts = calloc(p->seen.n, sizeof(*parts));
	size_t i;

	for (i = 0; parts && i < p->seen.n; i++) {
		const struct folder_entry *e = &p->seen.entries[i];

		parts[i] = (struct part){ folder_unescape(e->name), e->size,
					  e->identity, !e->told, PART_UNSURE };
		if (!parts[i].name)
			break;
	}
	if (parts && i < p->seen.n) {
		free_copies(parts, i);
		parts = NULL;
	}
	return parts;
}

/* With the lock held: what the server told of them, where they are still what
 * they were. */
static void settle(struct shelf *shelf, struct parts *p,
		   const struct part *parts, size_t n, uint64_t turn)
{
	struct folder_entry *e;

	for (size_t i = 0; i < n && p->turn == turn; i++) {
		e = find_seen(p, parts[i].name);
		if (e && parts[i].untold) {
			e->told = false;
			p->untold = true;
		}
		if (parts[i].now == PART_OTHER)
			begin_turn_unlisted(shelf, p);
	}
}

/* What is asked of one container. */
struct asking {
	struct part *parts;
	size_t n;
	char *from;
	uint64_t turn;
	int64_t begin_ms;
};

/* With the lock held. */
static int begin_asking(struct parts *p, struct asking *a)
{
	a->n = p->seen.n;
	a->turn = p->turn;
	a->parts = copy_seen(p);
	if (!a->parts)
		return -ENOMEM;
	a->from = p->from;
	p->from = NULL;
	/* Others that need not know go on meanwhile. */
	p->n_asking++;
	return 0;
}

/* The same, when they were asked about. */
static void end_asking(struct shelf *shelf, struct parts *p, struct asking *a,
		       int status)
{
	int64_t fresh = (int64_t)shelf->remote.fresh_ms;
	int64_t cost = (remote_now_ms() - a->begin_ms) * SHARE;

	p->n_asking--;
	if (!status)
		p->until_ms = a->begin_ms + (cost > fresh ? cost : fresh);
	settle(shelf, p, a->parts, a->n, a->turn);
	if (p->turn == a->turn && !p->from) {
		p->from = a->from;
		a->from = NULL;
	}
}

int shelf_check_parts(struct shelf *shelf, const char *path, uint64_t state,
		      bool must)
{
	struct asking a = { .begin_ms = remote_now_ms() };
	struct parts *p;
	int status = 0;

	pthread_mutex_lock(&shelf->lock);
	p = find(shelf, path);
	if (p && state && p->state && state != p->state)
		begin_turn(shelf, p);
	if (p && state)
		p->state = state;
	if (p && p->seen.n &&
	    (must || (a.begin_ms >= p->until_ms && !p->n_asking)))
		status = begin_asking(p, &a);
	pthread_mutex_unlock(&shelf->lock);
	if (!a.parts)
		return status;
	status = parts_ask(shelf, path, a.parts, a.n, &a.from,
			   must ? 0 : a.begin_ms + LONGEST_MS);
	pthread_mutex_lock(&shelf->lock);
	p = find(shelf, path);
	INVARIANT(p && p->n_asking > 0);
	end_asking(shelf, p, &a, status);
	pthread_mutex_unlock(&shelf->lock);
	free_copies(a.parts, a.n);
	free(a.from);
	return status;
}
