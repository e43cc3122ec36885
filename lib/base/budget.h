/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * budget.h - memory budgets: a limit, what is charged to it, and who waits for
 * some of it. Each instance has one, and what belongs to no instance is
 * charged to that of the process. mem.h charges what it allocates to the
 * budget that its thread works for; mem_turn.h waits where it is in use.
 *
 * Budgets live as long as the process: memory knows which one it was charged
 * to, and may be given back later than the instance is. One whose instance is
 * gone serves another when nothing is charged to it any more.
 */
#ifndef BFS_BASE_BUDGET_H
#define BFS_BASE_BUDGET_H

#include "base/compiler.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct bfs_turn_spare;
struct bfs_waiter;

/* What finds room beside the largest, and what does not (mem_turn.h). */
enum bfs_turn_queue {
	BFS_TURN_LITTLE,
	BFS_TURN_MUCH,
	BFS_N_TURN_QUEUES,
};

struct bfs_budget {
	_Atomic uint64_t limit_len;	/* 0: none */
	_Atomic uint64_t used_len;
	_Atomic uint64_t beside_len;	/* of that, what others hold */

	/* Called by who is about to wait, with what he needs, and without a
	 * lock; or NULL. Set before there are turns. */
	void (*want)(void *arg, uint64_t len);
	void *want_arg;

	/* The rest is mem_turn.c's. Turns that are not waiting, by the parity
	 * of the epoch they began in; and how many wait. */
	_Atomic uint32_t n_running[2];
	_Atomic unsigned epoch;
	_Atomic uint32_t n_waiting;
	_Atomic uint64_t first_ticket;	/* of MUCH; 0: nobody waits for it */
	_Atomic uint64_t n_waits, n_refused;

	/* Guards the rest; held while spares are called, too. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct bfs_waiter *queues[BFS_N_TURN_QUEUES];	/* by ticket */
	uint64_t last_ticket;
	struct bfs_turn_spare *spares;
	/* All that ran when a grace began have ended, while others began:
	 * these are counted under the other parity. */
	struct {
		unsigned since;
		bool began;
		uint64_t n_ended;
	} graces;

	/* For budget.c. */
	struct bfs_budget *next;
	bool is_free;			/* no instance has it */
};

/* Of what belongs to no instance; without a limit but in tests. */
extern struct bfs_budget bfs_process_budget;

/* One without a limit; NULL: no memory. */
struct bfs_budget *bfs_budget_new(void) BFS_MUST_CHECK;
/* No turn runs in it. What is still charged is given back later. */
void bfs_budget_retire(struct bfs_budget *budget);

/* The most that may be held at once, in bytes; 0 = no bound. */
void bfs_budget_set_limit(struct bfs_budget *budget, uint64_t len);
uint64_t bfs_budget_limit(const struct bfs_budget *budget);
/* What is held now, in bytes; what is reserved counts. */
uint64_t bfs_budget_used(const struct bfs_budget *budget);
/* The same of all budgets together. */
uint64_t bfs_mem_used(void);

/* What the program around the library holds for it: counts as used, up to a
 * quarter of the limit, and as far as long charges leave any of it just now.
 * len: all of it, in place of what was said last; by one thread at a time. */
void bfs_budget_set_beside(struct bfs_budget *budget, uint64_t len);

/* Charges len bytes that somebody could do without: false where long charges
 * would find no room any more, or anybody waits. Given back as below. */
bool bfs_budget_charge_extra(struct bfs_budget *budget,
			     uint64_t len) BFS_MUST_CHECK;
/* Whether nothing of the kind would be had now. */
bool bfs_budget_is_tight(const struct bfs_budget *budget);

/* For mem_turn.c: takes at least `least` and at most `most` bytes of the
 * budget without allocating; how many, or 0. Then gives some back. */
uint64_t bfs_budget_reserve(struct bfs_budget *budget, uint64_t least,
			    uint64_t most) BFS_MUST_CHECK;
/* How much more would have to be free for len bytes. */
uint64_t bfs_budget_missing(const struct bfs_budget *budget, uint64_t len);
/* Whether all that a piece of work needs is so little that it finds room
 * beside the largest. */
bool bfs_budget_is_little(const struct bfs_budget *budget, uint64_t len);
/* Whether one piece of len bytes can never be had. */
bool bfs_budget_is_too_much(const struct bfs_budget *budget, uint64_t len);

/* Charges len of the `all` bytes that one allocation is. passes: nobody who
 * came before is waiting. Then gives back, or adds what malloc gave beyond
 * what was asked for. */
bool bfs_budget_charge(struct bfs_budget *budget, uint64_t len, uint64_t all,
		       bool passes);
void bfs_budget_give_back(struct bfs_budget *budget, uint64_t len);
void bfs_budget_add(struct bfs_budget *budget, uint64_t len);

#endif
