/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lent.c - opened objects, shared by those who read them and kept for a while.
 */
#include "remote/shelf_priv.h"

#include "invariant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_KEPT 64		/* that nobody reads */

struct lent {
	struct object *object;
	struct object_facts facts;
	atomic_uint refs;		/* the shelf's, and readers' */
	char *path;
	struct lent *next;		/* under the shelf's lock */
};

void shelf_give(struct lent *lent)
{
	unsigned refs = lent ? atomic_fetch_sub(&lent->refs, 1) : 2;

	INVARIANT(refs > 0);
	if (refs == 1) {
		object_close(lent->object);
		free(lent->path);
		free(lent);
	}
}

bool shelf_is_newer(const struct lent *lent, int64_t since_ms)
{
	return object_is_newer(lent->object, since_ms);
}

struct object *shelf_object(const struct lent *lent)
{
	return lent->object;
}

void shelf_stat_of(const struct lent *lent, struct shelf_stat *ret_stat)
{
	const struct object_facts *f = &lent->facts;

	*ret_stat = (struct shelf_stat){
		.told = true, .size = f->size, .modified = f->modified,
		.identity = folder_identity(f->tag, f->modified),
	};
}

/* With the lock held: out of the list, with the shelf's reference. */
static struct lent *take_out(struct shelf *shelf, struct lent **at)
{
	struct lent *lent = *at;

	INVARIANT(shelf->n_lents > 0);
	*at = lent->next;
	shelf->n_lents--;
	return lent;
}

/* With the lock held: where the path's stands in the list, or its end. */
static struct lent **find_place(struct shelf *shelf, const char *path)
{
	struct lent **at = &shelf->lents;

	while (*at && strcmp((*at)->path, path) != 0)
		at = &(*at)->next;
	return at;
}

static struct lent *hold(struct shelf *shelf, const char *path)
{
	struct lent **at, *lent;

	pthread_mutex_lock(&shelf->lock);
	at = find_place(shelf, path);
	lent = *at;
	if (lent) {
		take_out(shelf, at);
		lent->next = shelf->lents;
		shelf->lents = lent;
		shelf->n_lents++;
		atomic_fetch_add(&lent->refs, 1);
	}
	pthread_mutex_unlock(&shelf->lock);
	return lent;
}

/* Forgets it, where it is still the path's. */
static void drop(struct shelf *shelf, const struct lent *lent)
{
	struct lent **at, *gone = NULL;

	pthread_mutex_lock(&shelf->lock);
	for (at = &shelf->lents; *at && *at != lent;)
		at = &(*at)->next;
	if (*at)
		gone = take_out(shelf, at);
	pthread_mutex_unlock(&shelf->lock);
	shelf_give(gone);
}

int lent_find(struct shelf *shelf, const char *path, int64_t since_ms,
	      struct lent **ret_lent, bool *ret_other)
{
	struct lent *lent = hold(shelf, path);
	int status = lent ? object_check(lent->object, since_ms) : 0;

	if (status) {
		if (status != -EINTR)
			drop(shelf, lent);
		shelf_give(lent);
		lent = NULL;
	}
	*ret_lent = lent;
	*ret_other = status && status != -EINTR;
	return status == -EINTR ? status : 0;
}

/* With the lock held: the longest unused that nobody reads, if there are too
 * many; NULL otherwise. */
static struct lent *one_too_many(struct shelf *shelf)
{
	struct lent **last = NULL;
	size_t idle = 0;

	for (struct lent **at = &shelf->lents; *at; at = &(*at)->next) {
		if (atomic_load(&(*at)->refs) == 1) {
			last = at;
			idle++;
		}
	}
	return idle > MOST_KEPT ? take_out(shelf, last) : NULL;
}

/* Two may open one at once; the later one stays. */
static void keep(struct shelf *shelf, struct lent *lent)
{
	struct lent **at, *old = NULL, *idle;

	pthread_mutex_lock(&shelf->lock);
	at = find_place(shelf, lent->path);
	if (*at)
		old = take_out(shelf, at);
	lent->next = shelf->lents;
	shelf->lents = lent;
	shelf->n_lents++;
	idle = one_too_many(shelf);
	pthread_mutex_unlock(&shelf->lock);
	shelf_give(old);
	shelf_give(idle);
}

