/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * list.c - folders listed page by page, as somebody goes through them.
 */
#include "remote/list.h"

#include "invariant.h"
#include "remote/page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ENTRIES 4000000	/* of one folder */
#define MOST_BARREN 1000	/* pages in turn that tell no new name */

/* A listing that leads back, or on and on, never ends. */
static int check_end(struct held *h, const struct page *page, bool grew,
		     char *why)
{
	if (h->folder.n > MOST_ENTRIES) {
		strcpy(why, "the folder has too many entries");
		return -EIO;
	}
	h->n_barren = grew ? 0 : h->n_barren + 1;
	if (!page->next || (h->n_barren < MOST_BARREN &&
			    (!h->next || strcmp(h->next, page->next) != 0)))
		return 0;
	strcpy(why, "the listing leads back to where it was");
	return -EIO;
}

/* Notes how far names are known: a store lists its keys sorted. One that does
 * not is believed nothing. */
static int note_order(struct held *h, const struct page *page)
{
	const char *first = NULL, *last = NULL;

	for (size_t i = 0; i < page->n; i++) {
		const char *name = page->entries[i].name;

		if (!first || strcmp(name, first) < 0)
			first = name;
		if (!last || strcmp(name, last) > 0)
			last = name;
	}
	if (!first)
		return 0;
	if (h->last && strcmp(first, h->last) < 0)
		h->mixed = true;
	free(h->last);
	h->last = strdup(last);
	return h->last ? 0 : -ENOMEM;
}

/* The folder of a name sorts behind the object. */
bool list_would_show(const struct held *h, const char *name)
{
	char *plain, *below = NULL;
	bool would = h->complete;

	if (would || h->mixed || !h->last)
		return would;
	plain = folder_unescape(name);
	if (plain && asprintf(&below, "%s/", plain) < 0)
		below = NULL;
	would = below && strcmp(below, h->last) < 0;
	free(plain);
	free(below);
	return would;
}

/* The lock is left while the server is asked. */
static int next_page(struct shelf *shelf, struct held *h, char *why)
{
	struct page page = { 0 };
	char *folder, *token = h->next;
	size_t before = h->folder.n;
	int status = -ENOMEM;

	INVARIANT(h->refs > 0 && !h->asking && !h->complete);
	h->asking = true;
	pthread_mutex_unlock(&shelf->lock);
	folder = *h->path ? address_key(shelf, h->path) :
			    strdup(shelf->url.prefix);
	if (folder && *h->path) {
		char *with = NULL;

		if (asprintf(&with, "%s/", folder) < 0)
			with = NULL;
		free(folder);
		folder = with;
	}
	if (folder)
		status = page_ask(shelf, folder, folder, token, NULL, &page,
				  why);
	free(folder);
	pthread_mutex_lock(&shelf->lock);
	h->asking = false;
	pthread_cond_broadcast(&shelf->arrived);
	for (size_t i = 0; !status && i < page.n; i++) {
		struct folder_entry entry = page_entry(&page.entries[i]);

		if (!h->begun)
			h->state = folder_state(h->state,
						page.entries[i].name, &entry);
		status = folder_add(&h->folder, page.entries[i].name,
				    &entry);
	}
	held_count(shelf, h);
	if (!status)
		status = note_order(h, &page);
	if (!status)
		status = check_end(h, &page, h->folder.n > before, why);
	if (!status) {
		free(h->next);
		h->next = page.next;
		page.next = NULL;
		h->begun = true;
		h->complete = !h->next;
		h->paged_ms = remote_now_ms();
	}
	listing_release(&page);
	return status;
}

int shelf_wait(struct shelf *shelf, const char *url)
{
	bool stopped;

	if (!remote_may_wait(&shelf->remote, url))
		return -EINTR;
	remote_wait_a_moment(&shelf->arrived, &shelf->lock);
	pthread_mutex_unlock(&shelf->lock);
	stopped = remote_stopped(&shelf->remote);
	pthread_mutex_lock(&shelf->lock);
	return stopped ? -EINTR : 0;
}

int list_reach(struct shelf *shelf, struct held *h, uint64_t i, char *why)
{
	int status = 0;

	if (shelf->has_catalog && !h->complete) {
		status = catalog_list(&shelf->catalog, h->path, &h->folder);
		h->begun = h->complete = !status;
		held_count(shelf, h);
	}
	while (!status && i >= h->folder.n && !h->complete)
		status = h->asking ? shelf_wait(shelf, shelf->url.http) :
				     next_page(shelf, h, why);
	return status;
}

int shelf_list(struct shelf *shelf, const char *path, uint64_t i,
	       char *name, struct shelf_stat *ret_stat, char *why)
{
	struct held *h;
	int status = -ENOMEM;

	*why = '\0';
	pthread_mutex_lock(&shelf->lock);
	h = held_take(shelf, path, true, i == 0);
	if (h) {
		status = list_reach(shelf, h, i, why);
		if (!status && i >= h->folder.n)
			/* A prefix without objects is nowhere. */
			status = -ENOENT;
		if (!status) {
			strcpy(name, h->folder.entries[i].name);
			held_tell(&h->folder.entries[i], ret_stat);
		}
		held_let_go(shelf, h);
	}
	pthread_mutex_unlock(&shelf->lock);
	return status;
}

int shelf_begin(struct shelf *shelf, const char *path, bool anew,
		bool *ret_fresh, char *why)
{
	struct held *h;
	int status = -ENOMEM;
	bool begins;

	*why = '\0';
	pthread_mutex_lock(&shelf->lock);
	h = held_take(shelf, path, true, anew);
	if (h && !anew && h->refs == 1 && !held_is_fresh(shelf, h)) {
		h->refs--;
		h = held_take(shelf, path, true, held_is_idle(h));
	}
	if (h) {
		begins = !h->begun;
		status = list_reach(shelf, h, 0, why);
		*ret_fresh = begins || held_is_fresh(shelf, h);
		held_let_go(shelf, h);
	}
	pthread_mutex_unlock(&shelf->lock);
	return status;
}

uint64_t shelf_state(struct shelf *shelf, const char *path)
{
	uint64_t state = 0;
	struct held *h;

	pthread_mutex_lock(&shelf->lock);
	h = held_take(shelf, path, false, false);
	if (h) {
		state = h->begun ? h->state : 0;
		held_let_go(shelf, h);
	}
	pthread_mutex_unlock(&shelf->lock);
	return state;
}

int shelf_listed(struct shelf *shelf, const char *path, const char *name,
		 struct shelf_stat *ret_stat)
{
	const struct folder_entry *e;
	struct held *h;
	int found = -1;

	pthread_mutex_lock(&shelf->lock);
	h = held_take(shelf, path, false, false);
	if (h) {
		e = folder_find(&h->folder, name);
		if (e)
			held_tell(e, ret_stat);
		found = e ? 1 : list_would_show(h, name) ? 0 : -1;
		held_let_go(shelf, h);
	}
	pthread_mutex_unlock(&shelf->lock);
	return found;
}
