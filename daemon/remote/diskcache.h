/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diskcache.h - what servers sent, kept in a folder of this machine for all
 * mounts of a user, now and later.
 *
 * It gives bytes or has none, and is never a reason to fail: what is damaged
 * is removed, and what cannot be written is not kept. One warning tells of
 * either. Bytes are verified each time they are read. A thread of its own
 * writes, from a queue of bounded length; what finds no room there is not
 * kept. It starts with the first piece.
 */
#ifndef BFS_DAEMON_REMOTE_DISKCACHE_H
#define BFS_DAEMON_REMOTE_DISKCACHE_H

#include "remote/ask.h"
#include "remote/stripe.h"

struct diskcache;

/* Counted since the start. */
struct diskcache_counts {
	uint64_t n_hits;	/* reads that it had bytes for */
	uint64_t n_misses;	/* and those that it had none for */
	uint64_t read, written;	/* bytes */
	uint64_t n_evicted;	/* files, removed to make room */
	uint64_t n_dropped;	/* pieces that were not written */
	uint64_t n_faults;	/* damaged files and failed calls */
};

/* An object as it lies there; cache is NULL where there is none. */
struct disk_object {
	struct diskcache *cache;
	struct disk_id id;
};

/* path is borrowed. 0; -EINVAL where the folder must not be used, with one
 * sentence in error. Where it cannot be used there is no cache (NULL), and a
 * warning. */
int diskcache_open(const char *path, uint64_t limit,
		   struct diskcache **ret_cache, char *error,
		   size_t error_cap);
/* What is queued counts against the max_memory of fs, which outlives the
 * cache; where it would be in the way, it is not kept. Before anything is. */
void diskcache_set_library(struct diskcache *cache, struct bloscfs *fs);
/* Writes what is left, for some seconds at most. */
void diskcache_close(struct diskcache *cache);
/* Ends the thread until the next piece, as above: before a fork. */
void diskcache_rest(struct diskcache *cache);

/* What the object of an address was when it was opened last; false where that
 * is not known. cache may be NULL. */
bool diskcache_recall(struct diskcache *cache, const char *url,
		      struct object_facts *ret_facts);
/* Remembers it. */
void diskcache_note(struct diskcache *cache, const char *url,
		    const struct object_facts *facts);
/* The object of an address with this identity. */
void diskcache_name(struct diskcache *cache, const char *url,
		    const struct object_facts *facts,
		    struct disk_object *ret_object);

/* All below: off lies where a cell begins; len ends with one, or with the
 * object; anything else is neither there nor kept. Without a cache nothing is
 * there. */

/* Reads what is there from off on, and tells how much: 0 to len. Where that
 * is nothing, *ret_lacking is how much is to be asked for. */
uint64_t diskcache_read(const struct disk_object *object, uint64_t off,
			uint64_t len, void *buf, uint64_t *ret_lacking);
/* How much is not there from off on, and how much is behind that, which will
 * be read soon. Together they are more than 0, and up to len. */
uint64_t diskcache_lacks(const struct disk_object *object, uint64_t off,
			 uint64_t len, uint64_t *ret_there);
/* Keeps a copy. Waits for nobody. */
void diskcache_keep(const struct disk_object *object, uint64_t off,
		    uint64_t len, const void *bytes);

void diskcache_count(struct diskcache *cache,
		     struct diskcache_counts *ret_counts);

#endif
