/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parked.h - requests that wait, or that a thread of ours is at, and who of
 * them comes next.
 *
 * Each counts as though it had come later by what its container's requests
 * took lately: who costs much waits behind who costs little, but not for
 * ever. Nothing here locks.
 */
#ifndef BFS_DAEMON_OPS_PARKED_H
#define BFS_DAEMON_OPS_PARKED_H

#include "ops/task.h"

#define N_COSTS 256

enum stage {
	QUICK,		/* waits for a permit */
	PATIENT,	/* needs little, but memory for it must be waited for */
	SLOW,
};

struct parked {
	struct task task;
	struct parked *next;
	uint64_t number;
	uint64_t since_ns;		/* when it came */
	const void *container;		/* whose it is; never followed */
	uint64_t server;		/* that it waits for; 0: none */
	pid_t asker;			/* the thread that wants it; 0 */
	enum stage stage;
	bool ready;			/* to be taken */
	bool cancelled;
	struct bloscfs_call *call;	/* of the thread that is at it */
	char name[];
};

/* In the order of their coming. */
struct parking {
	struct parked *first, **last;
};

void parking_init(struct parking *parking);
void parking_append(struct parking *parking, struct parked *p);
void parking_take_out(struct parking *parking, struct parked *p);
/* NULL: there is none. */
struct parked *parking_find(const struct parking *parking, uint64_t number);
/* One that was cancelled while it waits; or NULL. */
struct parked *parking_find_cancelled(const struct parking *parking);
static inline bool parked_waits(const struct parked *p)
{
	return p->ready && !p->call;
}

/* What containers' requests took lately, in nanoseconds of computing: halved
 * each second. */
struct costs {
	struct cost {
		const void *container;
		uint64_t ns;
	} rows[N_COSTS];
	time_t halved;
};

/* now: seconds. */
void costs_add(struct costs *costs, const void *container, uint64_t ns,
	       time_t now);
uint64_t costs_of(const struct costs *costs, const void *container);

/* The next of a stage; or NULL. share: how many threads one container may have,
 * of n_threads. What waits for a server gets one as long as others that wait
 * for the same have fewer than are free: some are left, however many servers
 * hang. */
struct parked *parking_pick(const struct parking *parking, enum stage stage,
			    const struct costs *costs, unsigned share,
			    unsigned n_threads);

#endif
