/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * name.c - one name of a shelf: by a listing at hand, or asked for alone.
 */
#include "remote/list.h"
#include "remote/page.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 1 where a listing at hand tells; 0 where none does; or -ENOENT. */
static int find_at_hand(struct shelf *shelf, const char *folder,
			const char *name, struct shelf_stat *ret_stat)
{
	const struct folder_entry *e = NULL;
	struct held *h;
	int found = 0;

	pthread_mutex_lock(&shelf->lock);
	h = held_take(shelf, folder, shelf->has_catalog, false);
	if (h && shelf->has_catalog)
		found = list_reach(shelf, h, 0, (char[REMOTE_WHY_CAP]){ 0 });
	if (h && !found && held_is_fresh(shelf, h)) {
		e = folder_find(&h->folder, name);
		if (e) {
			held_tell(e, ret_stat);
			ret_stat->listed_ms = h->since_ms;
		}
		found = e ? 1 : list_would_show(h, name) ? -ENOENT : 0;
	}
	if (h)
		held_let_go(shelf, h);
	pthread_mutex_unlock(&shelf->lock);
	return found;
}

/* Whether a listing of this very folder is at hand. */
static bool is_held_folder(struct shelf *shelf, const char *path)
{
	struct held *h;
	bool is;

	pthread_mutex_lock(&shelf->lock);
	h = held_take(shelf, path, false, false);
	is = h && h->folder.n && held_is_fresh(shelf, h);
	if (h)
		held_let_go(shelf, h);
	pthread_mutex_unlock(&shelf->lock);
	return is;
}

int shelf_known(struct shelf *shelf, const char *path,
		struct shelf_stat *ret_stat)
{
	const char *slash = strrchr(path, '/');
	char *parent = strndup(path, slash ? (size_t)(slash - path) : 0);
	int known = parent ? find_at_hand(shelf, parent, slash ? slash + 1 :
					  path, ret_stat) : 0;

	free(parent);
	if (!known && is_held_folder(shelf, path)) {
		*ret_stat = (struct shelf_stat){ .is_folder = true,
						 .told = true };
		known = 1;
	}
	return known;
}

/* What a page tells of one name: 1, or 0, or -ENOMEM. */
static int find_in_page(const struct page *page, const char *name,
			struct shelf_stat *ret_stat)
{
	struct folder found = { 0 };
	const struct folder_entry *e = NULL;
	int status = 0;

	for (size_t i = 0; !status && i < page->n; i++) {
		struct folder_entry entry = page_entry(&page->entries[i]);

		status = folder_add(&found, page->entries[i].name, &entry);
	}
	if (!status)
		e = folder_find(&found, name);
	if (e)
		held_tell(e, ret_stat);
	folder_release(&found);
	return status ? status : e != NULL;
}

/* Whether a folder that the first page does not reach has anything in it. */
static int find_folder(struct shelf *shelf, const char *key,
		       struct shelf_stat *ret_stat, char *why)
{
	struct page page = { 0 };
	char *below;
	int status = -ENOMEM;

	if (asprintf(&below, "%s/", key) < 0)
		return status;
	status = page_ask(shelf, below, below, NULL, NULL, &page, why);
	if (!status && page.n == 0 && !page.next)
		status = -ENOENT;
	else if (!status)
		*ret_stat = (struct shelf_stat){ .is_folder = true,
						 .told = true };
	listing_release(&page);
	free(below);
	return status;
}

/* The store is asked for what begins with the name: the object sorts first,
 * the folder behind what goes on with a byte below "/". */
static int find_in_store(struct shelf *shelf, const char *folder,
			 const char *path, const char *name,
			 struct shelf_stat *ret_stat, char *why)
{
	struct page page = { 0 };
	char *key = address_key(shelf, path);
	int status = -ENOMEM, found = 0;

	if (key)
		status = page_ask(shelf, folder, key, NULL, NULL, &page, why);
	if (!status)
		found = find_in_page(&page, name, ret_stat);
	if (found < 0)
		status = found;
	else if (!status && !found)
		status = page.next ? find_folder(shelf, key, ret_stat, why) :
				     -ENOENT;
	listing_release(&page);
	free(key);
	return status;
}

int name_find(struct shelf *shelf, const char *path,
	      struct shelf_stat *ret_stat, char *why)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	int status = shelf_known(shelf, path, ret_stat);
	char *parent, *folder = NULL, *key;

	if (status)
		return status == 1 ? 0 : status;
	parent = strndup(path, slash ? (size_t)(slash - path) : 0);
	if (!parent)
		return -ENOMEM;
	if (*parent) {
		key = address_key(shelf, parent);
		if (key && asprintf(&folder, "%s/", key) < 0)
			folder = NULL;
		free(key);
	} else {
		folder = strdup(shelf->url.prefix);
	}
	status = folder ? find_in_store(shelf, folder, path, name, ret_stat,
					why) : -ENOMEM;
	free(folder);
	free(parent);
	return status;
}
