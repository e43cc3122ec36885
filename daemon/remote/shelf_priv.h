/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shelf_priv.h - what shelf.c, lent.c and list.c share.
 */
#ifndef BFS_DAEMON_REMOTE_SHELF_PRIV_H
#define BFS_DAEMON_REMOTE_SHELF_PRIV_H

#include "remote/catalog.h"
#include "remote/folder.h"
#include "remote/keys.h"
#include "remote/shelf.h"
#include "remote/url.h"

#include <pthread.h>

struct held;

struct shelf {
	struct url url;			/* without a catalog */
	struct catalog catalog;		/* with one */
	bool has_catalog;
	struct s3_setup setup;
	struct transport_options transport_options;
	struct remote remote;

	pthread_mutex_t lock;		/* guards what follows */
	pthread_cond_t arrived;		/* a page of any folder */
	struct held *newest, *oldest;	/* folders, by use */
	size_t n_folders;
	uint64_t named;			/* bytes of memory that count */
	uint64_t most_named;		/* ... and may */
	struct lent *lents;		/* by use, the newest first */
	size_t n_lents;
};

/* Whether it is one object, which has no path. */
static inline bool shelf_is_single(const struct shelf *shelf)
{
	return !shelf->has_catalog && !shelf->url.prefix;
}

/* ---- list.c ---------------------------------------------------------- */

/* What a listing tells of a path that is not the root. Where none is at hand
 * the store is asked for this name alone. */
int list_find(struct shelf *shelf, const char *path,
	      struct shelf_stat *ret_stat, char *why);
void list_release(struct shelf *shelf);
/* Forgets folders but those that were used last. */
void list_drop_idle(struct shelf *shelf);
/* The address of what lies at a path of a tree, to be freed. */
int list_address(struct shelf *shelf, const char *path, struct url *ret_url);

/* ---- lent.c ---------------------------------------------------------- */

/* The opened object of a path that is still the same, with a reference; NULL
 * where there is none. since_ms as for object_check; 0 or -EINTR. */
int lent_find(struct shelf *shelf, const char *path, int64_t since_ms,
	      struct lent **ret_lent);
void lent_release(struct shelf *shelf);

#endif
