/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * held.h - folders of a shelf that were listed, kept while they are used.
 */
#ifndef BFS_DAEMON_REMOTE_HELD_H
#define BFS_DAEMON_REMOTE_HELD_H

#include "remote/shelf_priv.h"

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
	uint64_t state;			/* of what its first page tells */
	uint64_t charged;		/* bytes of memory that count */
	int64_t since_ms;		/* when it was begun */
	int64_t paged_ms;		/* when the last page came */
	unsigned refs;			/* who looks at it */
	struct held *newer, *older;
};

/* All below with the shelf's lock held. */

/* The folder of a path, with a reference; make: a new one where there is
 * none; or NULL. anew: not one that is too old, unless somebody is in the
 * midst of it: such a listing goes on to its end. */
struct held *held_take(struct shelf *shelf, const char *path, bool make,
		       bool anew);
void held_let_go(struct shelf *shelf, struct held *held);
bool held_is_fresh(const struct shelf *shelf, const struct held *held);
/* Listings of a folder, and of those in it, are believed no more. */
void held_outdate(struct shelf *shelf, const char *path);
/* Whether nobody is in the midst of it. */
bool held_is_idle(const struct held *held);
/* Charges what its names take by now, up to a quarter of what there is, as
 * with those that the kernel remembers: they are needed all the same. */
void held_count(struct shelf *shelf, struct held *held);
void held_tell(const struct folder_entry *entry,
	       struct shelf_stat *ret_stat);

#endif
