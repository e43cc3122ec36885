/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pieces_priv.h - what pieces.c, ahead.c and fetch.c share. All of it with the
 * object's lock held, unless it says otherwise.
 */
#ifndef BFS_DAEMON_REMOTE_PIECES_PRIV_H
#define BFS_DAEMON_REMOTE_PIECES_PRIV_H

#include "remote/pieces.h"

#define MOST (UINT64_C(8) << 20)	/* of one request */
#define STRIDE (UINT64_C(1) << 20)	/* of one that is asked for ahead */

struct piece {
	struct object *object;
	uint64_t off, len;
	uint64_t charged;		/* bytes of memory */
	struct piece *newer, *older;
	unsigned refs;			/* who waits for it or copies it */
	bool loading, failed, stays;
	bool ahead;			/* asked for ahead, and not used yet */
	bool finished;			/* read to its end */
	bool sound;			/* what comes is of this very object */
	uint64_t got;			/* bytes that may be copied, loading */
	uint64_t needed;		/* some wait for so many; 0: for all */
	int64_t since_ms;
	struct job *job;		/* while it is asked for ahead */
	struct response response;
	char bytes[];
};

/* Where pieces may begin and end. No lock needed. */
uint64_t pieces_round_down(const struct object *o, uint64_t off);
uint64_t pieces_round_up(const struct object *o, uint64_t off);
/* NULL where there is no memory for it, or others need that. */
struct piece *pieces_add(struct object *o, uint64_t off, uint64_t len);
void pieces_drop(struct object *o, struct piece *p);
/* The piece that holds byte off, or the first that begins in [off, end). One
 * that failed is there for those who waited for it alone. */
struct piece *pieces_find(struct object *o, uint64_t off, uint64_t end);
/* For invariants: whether the list is whole, its sums are right, and what was
 * used or added last lies apart from all else. */
bool pieces_are_sound(const struct object *o);
/* From here on it is one of those that are kept for a while. */
void pieces_use(struct piece *p);
/* Of a piece that was loading: for others to take or to be gone. */
void pieces_settle(struct object *o, struct piece *p, bool good);
/* It was used just now. */
void pieces_touch(struct object *o, struct piece *p);
/* Drops what is kept beyond what may be. */
void pieces_trim(struct object *o);
/* request.progress of a piece's. Without the lock; by the transport's
 * thread. */
void pieces_come(void *arg, const struct response *r, uint64_t got);

/* ---- ahead.c --------------------------------------------------------- */

/* Notes a read, and asks ahead of who reads forwards; and for all of a small
 * object that is read here and there, where each wait is dear. */
void ahead_follow(struct object *o, uint64_t off, uint64_t len);
/* Whether the read that was followed last goes on with none before it. */
bool ahead_is_new(const struct object *o);
/* The disk cache had not what such a read wanted. */
void ahead_lacked(struct object *o);
/* How far it was asked for ahead, where somebody reads forwards; else 0. */
uint64_t ahead_asked(const struct object *o, uint64_t off);
/* Who read [off, end) wants it no more: what is on its way for him alone is
 * given up. */
void ahead_leave(struct object *o, uint64_t off, uint64_t end);

#endif
