/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shelf.c - SOURCE on a server, from its address to its end.
 */
#include "remote/shelf_priv.h"

#include "remote/parts.h"
#include "remote/pieces.h"
#include "remote/signer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_FRESH_MS 5000

/* Each address of a catalog must be one object's. */
static int check_catalog(struct shelf *shelf, char *error, size_t error_cap)
{
	struct url_s3 s3 = { shelf->setup.endpoint, shelf->setup.region };
	int status = 0;

	for (size_t i = 0; !status && i < shelf->catalog.n; i++) {
		struct url url;

		status = url_parse(shelf->catalog.lines[i].url, &s3, &url,
				   error, error_cap);
		if (status)
			return status;
		if (url.prefix) {
			snprintf(error, error_cap, "line %zu of the catalog "
				 "names a prefix, where one object is needed",
				 shelf->catalog.lines[i].number);
			status = -EINVAL;
		}
		url_release(&url);
	}
	return status;
}

static int find_out(struct shelf *shelf, const char *source,
		    const char *catalog, char *error, size_t error_cap)
{
	struct url_s3 s3;
	int status = keys_find(&shelf->setup, error, error_cap);

	if (status)
		return status;
	s3 = (struct url_s3){ shelf->setup.endpoint, shelf->setup.region };
	if (!catalog)
		return url_parse(source, &s3, &shelf->url, error, error_cap);
	shelf->has_catalog = true;
	status = catalog_read(catalog, &shelf->catalog, error, error_cap);
	return status ? status : check_catalog(shelf, error, error_cap);
}

static void free_shelf(struct shelf *shelf)
{
	lent_release(shelf);
	parts_release(shelf);
	held_release(shelf);
	transport_free(shelf->remote.transport);
	diskcache_close(shelf->remote.disk);
	signer_free(shelf->remote.signer);
	catalog_release(&shelf->catalog);
	url_release(&shelf->url);
	keys_release(&shelf->setup);
	pthread_cond_destroy(&shelf->arrived);
	pthread_mutex_destroy(&shelf->lock);
	pthread_mutex_destroy(&shelf->remote.lock);
	free(shelf);
}

/* Nobody to sign for is no fault: requests are asked as anybody's then. */
static int make_ready(struct shelf *shelf,
		      const struct shelf_options *options, char *error,
		      size_t error_cap)
{
	const struct s3_setup *setup = &shelf->setup;
	bool signs = !options->no_sign && (setup->keys.id || setup->process);

	shelf->transport_options = (struct transport_options){
		.connect_ms = options->connect_ms,
		.silence_ms = options->silence_ms,
		.ca_file = options->ca_file, .region = setup->region,
	};
	shelf->remote = (struct remote){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.retry_ms = options->retry_ms, .fresh_ms = DEFAULT_FRESH_MS,
		.whole_most = options->whole_most,
		.may_wait = options->may_wait, .stopped = options->stopped,
		.in_vain = options->in_vain,
		.transport = transport_new(&shelf->transport_options),
		.signer = signs ? signer_new(&setup->keys, setup->process,
					     options->silence_ms) : NULL,
	};
	if (shelf->remote.transport && (shelf->remote.signer || !signs))
		return 0;
	snprintf(error, error_cap, "no memory to start");
	return -ENOMEM;
}

int shelf_open(const char *source, const struct shelf_options *options,
	       struct shelf **ret_shelf, char *error, size_t error_cap)
{
	struct shelf *shelf = calloc(1, sizeof(*shelf));
	int status;

	if (!shelf) {
		snprintf(error, error_cap, "no memory to start");
		return -ENOMEM;
	}
	pthread_mutex_init(&shelf->lock, NULL);
	pthread_cond_init(&shelf->arrived, NULL);
	pthread_mutex_init(&shelf->remote.lock, NULL);
	status = find_out(shelf, source, options->catalog, error, error_cap);
	if (!status)
		status = make_ready(shelf, options, error, error_cap);
	if (!status && options->disk_cache)
		status = diskcache_open(options->disk_cache,
					options->disk_cache_size,
					&shelf->remote.disk, error,
					error_cap);
	if (status)
		free_shelf(shelf);
	else
		*ret_shelf = shelf;
	return status;
}

