/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * list.c - folders of a shelf: listed page by page as somebody goes through
 * them, kept for a while, and asked for one name where nothing is at hand.
 */
#include "remote/shelf_priv.h"

#include "remote/listing.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_KEYS 1000		/* of one page: more S3 does not send */
#define FEW_KEYS 200
#define SMALL_LISTING (1 << 20)	/* these, of 1,024 bytes, each as %XX */
#define MOST_FOLDERS 64
#define FEW_FOLDERS 4		/* where memory is wanted */
#define MOST_ENTRIES 4000000	/* of one folder */
#define MOST_BARREN 1000	/* pages in turn that tell no new name */
#define IDLE_MS 10000		/* who lists a folder takes less for a page */

/* A folder and how far it is known. Under the shelf's lock, but for what the
 * one thread that asks for the next page does. */
struct held {
	char *path;
	struct folder folder;
	char *next;			/* token of the page behind; owned */
	char *last;			/* name that sorts last; owned */
	bool mixed;			/* pages do not come sorted */
	bool begun, complete, asking;
	unsigned n_barren;
	uint64_t charged;		/* bytes of memory that count */
	int64_t since_ms;		/* when it was begun */
	int64_t paged_ms;		/* when the last page came */
	unsigned refs;			/* who looks at it */
	struct held *newer, *older;
};

/* ---- what is asked for ----------------------------------------------- */

/* The key that a path stands for: the prefix, then the store's own names. */
static char *key_of(const struct shelf *shelf, const char *path)
{
	char *plain = folder_unescape(path), *key;

	if (!plain || asprintf(&key, "%s%s", shelf->url.prefix, plain) < 0)
		key = NULL;
	free(plain);
	return key;
}

int list_address(struct shelf *shelf, const char *path, struct url *ret_url)
{
	struct url_s3 s3 = { shelf->setup.endpoint, shelf->setup.region };
	struct catalog_line *line;
	char *key, *coded, error[256];

	if (shelf->has_catalog) {
		line = bsearch(&(struct catalog_line){
				.path = (char *)(uintptr_t)path },
			       shelf->catalog.lines, shelf->catalog.n,
			       sizeof(*line), catalog_compare);
		if (!line)
			return -ENOENT;
		return url_parse(line->url, &s3, ret_url, error,
				 sizeof(error)) == -ENOMEM ? -ENOMEM : 0;
	}
	*ret_url = (struct url){ .s3 = true };
	key = key_of(shelf, path);
	coded = key ? url_encode(key, false) : NULL;
	if (!coded || asprintf(&ret_url->http, "%s/%s", shelf->url.http,
			       coded) < 0)
		ret_url->http = NULL;
	free(key);
	free(coded);
	return ret_url->http ? 0 : -ENOMEM;
}

/* The address of one page. Parameters are sorted and coded, as signatures
 * want it. */
static char *page_address(const struct shelf *shelf, const char *prefix,
			  const char *token, unsigned most)
{
	char *coded = url_encode(prefix, true), *address = NULL;
	char *at = token ? url_encode(token, true) : NULL;

	if (coded && (at || !token) &&
	    asprintf(&address, "%s/?%s%s%sdelimiter=%%2F&encoding-type=url&"
		     "list-type=2&max-keys=%u&prefix=%s", shelf->url.http,
		     at ? "continuation-token=" : "", at ? at : "",
		     at ? "&" : "", most, coded) < 0)
		address = NULL;
	free(coded);
	free(at);
	return address;
}

/* Asks for a page: what is right below folder among what begins with prefix.
 * Where its memory would be in the way, for a small one, whose memory counts
 * where it may: names are needed all the same. */
static int ask_page(struct shelf *shelf, const char *folder,
		    const char *prefix, const char *token,
		    struct page *ret_page, char *why)
{
	bool wide = remote_charge(&shelf->remote, LISTING_CAP);
	bool small = !wide && remote_charge(&shelf->remote, SMALL_LISTING);
	size_t cap = wide ? LISTING_CAP : SMALL_LISTING;
	char *address = page_address(shelf, prefix, token,
				     wide ? MOST_KEYS : FEW_KEYS);
	char *xml = malloc(cap);
	struct response r;
	int status = -ENOMEM;

