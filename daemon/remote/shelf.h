/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shelf.h - what SOURCE holds when it is on a server: one object, the objects
 * below a prefix of a bucket, or those of a catalog.
 *
 * Paths are those of the mount, without "." and ".."; "" is the root. All
 * calls but shelf_open and shelf_close may run at once. Failures are -errno
 * with the reason in why (REMOTE_WHY_CAP), which holds no secret: ENOENT,
 * EACCES, EIO, EINTR, ENOMEM, ESTALE. Nothing is remembered of them.
 */
#ifndef BFS_DAEMON_REMOTE_SHELF_H
#define BFS_DAEMON_REMOTE_SHELF_H

#include "remote/diskcache.h"
#include "remote/object.h"

struct shelf;

/* Texts are borrowed until shelf_close. */
struct shelf_options {
	uint64_t connect_ms, silence_ms, retry_ms;
	uint64_t whole_most;	/* as in struct remote */
	const char *ca_file;	/* NULL: the system's */
	const char *catalog;	/* a file; NULL: SOURCE is an address */
	bool no_sign;
	const char *disk_cache;	/* a folder; NULL: there is none */
	uint64_t disk_cache_size;
	/* As in struct remote. */
	bool (*may_wait)(uint64_t server);
	bool (*stopped)(void);
	void (*in_vain)(const char *url, const char *why, uint64_t seconds);
};

struct shelf_stat {
	bool is_folder;
	bool told;		/* a listing may not tell the rest */
	uint64_t size;
	uint64_t identity;	/* another number: another content */
	int64_t modified;	/* seconds since 1970; 0: not told */
	int64_t listed_ms;	/* of shelf_known: when the listing that tells
				 * it was begun (remote_now_ms); 0: none */
};

/* An object that is read, and stays the one that it was. */
struct lent;

/* Checks all that can be told without asking a server. 0, or -errno with one
 * sentence in error. */
int shelf_open(const char *source, const struct shelf_options *options,
	       struct shelf **ret_shelf, char *error, size_t error_cap);
/* Asks for what SOURCE names: one object, or the first names below a prefix.
 * A catalog's servers are asked when somebody looks. */
int shelf_probe(struct shelf *shelf, char *why);
/* What a user can do about such a failure. */
const char *shelf_advice(const struct shelf *shelf, int status);
/* Nothing taken from it may be left. */
void shelf_close(struct shelf *shelf);
/* Before a fork: threads and connections are made anew after it. */
void shelf_rest(struct shelf *shelf);
/* Before a sandbox: starts what runs programs for it (signer.h). */
int shelf_hire(struct shelf *shelf);
/* The mount is to end: no server is waited for any more, or not for long. */
void shelf_hurry(struct shelf *shelf);
/* What is held counts against the max_memory of fs, which outlives the shelf.
 * Before anything is taken from it. */
void shelf_set_library(struct shelf *shelf, struct bloscfs *fs);
/* How long an answer is believed. Before the mount serves. */
void shelf_set_fresh(struct shelf *shelf, double seconds);
/* The one object's name as a file's; NULL: it is a tree. */
const char *shelf_single(const struct shelf *shelf);

/* What lies at a path. */
int shelf_look(struct shelf *shelf, const char *path,
	       struct shelf_stat *ret_stat, char *why);
/* What the listings at hand tell of a path that is not the root, without
 * asking: 1, 0 where they do not, or -ENOENT. */
int shelf_known(struct shelf *shelf, const char *path,
		struct shelf_stat *ret_stat);
/* Entry i of a folder; -ENOENT behind the last. name takes NAME_MAX + 1. */
int shelf_list(struct shelf *shelf, const char *path, uint64_t i,
	       char *name, struct shelf_stat *ret_stat, char *why);

/* Asks for a folder's first page, unless one is at hand: of whatever age, or
 * with anew one that is still believed. A listing that somebody is in the
 * midst of goes on all the same. *ret_fresh: it is believed. */
int shelf_begin(struct shelf *shelf, const char *path, bool anew,
		bool *ret_fresh, char *why);
/* A number for what the first page of the listing at hand tells of objects:
 * another one where any of them is another. 0 where there is none. */
uint64_t shelf_state(struct shelf *shelf, const char *path);
/* Whether the listing of a folder that somebody is in the midst of shows a
 * name, whatever its age: 1, 0, or -1 where that is not known yet. */
int shelf_listed(struct shelf *shelf, const char *path, const char *name,
		 struct shelf_stat *ret_stat);

/* The object at a path as it is now, to be given back. has_tail as for
 * object_open, of what was not opened yet. */
int shelf_take(struct shelf *shelf, const char *path, bool has_tail,
	       struct lent **ret_lent, char *why);
/* The same, known to have been there at or after since_ms (remote_now_ms).
 * listed as for object_open. */
int shelf_take_since(struct shelf *shelf, const char *path, bool has_tail,
		     int64_t since_ms, uint64_t listed,
		     struct lent **ret_lent, char *why);
/* Whether it may have been written since (remote_now_ms), by the clock of its
 * server. */
bool shelf_is_newer(const struct lent *lent, int64_t since_ms);
void shelf_give(struct lent *lent);
struct object *shelf_object(const struct lent *lent);
void shelf_stat_of(const struct lent *lent, struct shelf_stat *ret_stat);

/* A container of many objects is a folder, whose turn is how often objects that
 * were read as its parts were found to be others. */
uint64_t shelf_turn(struct shelf *shelf, const char *path);
/* An opening begins, in that turn, which nothing but other objects end as long
 * as it lasts. 0 or -ENOMEM; after 0 it is to be left. */
int shelf_join(struct shelf *shelf, const char *path, uint64_t *ret_turn);
void shelf_leave(struct shelf *shelf, const char *path);
/* Whether listings told another identity of a part than it had: then they tell
 * no change. */
bool shelf_is_untold(struct shelf *shelf, const char *path);
/* One that is read now, in an opening of that turn, by its name below the
 * folder. 0, -ENOMEM, or -ESTALE where it, or another, was replaced since. */
int shelf_note_part(struct shelf *shelf, const char *path, const char *name,
		    const struct shelf_stat *stat, uint64_t turn);
/* Asks about all that were read since the turn began, unless that was done
 * lately: pages of the listing, or a request each where there is none. That
 * ends after about a second, and goes on another time; where the server has no
 * answer all stays as it is. state: shelf_state, of which another number is
 * another turn. must: about all, at once, and where the server has no answer it
 * fails with EIO. 0, -EINTR, -ENOMEM or -EIO. */
int shelf_check_parts(struct shelf *shelf, const char *path, uint64_t state,
		      bool must);

void shelf_count(struct shelf *shelf, struct transport_counts *ret_counts,
		 uint64_t *ret_retries);
/* All 0 where there is none. */
void shelf_count_disk(struct shelf *shelf,
		      struct diskcache_counts *ret_counts);

#endif
