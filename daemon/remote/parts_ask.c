/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts_ask.c - what a server has by now of objects that were read: by pages of
 * its listing, which tell of a thousand each, and where there is none, or one
 * tells it differently, by the objects' own headers.
 */
#include "remote/parts_ask.h"

#include "remote/page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_AT_ONCE 16
#define MOST_ROWS 1024		/* by pages, before others are asked alone */

/* Where a name's own folder ends; 0: it lies in the container's. */
static size_t inner_len(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? (size_t)(slash - name) : 0;
}

/* Folders one after the other, and their names as listings have them. */
static int compare_names(const void *a, const void *b)
{
	const char *x = ((const struct part *)a)->name;
	const char *y = ((const struct part *)b)->name;
	size_t n = inner_len(x), m = inner_len(y);
	int order = strncmp(x, y, n < m ? n : m);

	if (!order && n != m)
		order = n < m ? -1 : 1;
	return order ? order : strcmp(x, y);
}

static void hold_against(struct part *part, uint64_t size, uint64_t identity)
{
	if (size == part->size && identity == part->identity)
		part->now = PART_SAME;
}

static void look_held(struct shelf *shelf, const char *folder,
		      struct part *part)
{
	struct shelf_stat stat;

	if (!inner_len(part->name) && !part->untold &&
	    shelf_listed(shelf, folder, part->name, &stat) == 1 &&
	    !stat.is_folder)
		hold_against(part, stat.size, stat.identity);
}

/* The folder of a part, as a key that ends in "/". */
static char *key_of_folder(const struct shelf *shelf, const char *folder,
			   const struct part *part)
{
	size_t len = inner_len(part->name);
	char *above = address_key(shelf, folder), *key = NULL;

	if (above && asprintf(&key, "%s%s%.*s%s", above, *folder ? "/" : "",
			      (int)len, part->name, len ? "/" : "") < 0)
		key = NULL;
	free(above);
	return key;
}

/* Something that sorts right before a key. */
static void step_back(char *key)
{
	key[strlen(key) - 1] = '\0';
}

/* Holds parts[0] and those after it, as many as the page reaches, against it;
 * tells how many. */
static size_t compare_page(const struct page *page, struct part *parts,
			   size_t n)
{
	const char *first = parts[0].name;
	size_t len = inner_len(first), i, k = 0;

	for (i = 0; i < n; i++) {
		const char *name = parts[i].name + (len ? len + 1 : 0);
		int order = -1;

		if (inner_len(parts[i].name) != len ||
		    strncmp(parts[i].name, first, len) != 0)
			break;
		while (k < page->n && (page->entries[k].is_folder ||
		       (order = strcmp(page->entries[k].name, name)) < 0))
			k++;
		if (k == page->n && page->next)
			break;
		if (k < page->n && order == 0 && !parts[i].untold)
			hold_against(&parts[i], page->entries[k].size,
				     page_entry(&page->entries[k]).identity);
	}
	return i;
}

/* The page that begins with the first of n parts; *ret_n are done with. */
static int ask_page(struct shelf *shelf, const char *folder,
		    struct part *parts, size_t n, size_t *ret_n)
{
	char *key = key_of_folder(shelf, folder, parts), *after = NULL;
	const char *name = parts->name + inner_len(parts->name);
	char why[REMOTE_WHY_CAP];
	struct page page = { 0 };
	int status = -ENOMEM;

	if (key && asprintf(&after, "%s%s", key, name + (*name == '/')) >= 0) {
		step_back(after);
		status = page_ask(shelf, key, key, NULL, after, &page, why);
	}
	*ret_n = status ? n : compare_page(&page, parts, n);
	/* A store that cannot begin there: each page would be the first. */
	if (!*ret_n)
		*ret_n = n;
	listing_release(&page);
	free(after);
	free(key);
	/* Their own headers may tell. */
	return status == -EINTR || status == -ENOMEM ? status : 0;
}

static int ask_pages(struct shelf *shelf, const char *folder,
		     struct part *parts, size_t n)
{
	size_t done;
	int status = 0;