	if (address && xml) {
		remote_ask(&shelf->remote, &(struct request){
			.url = address, .s3 = true, .whole = true,
			.signer = shelf->remote.signer, .len = cap,
			.buf = xml }, &r);
		status = remote_errno(&r, false);
		strcpy(why, r.why);
		/* Another thing than nothing in it. */
		if (status == -ENOENT) {
			strcpy(why, "there is no such bucket");
			status = -EIO;
		}
		if (!status)
			status = listing_parse(xml, r.len, folder, ret_page,
					       why);
	}
	free(address);
	free(xml);
	if (wide || small)
		remote_give_back(&shelf->remote, cap);
	return status;
}

static struct folder_entry entry_of(const struct listed *listed)
{
	return (struct folder_entry){
		.is_folder = listed->is_folder, .told = true,
		.size = listed->size, .modified = listed->modified,
		.identity = folder_identity(listed->tag, listed->modified),
	};
}

/* ---- folders that are kept ------------------------------------------- */

/* All with the lock held. */

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

void list_drop_idle(struct shelf *shelf)
{
	pthread_mutex_lock(&shelf->lock);
	trim(shelf, FEW_FOLDERS);
	pthread_mutex_unlock(&shelf->lock);
}

/* What names take counts up to a quarter of what there is, as those do that
 * the kernel remembers: they are needed all the same. */
static void count(struct shelf *shelf, struct held *h)
{
	uint64_t now = folder_memory(&h->folder), more = now - h->charged;

	if (now <= h->charged || shelf->named + more > shelf->most_named)
		return;
	if (!remote_charge(&shelf->remote, more))
		return;
	h->charged = now;
	shelf->named += more;
}

void list_release(struct shelf *shelf)
{
	while (shelf->oldest) {
		struct held *h = shelf->oldest;

		unlink_held(shelf, h);
		free_held(shelf, h);
	}
}

static bool is_fresh(const struct shelf *shelf, const struct held *h)
{
	return shelf->has_catalog ||
	       remote_now_ms() - h->since_ms <
	       (int64_t)shelf->remote.fresh_ms;
}

/* Whether nobody is in the midst of it. */
static bool is_idle(const struct held *h)
{
	return !h->refs && (h->complete ||
			    remote_now_ms() - h->paged_ms > IDLE_MS);
}

/* The folder of a path, with a reference; make: a new one where there is
 * none. A listing that somebody is in the midst of goes on to its end. */
