/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shelf_priv.h - what a shelf is, for the files that make it up.
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
struct opening;
struct parts;

struct shelf {
	struct url url;			/* without a catalog */
	struct catalog catalog;		/* with one */
	bool has_catalog;
	struct s3_setup setup;
	struct transport_options transport_options;
	struct remote remote;

	pthread_mutex_t lock;		/* guards what follows */
	pthread_cond_t arrived;		/* a page of any folder, an object */
	struct held *newest, *oldest;	/* folders, by use */
	size_t n_folders;
	uint64_t named;			/* bytes of memory that count */
	uint64_t most_named;		/* ... and may */
	struct lent *lents;		/* by use, the newest first */
	size_t n_lents;
	struct opening *opening;	/* objects that are asked for now */
	struct parts *parts;		/* by use, the newest first */
	size_t n_parts;
	size_t n_seen;			/* ... that were read, of all */
	uint64_t next_turn;		/* of containers not met yet */
};

/* Whether it is one object, which has no path. */
static inline bool shelf_is_single(const struct shelf *shelf)
{
	return !shelf->has_catalog && !shelf->url.prefix;
}

/* ---- address.c ------------------------------------------------------- */

/* The key that a path stands for: the prefix, then the store's own names. To
 * be freed; NULL on no memory. */
char *address_key(const struct shelf *shelf, const char *path);
/* The address of what lies at a path of a tree; -ENOENT where a catalog names
 * none, -ENOMEM. To be released. */
int address_of(struct shelf *shelf, const char *path, struct url *ret_url);

/* ---- held.c ---------------------------------------------------------- */

/* Once nobody uses the shelf. */
void held_release(struct shelf *shelf);
/* Forgets folders but those that were used last. */
void held_drop_idle(struct shelf *shelf);

/* ---- list.c ---------------------------------------------------------- */

/* With the lock held: waits a moment for what another thread asks of url. 0, or
 * -EINTR where this one may not, or must not any more. */
int shelf_wait(struct shelf *shelf, const char *url);

/* ---- name.c ---------------------------------------------------------- */

/* What a listing tells of a path that is not the root. Where none is at hand
 * the store is asked for this name alone. */
int name_find(struct shelf *shelf, const char *path,
	      struct shelf_stat *ret_stat, char *why);

/* ---- lent.c ---------------------------------------------------------- */

/* The opened object of a path that is still the same, with a reference; NULL
 * where there is none; *ret_other: it was another. since_ms as for
 * object_check; 0 or -EINTR. */
int lent_find(struct shelf *shelf, const char *path, int64_t since_ms,
	      struct lent **ret_lent, bool *ret_other);
void lent_release(struct shelf *shelf);

#endif