	for (size_t i = 0; !status && i < n; i += done) {
		done = 1;
		if (parts[i].now == PART_UNSURE && !parts[i].untold)
			status = ask_page(shelf, folder, parts + i, n - i,
					  &done);
	}
	return status;
}

/* ---- one by one ------------------------------------------------------- */

/* Requests that are under way together. */
struct wave {
	pthread_mutex_t lock;
	pthread_cond_t over;
	unsigned n_under_way;
};

struct asked {
	struct wave *wave;
	struct part *part;
	struct url url;
	struct host *host;
	struct response response;
	struct job *job;
	int64_t begin_ms;
	bool done;
	char byte;
};

static void asked_over(void *arg)
{
	struct asked *a = arg;

	pthread_mutex_lock(&a->wave->lock);
	a->done = true;
	a->wave->n_under_way--;
	pthread_cond_signal(&a->wave->over);
	pthread_mutex_unlock(&a->wave->lock);
}

/* To be released. */
static int address_of_part(struct shelf *shelf, const char *folder,
			   const struct part *part, struct url *ret_url)
{
	char *path;
	int status;

	if (asprintf(&path, "%s%s%s", folder, *folder ? "/" : "",
		     part->name) < 0)
		return -ENOMEM;
	status = address_of(shelf, path, ret_url);
	free(path);
	return status;
}

static struct request request_for(const struct shelf *shelf,
				  const struct url *url, char *byte)
{
	return (struct request){
		.url = url->http, .s3 = url->s3, .buf = byte, .len = 1,
		.signer = url->s3 ? shelf->remote.signer : NULL,
	};
}

static int start(struct shelf *shelf, const char *folder, struct asked *a)
{
	struct hosts *hosts = transport_hosts(shelf->remote.transport);
	struct request request;
	int status = address_of_part(shelf, folder, a->part, &a->url);

	if (status)
		return status == -ENOMEM ? status : 0;
	if (!remote_may_wait(&shelf->remote, a->url.http))
		return -EINTR;
	a->host = hosts_find(hosts, a->url.http);
	a->begin_ms = remote_now_ms();
	if (host_pause(a->host))
		return 0;
	request = request_for(shelf, &a->url, &a->byte);
	pthread_mutex_lock(&a->wave->lock);
	a->wave->n_under_way++;
	pthread_mutex_unlock(&a->wave->lock);
	a->job = transport_start(shelf->remote.transport, &request,
				 &a->response, asked_over, a);
	if (a->job)
		return 0;
	pthread_mutex_lock(&a->wave->lock);
	a->wave->n_under_way--;
	pthread_mutex_unlock(&a->wave->lock);
	return -ENOMEM;
}

/* True where they were given up. */
static bool wait_for_wave(struct shelf *shelf, struct wave *wave,
			  struct asked *asked, size_t n)
{
	bool stopped = false;

	pthread_mutex_lock(&wave->lock);
	while (wave->n_under_way) {
		if (!stopped && remote_stopped(&shelf->remote)) {
			stopped = true;
			for (size_t i = 0; i < n; i++)
				if (asked[i].job && !asked[i].done)
					transport_cancel(
						shelf->remote.transport,
						asked[i].job);
		}
		remote_wait_a_moment(&wave->over, &wave->lock);
	}
	pthread_mutex_unlock(&wave->lock);
	return stopped;
}

/* Where a listing could not tell, but the object is what it was, listings are
 * not believed of it again. */
static void take_answer(const struct shelf *shelf, struct part *part,
			const struct response *r)
{
	if (r->outcome == REMOTE_OK)
		hold_against(part, r->total,
			     folder_identity(r->tag, r->modified));
	else if (r->outcome == REMOTE_BEYOND && !part->size)
		part->now = PART_SAME;
	if (part->now == PART_SAME)
		part->untold = !shelf->has_catalog;
	else if (r->outcome == REMOTE_OK || r->outcome == REMOTE_ABSENT ||
		 r->outcome == REMOTE_BEYOND)
		part->now = PART_OTHER;
}

/* One that has to be known, by as many tries as a reader's. */
static int ask_surely(struct shelf *shelf, const char *folder,
		      struct part *part)
{
	struct request request;
	struct response r;
	struct url url = { 0 };
	char byte;
	int status = address_of_part(shelf, folder, part, &url);

