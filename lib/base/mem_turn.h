/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mem_turn.h - a call that finds the memory budget in use waits for those
 * that hold it.
 *
 * A turn is one piece of work by one thread from nothing held to nothing
 * held: a call of the public interface. Where a charge is refused for the
 * budget, the work fails with NOMEM and gives all back that it took; then
 * bfs_turn_again waits, reserves what the work proved to need, and tells the
 * caller to do it anew. Who waits holds nothing, so nobody waits in a circle.
 *
 * Those that wait are served in the order in which they came, in two queues:
 * work that needs little never waits behind, nor for, what needs much, since
 * room is kept for it (mem.c). Charges above a small part of the budget are
 * refused to others while much is waited for; smaller ones pass. LIMIT is only
 * for what does not fit when nobody else holds any.
 */
#ifndef BFS_BASE_MEM_TURN_H
#define BFS_BASE_MEM_TURN_H

#include "base/assert.h"
#include "base/call.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Private. The caller keeps it in one place from begin to end. */
struct bfs_turn {
	struct bfs_turn *outer;	/* of the same thread */
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
	unsigned n_left;	/* turns that were left and are not ended */
};

#ifdef __GNUC__
__attribute__((tls_model("initial-exec")))
#endif
extern _Thread_local struct bfs_turn_thread bfs_turn_thread;

/* Turns that are not waiting, by the parity of the epoch they began in; and
 * how many wait. */
extern struct bfs_turn_counts {
	_Atomic uint32_t n_running[2];
	_Atomic unsigned epoch;
	_Atomic uint32_t n_waiting;
} bfs_turn_counts;

/* Out of line: what the calls below do when memory is scarce. */
void bfs_turn_wake(void);
void bfs_turn_drop_reserve(struct bfs_turn *turn);
bool bfs_turn_wait(struct bfs_turn *turn, enum bfs_err *err,
		   struct bfs_diag *diag);

static inline void bfs_turn_run(struct bfs_turn *turn)
{
	turn->epoch = atomic_load_explicit(&bfs_turn_counts.epoch,
					   memory_order_relaxed) & 1;
	atomic_fetch_add(&bfs_turn_counts.n_running[turn->epoch], 1);
}

/* The thread's work begins. A turn inside another one of its thread, and one
 * of a thread that holds the memory of an earlier turn (bfs_turn_leave),
 * never waits. may_wait false: nor does this one. */
static inline void bfs_turn_begin(struct bfs_turn *turn, bool may_wait)
{
	struct bfs_turn_thread *own = &bfs_turn_thread;

	turn->outer = own->now;
	turn->ticket = turn->need = turn->reserved = 0;
	turn->held = turn->peak = 0;
	turn->short_len = 0;
	turn->spent = bfs_call_spent();
	turn->may_wait = may_wait && !own->now && !own->n_left;
	own->now = turn;
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
	bfs_turn_thread.n_left++;
}

/* Ends the turn when all is given back, with or without bfs_turn_leave before.
 * By the thread that began it. */
static inline void bfs_turn_end(struct bfs_turn *turn)
{
	struct bfs_turn_thread *own = &bfs_turn_thread;

	if (own->now == turn)
		own->now = turn->outer;
	else if (own->n_left)
		own->n_left--;
	if (BFS_UNLIKELY(turn->need))
		bfs_turn_drop_reserve(turn);
	BFS_ASSERT(atomic_load(&bfs_turn_counts.n_running[turn->epoch]) > 0);
	atomic_fetch_sub(&bfs_turn_counts.n_running[turn->epoch], 1);
	if (BFS_UNLIKELY(atomic_load(&bfs_turn_counts.n_waiting)))
		bfs_turn_wake();
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
void bfs_turn_add_spare(struct bfs_turn_spare *spare);
void bfs_turn_remove_spare(struct bfs_turn_spare *spare);

struct bfs_turn_stats {
	uint64_t n_waits;	/* turns that had to wait */
	uint64_t n_refused;	/* that can never fit */
	uint32_t n_waiting;	/* now */
};
void bfs_turn_get_stats(struct bfs_turn_stats *ret_stats);

/* For mem.c. Charges len for this thread: from what is reserved for it, the
 * rest from the budget by `charge`. */
bool bfs_turn_charge(uint64_t len, bool (*charge)(uint64_t len, uint64_t all,
						  bool passes));
/* Gives len back; how much of it goes back to the budget. */
uint64_t bfs_turn_credit(uint64_t len);

#endif
