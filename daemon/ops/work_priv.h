/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work_priv.h - the state of work.h; for work.c, interrupts.c and threads.c.
 */
#ifndef BFS_DAEMON_OPS_WORK_PRIV_H
#define BFS_DAEMON_OPS_WORK_PRIV_H

#include "invariant.h"
#include "ops/parked.h"
#include "ops/work.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* What one worker may do for a request that has a permit. */
#define QUICK_LEN (8u << 20)
#define QUICK_MS 20
#define MAX_SLOW 32

struct work {
	pthread_mutex_t lock;		/* guards all below */
	/* Something to do for a thread of a stage, or the end. */
	pthread_cond_t come[SLOW + 1];
	struct parking parking;
	struct costs costs;
	uint64_t next_number;
	unsigned n_quick;		/* permits in use */
	unsigned max_quick;
	unsigned share;			/* slow threads of one container */
	unsigned n_threads;		/* the first is the patient one */
	pthread_t threads[1 + MAX_SLOW];
	bool watched;			/* interrupts_watch looks again */
	int began;			/* eventfd: it is to begin that */
	bool ending;
	atomic_uint n_cancelled;	/* that wait */
	struct work_counts counts;
};

static inline uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The calling thread's own. */
struct bloscfs_call *work_call(void);
/* With the lock held: it waits for a thread of that stage, or a permit. */
void work_enter_stage(struct work *work, struct parked *p, enum stage stage);
/* With the lock held: it waits no longer. */
static inline void work_end_wait(struct work *work, const struct parked *p)
{
	INVARIANT(work->counts.n_waiting > 0 && !p->call);
	work->counts.n_waiting--;
	if (p->cancelled) {
		unsigned n = atomic_fetch_sub(&work->n_cancelled, 1);

		INVARIANT(n > 0);
	}
}

/* With the lock held: what a container's request took. */
void work_add_cost(struct work *work, const void *container, uint64_t ns);

#endif