/* Whoever asks for an object; others wait for what comes of it. */
struct opening {
	const char *path;
	struct opening *next;
};

static bool is_being_opened(const struct shelf *shelf, const char *path)
{
	const struct opening *o = shelf->opening;

	while (o && strcmp(o->path, path) != 0)
		o = o->next;
	return o != NULL;
}

/* 1 where somebody else has asked, or has opened it since it was looked for: it
 * is to be looked for again. Who finds nothing then asks at once: all together,
 * where it was refused. -EINTR. */
static int begin_opening(struct shelf *shelf, const char *url,
			 struct opening *opening, bool waited)
{
	int status = 0;

	pthread_mutex_lock(&shelf->lock);
	if (!waited && (is_being_opened(shelf, opening->path) ||
			*find_place(shelf, opening->path))) {
		while (!status && is_being_opened(shelf, opening->path))
			status = shelf_wait(shelf, url);
		status = status ? status : 1;
	} else {
		opening->next = shelf->opening;
		shelf->opening = opening;
	}
	pthread_mutex_unlock(&shelf->lock);
	return status;
}

static void end_opening(struct shelf *shelf, const struct opening *opening)
{
	struct opening **at;

	pthread_mutex_lock(&shelf->lock);
	for (at = &shelf->opening; *at != opening;)
		at = &(*at)->next;
	*at = opening->next;
	pthread_cond_broadcast(&shelf->arrived);
	pthread_mutex_unlock(&shelf->lock);
}

static int open_at(struct shelf *shelf, const struct url *url,
		   const char *path, bool has_tail, uint64_t listed,
		   struct lent **ret_lent, char *why)
{
	struct lent *lent = calloc(1, sizeof(*lent));
	int status = -ENOMEM;

	if (lent)
		lent->path = strdup(path);
	if (lent && lent->path)
		status = object_open(&shelf->remote, url->http, url->s3,
				     has_tail, listed, &lent->object, why);
	if (status) {
		if (lent)
			free(lent->path);
		free(lent);
		return status;
	}
	object_get(lent->object, &lent->facts);
	atomic_init(&lent->refs, 2);
	keep(shelf, lent);
	*ret_lent = lent;
	return 0;
}

/* As shelf_take_since of what is not at hand; or 1: it is by now, maybe. */
static int open_lent(struct shelf *shelf, const char *path, bool has_tail,
		     uint64_t listed, bool waited, struct lent **ret_lent,
		     char *why)
{
	struct opening opening = { path, NULL };
	struct url own = { 0 }, *url = &shelf->url;
	int status = 0;

	if (!shelf_is_single(shelf)) {
		url = &own;
		status = address_of(shelf, path, url);
	}
	if (!status)
		status = begin_opening(shelf, url->http, &opening, waited);
	if (!status) {
		status = open_at(shelf, url, path, has_tail, listed, ret_lent,
				 why);
		end_opening(shelf, &opening);
	}
	url_release(&own);
	return status;
}

int shelf_take(struct shelf *shelf, const char *path, bool has_tail,
	       struct lent **ret_lent, char *why)
{
	struct shelf_stat stat;
	bool listed = !shelf_is_single(shelf) &&
		      shelf_known(shelf, path, &stat) == 1 && stat.told &&
		      !stat.is_folder;

	return shelf_take_since(shelf, path, has_tail, 0,
				listed ? stat.identity : 0, ret_lent, why);
}

int shelf_take_since(struct shelf *shelf, const char *path, bool has_tail,
		     int64_t since_ms, uint64_t listed,
		     struct lent **ret_lent, char *why)
{
	bool waited = false, other;
	int status = 1;

	for (; status == 1; waited = true) {
		*why = '\0';
		status = lent_find(shelf, path, since_ms, ret_lent, &other);
		/* A listing that told what it was is of before. */
		if (other)
			listed = 0;
		if (!status && !*ret_lent)
			status = open_lent(shelf, path, has_tail, listed,
					   waited, ret_lent, why);
	}
	return status;
}

void lent_release(struct shelf *shelf)
{
	while (shelf->lents)
		shelf_give(take_out(shelf, &shelf->lents));
	INVARIANT(!shelf->n_lents);
}