static struct held *hold(struct shelf *shelf, const char *path, bool make,
			 bool anew)
{
	struct held *h = shelf->newest;

	while (h && strcmp(h->path, path) != 0)
		h = h->older;
	if (h && anew && !h->refs && !is_fresh(shelf, h)) {
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

static void let_go(struct shelf *shelf, struct held *h)
{
	h->refs--;
	trim(shelf, remote_is_tight(&shelf->remote) ? FEW_FOLDERS :
						      MOST_FOLDERS);
}

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

/* Whether a page that came would hold what is called so, were it there. The
 * folder of a name sorts behind the object. */
static bool would_show(const struct held *h, const char *name)
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

	h->asking = true;
	pthread_mutex_unlock(&shelf->lock);
	folder = *h->path ? key_of(shelf, h->path) :
			    strdup(shelf->url.prefix);
	if (folder && *h->path) {
		char *with = NULL;

		if (asprintf(&with, "%s/", folder) < 0)
			with = NULL;
		free(folder);
		folder = with;
	}
	if (folder)
		status = ask_page(shelf, folder, folder, token, &page, why);
	free(folder);
	pthread_mutex_lock(&shelf->lock);
	h->asking = false;
	pthread_cond_broadcast(&shelf->arrived);
	for (size_t i = 0; !status && i < page.n; i++) {
		struct folder_entry entry = entry_of(&page.entries[i]);

		status = folder_add(&h->folder, page.entries[i].name,
				    &entry);
	}
	count(shelf, h);
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

static int wait_for_page(struct shelf *shelf)
{
	bool stopped;

	if (!remote_may_wait(&shelf->remote, shelf->url.http))
		return -EINTR;
	remote_wait_a_moment(&shelf->arrived, &shelf->lock);
	pthread_mutex_unlock(&shelf->lock);
	stopped = remote_stopped(&shelf->remote);
	pthread_mutex_lock(&shelf->lock);
	return stopped ? -EINTR : 0;
}

/* Goes on until entry i is known, or the end. */
static int reach(struct shelf *shelf, struct held *h, uint64_t i, char *why)
{
	int status = 0;

	if (shelf->has_catalog && !h->complete) {
		status = catalog_list(&shelf->catalog, h->path, &h->folder);
		h->begun = h->complete = !status;
		count(shelf, h);
	}
	while (!status && i >= h->folder.n && !h->complete)
		status = h->asking ? wait_for_page(shelf) :
				     next_page(shelf, h, why);
	return status;
}

static void tell(const struct folder_entry *e, struct shelf_stat *ret_stat)
{
	*ret_stat = (struct shelf_stat){
		.is_folder = e->is_folder, .told = e->told || e->is_folder,
		.size = e->size, .identity = e->identity,
		.modified = e->modified,
	};
}

int shelf_list(struct shelf *shelf, const char *path, uint64_t i,
	       char *name, struct shelf_stat *ret_stat, char *why)
{
	struct held *h;
	int status = -ENOMEM;

	*why = '\0';
	pthread_mutex_lock(&shelf->lock);
	h = hold(shelf, path, true, i == 0);
	if (h) {
		status = reach(shelf, h, i, why);
		if (!status && i >= h->folder.n)
			/* A prefix without objects is nowhere. */
			status = -ENOENT;
		if (!status) {
			strcpy(name, h->folder.entries[i].name);
			tell(&h->folder.entries[i], ret_stat);
		}
		let_go(shelf, h);
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
	h = hold(shelf, path, true, anew);
	if (h && !anew && h->refs == 1 && !is_fresh(shelf, h)) {
		h->refs--;
		h = hold(shelf, path, true, is_idle(h));
	}
	if (h) {
		begins = !h->begun;
		status = reach(shelf, h, 0, why);
		*ret_fresh = begins || is_fresh(shelf, h);
		let_go(shelf, h);
	}
	pthread_mutex_unlock(&shelf->lock);
	return status;
}

int shelf_listed(struct shelf *shelf, const char *path, const char *name,
		 struct shelf_stat *ret_stat)
{
	const struct folder_entry *e;
	struct held *h;
	int found = -1;

	pthread_mutex_lock(&shelf->lock);
	h = hold(shelf, path, false, false);
	if (h) {
		e = folder_find(&h->folder, name);
		if (e)
			tell(e, ret_stat);
		found = e ? 1 : would_show(h, name) ? 0 : -1;
		let_go(shelf, h);
	}
	pthread_mutex_unlock(&shelf->lock);
	return found;
}

/* ---- one name -------------------------------------------------------- */

/* 1 where a listing at hand tells; 0 where none does; or -ENOENT. */
static int find_at_hand(struct shelf *shelf, const char *folder,
			const char *name, struct shelf_stat *ret_stat)
{
	const struct folder_entry *e = NULL;
	struct held *h;
	int found = 0;

	pthread_mutex_lock(&shelf->lock);
	h = hold(shelf, folder, shelf->has_catalog, false);
	if (h && shelf->has_catalog)
		found = reach(shelf, h, 0, (char[REMOTE_WHY_CAP]){ 0 });
	if (h && !found && is_fresh(shelf, h)) {
		e = folder_find(&h->folder, name);
		if (e)
			tell(e, ret_stat);
		found = e ? 1 : would_show(h, name) ? -ENOENT : 0;
	}
	if (h)
		let_go(shelf, h);
	pthread_mutex_unlock(&shelf->lock);
	return found;
}

/* Whether a listing of this very folder is at hand. */
static bool is_held_folder(struct shelf *shelf, const char *path)
{
	struct held *h;
	bool is;

	pthread_mutex_lock(&shelf->lock);
	h = hold(shelf, path, false, false);
	is = h && h->folder.n && is_fresh(shelf, h);
	if (h)
		let_go(shelf, h);
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
		struct folder_entry entry = entry_of(&page->entries[i]);

		status = folder_add(&found, page->entries[i].name, &entry);
	}
	if (!status)
		e = folder_find(&found, name);
	if (e)
		tell(e, ret_stat);
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
	status = ask_page(shelf, below, below, NULL, &page, why);
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
	char *key = key_of(shelf, path);
	int status = -ENOMEM, found = 0;

	if (key)
		status = ask_page(shelf, folder, key, NULL, &page, why);
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

int list_find(struct shelf *shelf, const char *path,
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
		key = key_of(shelf, parent);
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
