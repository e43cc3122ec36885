/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call.h - a call from outside: how much it may do, and a way out of it.
 *
 * A thread works for at most one call at a time; whatever reads, decodes,
 * gathers, walks or lists asks between its steps whether to go on. A call
 * that was stopped stays so: each further step fails with the same reason,
 * and what was found out in a stopped call is not kept by anybody, since it
 * may be wrong. A thread that works for no call is never stopped.
 */
#ifndef BFS_BASE_CALL_H
#define BFS_BASE_CALL_H

#include "base/assert.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What a call may wait for that others have. */
enum bfs_patience {
	BFS_WAITS,		/* any amount of memory */
	BFS_WAITS_FOR_LITTLE,	/* what is soon to be had (mem_turn.h) */
	BFS_WAITS_NEVER,
};

struct bfs_call {
	atomic_bool cancelled;		/* set by any thread */
	const atomic_bool *ends[2];	/* flags that cancel it, too; NULL */
	uint64_t limit;			/* bytes read and decoded; 0 = none */
	uint64_t cpu_limit_ns;		/* of its thread; 0 = none */
	uint64_t deadline_ns;		/* CLOCK_MONOTONIC; 0 = none */
	enum bfs_patience patience;
	/* The rest is the calling thread's own. */
	uint64_t spent;			/* bytes read and decoded */
	uint64_t blind;			/* bytes, since clocks were last read */
	uint64_t cpu_start_ns;
	struct bfs_diag why;		/* why.err: OK while not stopped */
	bool would_wait;		/* for memory: why it was stopped */
	uint64_t cancel_at;		/* for tests: the n-th check from now
					 * cancels; 0 = none */
};

/* The call that this thread works for, or NULL. */
#ifdef __GNUC__
__attribute__((tls_model("initial-exec")))
#endif
extern _Thread_local struct bfs_call *bfs_call_now;

/* A call without limits, not stopped. */
void bfs_call_init(struct bfs_call *call);
/* Forgets all and sets limits: bytes, milliseconds of the thread and of the
 * clock; each 0 for none. It waits for anything: patience is set afterwards. */
void bfs_call_start(struct bfs_call *call, uint64_t limit, uint64_t cpu_ms,
		    uint64_t wall_ms);
/* Makes it this thread's (NULL: none); returns what was there before. Its
 * clock runs from the first step on. */
struct bfs_call *bfs_call_enter(struct bfs_call *call);
/* Puts back what bfs_call_enter returned. */
void bfs_call_leave(struct bfs_call *before);

static inline bool bfs_call_is_cancelled(const struct bfs_call *call)
{
	return atomic_load_explicit(&call->cancelled, memory_order_relaxed) ||
	       (call->ends[0] && atomic_load_explicit(call->ends[0],
						memory_order_relaxed)) ||
	       (call->ends[1] && atomic_load_explicit(call->ends[1],
						memory_order_relaxed));
}

/* The reason why this thread's call was stopped; OK: it was not. diag is
 * filled then. */
enum bfs_err bfs_call_stopped(struct bfs_diag *diag) BFS_MUST_CHECK;

/* Out of line: what the two below do when there is a call. */
enum bfs_err bfs_call_check_now(struct bfs_diag *diag) BFS_MUST_CHECK;
enum bfs_err bfs_call_spend_now(uint64_t len, const char *deed,
				struct bfs_diag *diag) BFS_MUST_CHECK;

/* Between two steps: OK, or CANCELLED or TOO_MUCH. */
static inline enum bfs_err bfs_call_check(struct bfs_diag *diag)
{
	return BFS_LIKELY(!bfs_call_now) ? BFS_OK : bfs_call_check_now(diag);
}

/* The same before a step that reads or decodes len bytes: TOO_MUCH where the
 * call would exceed its limit by it. deed: "decoding" */
static inline enum bfs_err bfs_call_spend(uint64_t len, const char *deed,
					  struct bfs_diag *diag)
{
	return BFS_LIKELY(!bfs_call_now) ? BFS_OK :
	       bfs_call_spend_now(len, deed, diag);
}

/* For a step that itself waits for something: the same as bfs_call_check, with
 * a look at the clocks. */
enum bfs_err bfs_call_look(struct bfs_diag *diag) BFS_MUST_CHECK;

/* Whether a step of len bytes is within the limit. */
static inline bool bfs_call_affords(uint64_t len)
{
	const struct bfs_call *call = bfs_call_now;

	return BFS_LIKELY(!call || !call->limit) ||
	       (call->spent <= call->limit &&
		len <= call->limit - call->spent);
}

/* Before a thread waits for memory: TOO_MUCH where its call has not the
 * patience. little: it is soon to be had. */
enum bfs_err bfs_call_may_wait(bool little,
			       struct bfs_diag *diag) BFS_MUST_CHECK;

/* What the call has spent so far; and setting it back to that, before work is
 * done once more which failed through no fault of the call (it had to wait for
 * memory). */
static inline uint64_t bfs_call_spent(void)
{
	return bfs_call_now ? bfs_call_now->spent : 0;
}

static inline void bfs_call_unspend(uint64_t spent)
{
	BFS_ASSERT(!bfs_call_now || spent <= bfs_call_now->spent);
	if (bfs_call_now)
		bfs_call_now->spent = spent;
}

#endif
