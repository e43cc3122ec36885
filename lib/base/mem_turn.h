/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mem_turn.h - a call that finds the memory budget in use waits for those
 * that hold it.
 *
 * A turn is one piece of work by one thread, for one budget, from nothing held
 * to nothing held: a call of the public interface. Where a charge is refused
 * for the budget, the work fails with NOMEM and gives all back that it took;
 * then bfs_turn_again waits, reserves what the work proved to need, and tells
 * the caller to do it anew. Who waits holds nothing, so nobody waits in a
 * circle.
 *
 * Those that wait are served in the order in which they came, in two queues:
 * work that needs little never waits behind, nor for, what needs much, since
 * room is kept for it (budget.c). Charges above a small part of the budget are
 * refused to others while much is waited for; smaller ones pass. LIMIT is only
 * for what does not fit when nobody else holds any.
 */
#ifndef BFS_BASE_MEM_TURN_H
#define BFS_BASE_MEM_TURN_H

#include "base/assert.h"
#include "base/budget.h"
#include "base/call.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Private. The caller keeps it in one place from begin to end. */
struct bfs_turn {
	struct bfs_budget *budget;
	struct bfs_turn *outer;	/* of the same thread */
	struct bfs_budget *before;	/* the thread's, when it began */
	uint64_t ticket;	/* order of waiting; 0: has not waited */
	uint64_t need;		/* bytes that were reserved for it */
	uint64_t reserved;	/* of these, not charged yet: <= need */
	int64_t held;		/* charged less given back, by the thread */
	int64_t peak;		/* the most of that */
	size_t short_len;	/* the charge that was refused; 0: none */
	uint64_t spent;		/* of the thread's call, when it began */
	unsigned epoch;
	bool may_wait;
};

/* What a thread is in the middle of. */
struct bfs_turn_thread {
	struct bfs_turn *now;
	struct bfs_budget *budget;	/* that it charges */
	unsigned n_left;	/* turns that were left and are not ended */
};

#ifdef __GNUC__
__attribute__((tls_model("initial-exec")))
#endif
extern _Thread_local struct bfs_turn_thread bfs_turn_thread;

/* The budget that this thread charges: its instance's within a call, else that
 * of the process. */
static inline struct bfs_budget *bfs_budget_now(void)
{
	return bfs_turn_thread.budget;
}

/* For work that is no turn, since it does not wait: the thread charges budget
 * from here on; returns what was there before, to be put back. */
static inline struct bfs_budget *bfs_budget_enter(struct bfs_budget *budget)
{
	struct bfs_budget *before = bfs_turn_thread.budget;

	bfs_turn_thread.budget = budget;
	return before;
}

static inline void bfs_budget_leavep(struct bfs_budget **before)
{
	bfs_turn_thread.budget = *before;
}

/* Among declarations: the same until the block ends. */
#define BFS_CHARGE_TO(to) \
	BFS_CLEANUP(bfs_budget_leavep) BFS_UNUSED \
	struct bfs_budget *charged_before = \
		bfs_budget_enter(to)

/* Out of line: what the calls below do when memory is scarce. */
void bfs_turn_wake(struct bfs_budget *budget);
void bfs_turn_drop_reserve(struct bfs_turn *turn);
bool bfs_turn_wait(struct bfs_turn *turn, enum bfs_err *err,
		   struct bfs_diag *diag);

static inline void bfs_turn_run(struct bfs_turn *turn)
{
	struct bfs_budget *budget = turn->budget;

	turn->epoch = atomic_load_explicit(&budget->epoch,
					   memory_order_relaxed) & 1;
	atomic_fetch_add(&budget->n_running[turn->epoch], 1);
}

/* The thread's work for a budget begins. A turn inside another one of its
 * thread, and one of a thread that holds the memory of an earlier turn
 * (bfs_turn_leave), of whichever budget, never waits. may_wait false: nor does
 * this one. */
static inline void bfs_turn_begin(struct bfs_turn *turn,
				  struct bfs_budget *budget, bool may_wait)
{
	struct bfs_turn_thread *own = &bfs_turn_thread;

	turn->budget = budget;
	turn->outer = own->now;
	turn->before = own->budget;
	turn->ticket = turn->need = turn->reserved = 0;
	turn->held = turn->peak = 0;
	turn->short_len = 0;
	turn->spent = bfs_call_spent();
	turn->may_wait = may_wait && !own->now && !own->n_left;
	own->now = turn;
	own->budget = budget;
	bfs_turn_run(turn);
}

/* After the work, and with all given back if it failed: whether to do it
 * again. Else *err is what it is, or LIMIT and diag filled where the work can
 * never fit. Waits as long as it takes, or until the thread's call is stopped
 * (call.h). */
static inline bool bfs_turn_again(struct bfs_turn *turn, enum bfs_err *err,
				  struct bfs_diag *diag)
{
	return BFS_UNLIKELY(turn->short_len) && bfs_turn_wait(turn, err, diag);
}

/* The call returns, but what it took is held until bfs_turn_end. */
static inline void bfs_turn_leave(struct bfs_turn *turn)
{
	if (BFS_UNLIKELY(turn->need))
		bfs_turn_drop_reserve(turn);
	bfs_turn_thread.now = turn->outer;
	bfs_turn_thread.budget = turn->before;
	bfs_turn_thread.n_left++;
}

/* Ends the turn when all is given back, with or without bfs_turn_leave before.
 * By the thread that began it. */
static inline void bfs_turn_end(struct bfs_turn *turn)
{
	struct bfs_turn_thread *own = &bfs_turn_thread;
	struct bfs_budget *budget = turn->budget;

	if (own->now == turn) {
		own->now = turn->outer;
		own->budget = turn->before;
	} else if (own->n_left) {
		own->n_left--;
	}
	if (BFS_UNLIKELY(turn->need))
		bfs_turn_drop_reserve(turn);
	BFS_ASSERT(atomic_load(&budget->n_running[turn->epoch]) > 0);
	atomic_fetch_sub(&budget->n_running[turn->epoch], 1);
	if (BFS_UNLIKELY(atomic_load(&budget->n_waiting)))
		bfs_turn_wake(budget);
}

/* A way to give back `len` bytes that nobody uses at the moment. It is called
 * under the lock of the queue of waiting turns, so it must not begin or end a
 * turn; the locks that it takes must never be held where one is begun or ended.
 * The entry is the caller's and is used until it has been removed: the call
 * that removes it waits for a give_back that is running. */
struct bfs_turn_spare {
	void (*give_back)(void *arg, uint64_t len);
	void *arg;
	struct bfs_turn_spare *next;
};
void bfs_turn_add_spare(struct bfs_budget *budget,
			struct bfs_turn_spare *spare);
void bfs_turn_remove_spare(struct bfs_budget *budget,
			   struct bfs_turn_spare *spare);

struct bfs_turn_stats {
	uint64_t n_waits;	/* turns that had to wait */
	uint64_t n_refused;	/* that can never fit */
	uint32_t n_waiting;	/* now */
};
void bfs_turn_get_stats(struct bfs_budget *budget,
			struct bfs_turn_stats *ret_stats);

/* For mem.c. Charges len to the budget of this thread, from what is reserved
 * for it first. */
bool bfs_turn_charge(uint64_t len);
/* Gives back len that were charged to budget, by whatever thread. */
void bfs_turn_credit(struct bfs_budget *budget, uint64_t len);

#endif