	if (!status) {
		request = request_for(shelf, &url, &byte);
		remote_ask(&shelf->remote, &request, &r);
		take_answer(shelf, part, &r);
		/* What may not be read any more is not what it was. */
		if (r.outcome == REMOTE_DENIED)
			part->now = PART_OTHER;
		if (r.outcome == REMOTE_STOPPED)
			status = -EINTR;
	}
	url_release(&url);
	if (status == -EINTR || status == -ENOMEM)
		return status;
	return part->now == PART_UNSURE ? -EIO : 0;
}

static int ask_wave(struct shelf *shelf, const char *folder,
		    struct part *const *parts, size_t n)
{
	struct wave wave = { PTHREAD_MUTEX_INITIALIZER,
			     PTHREAD_COND_INITIALIZER, 0 };
	struct asked asked[MOST_AT_ONCE] = { 0 };
	int status = 0;

	for (size_t i = 0; i < n; i++) {
		asked[i].wave = &wave;
		asked[i].part = parts[i];
		if (!status)
			status = start(shelf, folder, &asked[i]);
	}
	if (wait_for_wave(shelf, &wave, asked, n))
		status = -EINTR;
	for (size_t i = 0; i < n; i++) {
		if (asked[i].job) {
			remote_note(asked[i].host, asked[i].begin_ms,
				    &asked[i].response);
			take_answer(shelf, parts[i], &asked[i].response);
		}
		url_release(&asked[i].url);
	}
	return status;
}

/* Whether a wave told nothing. */
static bool is_silent(struct part *const *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (parts[i]->now != PART_UNSURE)
			return false;
	return true;
}

/* By their own headers. *ret_n are done with, all unless the time is over or
 * the server does not answer. */
static int ask_alone(struct shelf *shelf, const char *folder,
		     struct part *parts, size_t n, int64_t end_ms,
		     size_t *ret_n)
{
	struct part *left[MOST_AT_ONCE];
	size_t n_left = 0, i;
	int status = 0;

	for (i = 0; !status && i < n; i++) {
		if (parts[i].now == PART_UNSURE)
			left[n_left++] = &parts[i];
		if (!n_left || (n_left < MOST_AT_ONCE && i + 1 < n))
			continue;
		status = ask_wave(shelf, folder, left, n_left);
		for (size_t k = 0; !status && !end_ms && k < n_left; k++)
			if (left[k]->now == PART_UNSURE)
				status = ask_surely(shelf, folder, left[k]);
		if (end_ms && (is_silent(left, n_left) ||
			       remote_now_ms() >= end_ms)) {
			i++;
			break;
		}
		n_left = 0;
	}
	*ret_n = i;
	return status;
}

/* The number of the first part that is called so or sorts behind. */
static size_t begin_at(const struct part *parts, size_t n, const char *from)
{
	const struct part first = { .name = (char *)from };
	size_t i = 0;

	while (from && i < n && compare_names(&parts[i], &first) < 0)
		i++;
	return i < n ? i : 0;
}

int parts_ask(struct shelf *shelf, const char *folder, struct part *parts,
	      size_t n, char **from, int64_t end_ms)
{
	size_t i, some, done;
	int status = 0;

	for (i = 0; end_ms && !shelf->has_catalog && i < n; i++)
		look_held(shelf, folder, &parts[i]);
	qsort(parts, n, sizeof(*parts), compare_names);
	i = end_ms ? begin_at(parts, n, *from) : 0;
	for (; !status && i < n; i += done) {
		some = n - i < MOST_ROWS ? n - i : MOST_ROWS;
		if (!shelf->has_catalog)
			status = ask_pages(shelf, folder, parts + i, some);
		done = 0;
		if (!status)
			status = ask_alone(shelf, folder, parts + i, some,
					   end_ms, &done);
		if (end_ms && (done < some || remote_now_ms() >= end_ms)) {
			i += done;
			break;
		}
	}
	if (end_ms) {
		free(*from);
		*from = i < n ? strdup(parts[i].name) : NULL;
	}
	return status;
}
