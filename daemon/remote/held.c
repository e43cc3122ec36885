/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * held.c - folders of a shelf that were listed, kept while they are used.
 */
#include "remote/held.h"

#include "invariant.h"

#include <stdlib.h>
#include <string.h>

#define MOST_FOLDERS 64
#define FEW_FOLDERS 4		/* where memory is wanted */
#define IDLE_MS 10000		/* who lists a folder takes less for a page */

/* All with the lock held, but for held_drop_idle. */

static void unlink_held(struct shelf *shelf, struct held *h)
{
	if (h->newer)
		h->newer->older = h->older;
	else
		shelf->newest = h->older;
	if (h->older)
		h->older->newer = h->newer;
	else
		shelf->oldest = h->newer;
	INVARIANT(shelf->n_folders > 0);
	shelf->n_folders--;
}

static void link_held(struct shelf *shelf, struct held *h)
{
	h->newer = NULL;
	h->older = shelf->newest;
	if (shelf->newest)
		shelf->newest->newer = h;
	else
		shelf->oldest = h;
	shelf->newest = h;
	shelf->n_folders++;
}

static void free_held(struct shelf *shelf, struct held *h)
{
	INVARIANT(!h->refs && !h->asking && shelf->named >= h->charged);
	remote_give_back(&shelf->remote, h->charged);
	shelf->named -= h->charged;
	folder_release(&h->folder);
	free(h->next);
	free(h->last);
	free(h->path);
	free(h);
}

static void trim(struct shelf *shelf, size_t most)
{
	struct held *h = shelf->oldest, *newer;

	for (; h && shelf->n_folders > most; h = newer) {
		newer = h->newer;
		if (!h->refs) {
			unlink_held(shelf, h);
			free_held(shelf, h);
		}
	}
}

void held_drop_idle(struct shelf *shelf)
{
	pthread_mutex_lock(&shelf->lock);
	trim(shelf, FEW_FOLDERS);
	pthread_mutex_unlock(&shelf->lock);
}

void held_count(struct shelf *shelf, struct held *h)
{
	uint64_t now = folder_memory(&h->folder), more = now - h->charged;

	if (now <= h->charged || shelf->named + more > shelf->most_named)
		return;
	if (!remote_charge(&shelf->remote, more))
		return;
	h->charged = now;
	shelf->named += more;
}

void held_release(struct shelf *shelf)
{
	while (shelf->oldest) {
		struct held *h = shelf->oldest;

		unlink_held(shelf, h);
		free_held(shelf, h);
	}
	INVARIANT(!shelf->newest && !shelf->n_folders && !shelf->named);
}

bool held_is_fresh(const struct shelf *shelf, const struct held *h)
{
	return shelf->has_catalog ||
	       remote_now_ms() - h->since_ms <
	       (int64_t)shelf->remote.fresh_ms;
}

void held_outdate(struct shelf *shelf, const char *path)
{
	size_t len = strlen(path);

	for (struct held *h = shelf->newest; h; h = h->older) {
		if (strncmp(h->path, path, len) == 0 &&
		    (!len || h->path[len] == '/' || !h->path[len]))
			h->since_ms = INT64_MIN / 2;
	}
}

bool held_is_idle(const struct held *h)
{
	return !h->refs && (h->complete ||
			    remote_now_ms() - h->paged_ms > IDLE_MS);
}

struct held *held_take(struct shelf *shelf, const char *path, bool make,
			 bool anew)
{
	struct held *h = shelf->newest;

	while (h && strcmp(h->path, path) != 0)
		h = h->older;
	if (h && anew && !h->refs && !held_is_fresh(shelf, h)) {
		unlink_held(shelf, h);
		free_held(shelf, h);
		h = NULL;
	}
	if (!h && make) {
		h = calloc(1, sizeof(*h));
		if (h)
			h->path = strdup(path);
		if (h && !h->path) {
			free(h);
			h = NULL;
		}
		if (h) {
			h->since_ms = remote_now_ms();
			link_held(shelf, h);
		}
	}
	if (h)
		h->refs++;
	return h;
}

void held_let_go(struct shelf *shelf, struct held *h)
{
	INVARIANT(h->refs > 0);
	h->refs--;
	trim(shelf, remote_is_tight(&shelf->remote) ? FEW_FOLDERS :
						      MOST_FOLDERS);
}

void held_tell(const struct folder_entry *e, struct shelf_stat *ret_stat)
{
	*ret_stat = (struct shelf_stat){
		.is_folder = e->is_folder, .told = e->told || e->is_folder,
		.size = e->size, .identity = e->identity,
		.modified = e->modified,
	};
}