static int probe(struct shelf *shelf, char *why)
{
	struct shelf_stat stat;
	char name[NAME_MAX + 1];
	struct lent *lent;
	int status;

	*why = '\0';
	if (shelf->has_catalog)
		return 0;
	if (shelf_is_single(shelf)) {
		status = shelf_take(shelf, "", true, &lent, why);
		if (!status)
			shelf_give(lent);
		return status;
	}
	status = shelf_list(shelf, "", 0, name, &stat, why);
	/* An empty bucket is one, too. */
	return status == -ENOENT ? 0 : status;
}

int shelf_probe(struct shelf *shelf, char *why)
{
	int status;

	atomic_store(&shelf->remote.probing, true);
	status = probe(shelf, why);
	atomic_store(&shelf->remote.probing, false);
	return status;
}

const char *shelf_advice(const struct shelf *shelf, int status)
{
	switch (status) {
	case -ENOENT:
		return shelf->url.s3 && shelf_is_single(shelf) ?
		       "check the address; that of a prefix ends in /" :
		       "check the address";
	case -EACCES:
		return shelf->url.s3 ?
		       "check the keys and AWS_PROFILE, or give no_sign" :
		       "name and password of a server belong into ~/.netrc";
	case -ENOMEM:
		return "free some memory";
	default:
		return "check the address, the network and the server";
	}
}

void shelf_close(struct shelf *shelf)
{
	if (shelf)
		free_shelf(shelf);
}

void shelf_rest(struct shelf *shelf)
{
	transport_rest(shelf->remote.transport);
	diskcache_rest(shelf->remote.disk);
}

int shelf_hire(struct shelf *shelf)
{
	return shelf->remote.signer ? signer_hire(shelf->remote.signer) : 0;
}

void shelf_hurry(struct shelf *shelf)
{
	atomic_store(&shelf->remote.hurry, true);
	transport_hurry(shelf->remote.transport);
}

static void give_back(void *arg, uint64_t len)
{
	struct shelf *shelf = arg;

	(void)len;
	pieces_drop_idle(&shelf->remote);
	held_drop_idle(shelf);
}

void shelf_set_library(struct shelf *shelf, struct bloscfs *fs)
{
	struct bloscfs_stats stats = { .size = sizeof(stats) };

	bloscfs_stats_get(fs, &stats);
	shelf->most_named = stats.memory_budget ? stats.memory_budget / 4 :
						  UINT64_MAX;
	shelf->remote.fs = fs;
	diskcache_set_library(shelf->remote.disk, fs);
	bloscfs_on_want(fs, give_back, shelf);
}

void shelf_set_fresh(struct shelf *shelf, double seconds)
{
	shelf->remote.fresh_ms = (uint64_t)(seconds * 1000);
}

const char *shelf_single(const struct shelf *shelf)
{
	return shelf_is_single(shelf) ? shelf->url.name : NULL;
}

int shelf_look(struct shelf *shelf, const char *path,
	       struct shelf_stat *ret_stat, char *why)
{
	struct lent *lent;
	bool other;
	int status;

	*why = '\0';
	if (!*path && !shelf_single(shelf)) {
		*ret_stat = (struct shelf_stat){ .is_folder = true,
						 .told = true };
		return 0;
	}
	status = lent_find(shelf, path, 0, &lent, &other);
	if (status)
		return status;
	if (!lent && !shelf_single(shelf)) {
		status = name_find(shelf, path, ret_stat, why);
		if (status || ret_stat->told)
			return status;
	}
	/* Only the object itself tells. */
	if (!lent) {
		status = shelf_take(shelf, path, true, &lent, why);
		if (status)
			return status;
	}
	shelf_stat_of(lent, ret_stat);
	shelf_give(lent);
	return 0;
}

void shelf_count(struct shelf *shelf, struct transport_counts *ret_counts,
		 uint64_t *ret_retries)
{
	transport_count(shelf->remote.transport, ret_counts);
	*ret_retries = atomic_load_explicit(&shelf->remote.n_retries,
					    memory_order_relaxed);
}

void shelf_count_disk(struct shelf *shelf,
		      struct diskcache_counts *ret_counts)
{
	diskcache_count(shelf->remote.disk, ret_counts);
}
