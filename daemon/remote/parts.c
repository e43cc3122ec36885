/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.c - see parts.h. Records are few, and small but for containers of very
 * many chunks; a container whose record is gone begins with a turn of its own,
 * so that nothing read before is taken for what it has.
 */
#include "remote/parts.h"

#include "invariant.h"
#include "remote/parts_ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CONTAINERS 1024
#define MOST_PARTS (1 << 20)	/* of one; more are not looked after */
#define SHARE 20		/* of the time is more than asking takes */

struct parts {
	struct parts *next;	/* by use, the newest first */
	char *path;
	uint64_t turn, state;
	struct folder seen;	/* by escaped names; told: not untold */
	int64_t until_ms;	/* so long they are believed */
	bool asking;
};

/* All with the lock held, down to parts_release. */

static void free_parts(struct parts *p)
{
	folder_release(&p->seen);
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

/* The one unused for the longest time makes room. */
static void drop_one(struct shelf *shelf)
{
	struct parts **at = &shelf->parts, **last = NULL, *p;

	for (; *at; at = &(*at)->next)
		if (!(*at)->asking)
			last = at;
	if (!last)
		return;
	p = *last;
	*last = p->next;
	if (p->turn >= shelf->next_turn)
		shelf->next_turn = p->turn;
	shelf->next_turn++;
	shelf->n_parts--;
	free_parts(p);
}

static struct parts *make(struct shelf *shelf, const char *path)
{
	struct parts *p = find(shelf, path);

	if (p)
		return p;
	if (shelf->n_parts >= MOST_CONTAINERS)
		drop_one(shelf);
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

static void begin_turn(struct parts *p)
{
	p->turn++;
	folder_release(&p->seen);
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
		INVARIANT(!p->asking);
		next = p->next;
		free_parts(p);
	}
	shelf->parts = NULL;
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
	else if (!before && p->seen.n < MOST_PARTS)
		status = folder_add(&p->seen, name, &seen);
	if (p && status == -ESTALE && p->turn == turn)
		begin_turn(p);
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
static void settle(struct parts *p, const struct part *parts, size_t n,
		   uint64_t turn, int64_t begin_ms, uint64_t fresh_ms)
{
	int64_t now = remote_now_ms(), cost = (now - begin_ms) * SHARE;
	struct folder_entry *e;

	p->until_ms = begin_ms + (cost > (int64_t)fresh_ms ? cost :
							     (int64_t)fresh_ms);
	for (size_t i = 0; i < n && p->turn == turn; i++) {
		e = find_seen(p, parts[i].name);
		if (e && parts[i].untold)
			e->told = false;
		if (parts[i].now == PART_OTHER)
			begin_turn(p);
	}
}

int shelf_check_parts(struct shelf *shelf, const char *path, uint64_t state,
		      bool must)
{
	int64_t begin = remote_now_ms();
	struct part *parts = NULL;
	uint64_t turn = 0;
	struct parts *p;
	size_t n = 0;
	int status = 0;

	pthread_mutex_lock(&shelf->lock);
	p = make(shelf, path);
	if (!p)
		status = -ENOMEM;
	if (p && state && p->state && state != p->state)
		begin_turn(p);
	if (p && state)
		p->state = state;
	if (p && p->seen.n && (must || (begin >= p->until_ms && !p->asking))) {
		n = p->seen.n;
		turn = p->turn;
		parts = copy_seen(p);
		status = parts ? 0 : -ENOMEM;
		/* Others that need not know go on meanwhile. */
		p->asking = true;
	}
	pthread_mutex_unlock(&shelf->lock);
	if (!parts)
		return status;
	status = parts_ask(shelf, path, parts, n, !must);
	pthread_mutex_lock(&shelf->lock);
	p = find(shelf, path);
	if (p) {
		p->asking = false;
		if (!status)
			settle(p, parts, n, turn, begin,
			       shelf->remote.fresh_ms);
	}
	pthread_mutex_unlock(&shelf->lock);
	free_copies(parts, n);
	return status;
}
