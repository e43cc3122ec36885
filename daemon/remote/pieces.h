/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pieces.h - an object's bytes, as far as they are here or on their way.
 */
#ifndef BFS_DAEMON_REMOTE_PIECES_H
#define BFS_DAEMON_REMOTE_PIECES_H

#include "remote/diskcache.h"

#include <pthread.h>

struct piece;

#define N_STREAMS 8

/* Somebody who reads forwards, as far as that shows from here. */
struct stream {
	uint64_t end;			/* of what was read last */
	uint64_t asked;			/* how far it was asked for */
	unsigned steps;
};

struct object {
	struct identity id;
	struct disk_object disk;
	bool has_tail;			/* that is worth asking for */
	struct object *next, **at;	/* among those that are opened */

	pthread_mutex_t lock;		/* guards the pieces */
	pthread_cond_t arrived;		/* of any piece */
	struct piece *newest, *oldest;
	uint64_t held;			/* bytes of those that were used */
	unsigned n_loading;
	struct stream streams[N_STREAMS];	/* the newest first */
	unsigned n_jumps;		/* reads out of order that waited */
	int64_t jumped_ms;		/* when the last of them did */
	bool ending;			/* nothing more is asked for */
	bool whole;			/* all of it is fetched and kept */
	struct wave {			/* ... and how far that is */
		uint64_t to;		/* all before it was asked for */
		uint64_t len;		/* of the last one */
		int64_t since_ms, came_ms;	/* it was asked for; and came */
	} wave;
};

/* id and disk must not change any more once something is kept or read. */
void pieces_init(struct object *o);
/* Gives up what is under way. */
void pieces_release(struct object *o);
/* Keeps a copy of what is asked for often, as long as the object is open. On
 * no memory it is not kept. */
void pieces_keep(struct object *o, uint64_t off, uint64_t len,
		 const void *bytes);

/* Drops what nobody is reading, of all objects. */
void pieces_drop_idle(struct remote *remote);

/* As object_is_near. */
bool pieces_have(struct object *o, uint64_t off, uint64_t len);
/* As object_read and object_want. */
int pieces_read(struct object *o, void *buf, size_t len, uint64_t off,
		char *why);
void pieces_want(struct object *o, const struct extent *extents, size_t n);

#endif
