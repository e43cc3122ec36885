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

static struct lent *hold(struct shelf *shelf, const char *path)
{
	struct lent **at, *lent;

	pthread_mutex_lock(&shelf->lock);
	for (at = &shelf->lents; *at && strcmp((*at)->path, path) != 0;)
		at = &(*at)->next;
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
	      struct lent **ret_lent)
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
	for (at = &shelf->lents; *at && strcmp((*at)->path, lent->path) != 0;)
		at = &(*at)->next;
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

static int open_at(struct shelf *shelf, const char *path, bool has_tail,
		   struct lent *lent, char *why)
{
	struct url url = { 0 };
	int status;

	lent->path = strdup(path);
	if (!lent->path)
		return -ENOMEM;
	if (shelf_is_single(shelf))
		return object_open(&shelf->remote, shelf->url.http,
				   shelf->url.s3, has_tail, &lent->object,
				   why);
	status = address_of(shelf, path, &url);
	if (!status)
		status = object_open(&shelf->remote, url.http, url.s3,
				     has_tail, &lent->object, why);
	url_release(&url);
	return status;
}

int shelf_take(struct shelf *shelf, const char *path, bool has_tail,
	       struct lent **ret_lent, char *why)
{
	return shelf_take_since(shelf, path, has_tail, 0, ret_lent, why);
}

int shelf_take_since(struct shelf *shelf, const char *path, bool has_tail,
		     int64_t since_ms, struct lent **ret_lent, char *why)
{
	struct lent *lent;
	int status = lent_find(shelf, path, since_ms, &lent);

	*why = '\0';
	if (lent || status) {
		*ret_lent = lent;
		return status;
	}
	lent = calloc(1, sizeof(*lent));
	status = lent ? open_at(shelf, path, has_tail, lent, why) : -ENOMEM;
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

void lent_release(struct shelf *shelf)
{
	while (shelf->lents)
		shelf_give(take_out(shelf, &shelf->lents));
	INVARIANT(!shelf->n_lents);
}
