/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mem_turn.c - turns: who runs, who waits, and what is reserved for whom.
 *
 * The first in each queue goes on as soon as what it needs is free, or when
 * those that ran before it came first have ended: then with all there is. If
 * that is not enough either, it can never fit.
 */
#include "base/mem_turn.h"

#include "base/budget.h"
#include "base/bytes.h"
#include "base/call.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* How often all calls that ran before must have ended until the first in a
 * queue gives up: others may take small pieces between. */
#define MAX_GRACES 3
/* A refusal tells only the least that is missing. */
#define LEAST_STEP (UINT64_C(64) << 10)
/* How often to look whether the call was cancelled, or memory is free that
 * nobody told of. */
#define LOOK_NS 20000000

struct bfs_waiter {
	struct bfs_turn *turn;
	struct bfs_waiter *next;
};

_Thread_local struct bfs_turn_thread bfs_turn_thread = {
	.budget = &bfs_process_budget,
};

/* What was reserved and not used is everybody's again. */
void bfs_turn_drop_reserve(struct bfs_turn *t)
{
	bfs_budget_give_back(t->budget, t->reserved);
	t->reserved = 0;
	t->need = 0;
}

void bfs_turn_wake(struct bfs_budget *b)
{
	pthread_mutex_lock(&b->lock);
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

/* Charges, by any thread at any time. */

/* The thread's turn, if it works for that budget. */
static struct bfs_turn *find_turn(const struct bfs_budget *b)
{
	struct bfs_turn *t = bfs_turn_thread.now;

	return t && t->budget == b ? t : NULL;
}

bool bfs_turn_charge(uint64_t len)
{
	struct bfs_budget *b = bfs_budget_now();
	struct bfs_turn *t = find_turn(b);
	uint64_t first = atomic_load_explicit(&b->first_ticket,
					      memory_order_relaxed);
	uint64_t own;

	if (!t)
		return bfs_budget_charge(b, len, len, !first);
	own = len < t->reserved ? len : t->reserved;
	if (len > own &&
	    !bfs_budget_charge(b, len - own, len, !first ||
			       (t->ticket && t->ticket < first))) {
		t->short_len = (size_t)len;
		return false;
	}
	BFS_ASSERT(t->reserved <= t->need);
	t->reserved -= own;
	t->held += (int64_t)len;
	if (t->held > t->peak)
		t->peak = t->held;
	return true;
}

/* How much of len that a turn gives back stays reserved for it, as the first
 * of its queue. */
static uint64_t keep_reserved(struct bfs_turn *t, uint64_t len)
{
	int64_t room;

	t->held -= (int64_t)len;
	if (!t->need)
		return 0;
	room = (int64_t)(t->need - t->reserved) - (t->held > 0 ? t->held : 0);
	if (room <= 0)
		return 0;
	if ((uint64_t)room > len)
		room = (int64_t)len;
	t->reserved += (uint64_t)room;
	BFS_ASSERT(t->reserved <= t->need);
	return (uint64_t)room;
}

void bfs_turn_credit(struct bfs_budget *b, uint64_t len)
{
	struct bfs_turn *t = find_turn(b);

	if (t)
		len -= keep_reserved(t, len);
	bfs_budget_give_back(b, len);
}

/* Waiting, with the lock held. */

static void show_first(struct bfs_budget *b)
{
	const struct bfs_waiter *first = b->queues[BFS_TURN_MUCH];

	atomic_store(&b->first_ticket, first ? first->turn->ticket : 0);
}

static void enqueue(struct bfs_waiter *w, enum bfs_turn_queue queue)
{
	struct bfs_budget *b = w->turn->budget;
	struct bfs_waiter **at = &b->queues[queue];

	BFS_ASSERT_HELD(&b->lock);
	if (!w->turn->ticket)
		w->turn->ticket = ++b->last_ticket;
	while (*at && (*at)->turn->ticket < w->turn->ticket)
		at = &(*at)->next;
	w->next = *at;
	*at = w;
	atomic_fetch_add(&b->n_waiting, 1);
	show_first(b);
}

static void dequeue(struct bfs_waiter *w, enum bfs_turn_queue queue)
{
	struct bfs_budget *b = w->turn->budget;
	struct bfs_waiter **at = &b->queues[queue];

	BFS_ASSERT_HELD(&b->lock);
	while (*at != w) {
		BFS_ASSERT(*at);
		at = &(*at)->next;
	}
	*at = w->next;
	atomic_fetch_sub(&b->n_waiting, 1);
	show_first(b);
	pthread_cond_broadcast(&b->changed);
}

static void wait_for_change(struct bfs_budget *b)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += LOOK_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&b->changed, &b->lock, &until);
}

/* Asks for unused memory, as much as is missing. Under the lock, so that no
 * spare is removed while it is called. */
static void give_back(struct bfs_budget *b, uint64_t need)
{
	uint64_t missing = bfs_budget_missing(b, need);
	struct bfs_turn_spare *spare;

	BFS_ASSERT_HELD(&b->lock);
	for (spare = b->spares; spare && missing; spare = spare->next) {
		spare->give_back(spare->arg, missing);
		missing = bfs_budget_missing(b, need);
	}
}

/* What the work held when it was refused more: the least that it needs. */
static uint64_t find_least(const struct bfs_turn *t)
{
	return (uint64_t)(t->peak > 0 ? t->peak : 0) + t->short_len;
}

/* What to reserve for the next try: more than for the last. */
static uint64_t find_need(const struct bfs_turn *t)
{
	return bfs_max(find_least(t),
		       t->need + bfs_max(t->need / 4, LEAST_STEP));
}

static bool is_drained(struct bfs_budget *b, unsigned parity)
{
	return atomic_load(&b->n_running[parity & 1]) == 0;
}

static void watch_graces(struct bfs_budget *b)
{
	if (!b->graces.began) {
		b->graces.since = atomic_load(&b->epoch);
		if (!is_drained(b, b->graces.since + 1))
			return;
		atomic_store(&b->epoch, b->graces.since + 1);
		b->graces.began = true;
	}
	if (is_drained(b, b->graces.since)) {
		b->graces.n_ended++;
		b->graces.began = false;
	}
}

/* The first in a queue: waits until `need` is reserved, or as much as there
 * is when nobody else has any. 0: that is no more than `had`. */
static uint64_t reserve(struct bfs_budget *b, uint64_t need, uint64_t had)
{
	/* One may be under way, and says nothing of its beginning. */
	uint64_t last = b->graces.n_ended + b->graces.began + MAX_GRACES;

	for (;;) {
		give_back(b, need);
		if (bfs_budget_reserve(b, need, need))
			return need;
		watch_graces(b);
		if ((is_drained(b, 0) && is_drained(b, 1)) ||
		    b->graces.n_ended >= last) {
			give_back(b, need);
			return bfs_budget_reserve(b, had + 1, need);
		}
		if (bfs_call_check(NULL) != BFS_OK)
			return 0;
		wait_for_change(b);
	}
}

static uint64_t wait_in_queue(struct bfs_turn *t, uint64_t need, uint64_t had)
{
	struct bfs_budget *b = t->budget;
	enum bfs_turn_queue queue = bfs_budget_is_little(b, need) ?
				    BFS_TURN_LITTLE : BFS_TURN_MUCH;
	struct bfs_waiter w = { .turn = t };
	uint64_t got = 0;

	pthread_mutex_lock(&b->lock);
	atomic_fetch_sub(&b->n_running[t->epoch], 1);
	enqueue(&w, queue);
	while (b->queues[queue] != &w && bfs_call_check(NULL) == BFS_OK)
		wait_for_change(b);
	if (b->queues[queue] == &w)
		got = reserve(b, need, had);
	bfs_turn_run(t);
	dequeue(&w, queue);
	pthread_mutex_unlock(&b->lock);
	return got;
}

static enum bfs_err refuse(struct bfs_budget *b, uint64_t least,
			   struct bfs_diag *diag)
{
	atomic_fetch_add(&b->n_refused, 1);
	return bfs_fail(diag, BFS_ERR_LIMIT, 0,
			"at least %" PRIu64 " bytes of memory needed at once "
			"where max_memory is %" PRIu64 " and %" PRIu64
			" are held by what is open", least,
			bfs_budget_limit(b), bfs_budget_used(b));
}

bool bfs_turn_wait(struct bfs_turn *t, enum bfs_err *err,
		   struct bfs_diag *diag)
{
	struct bfs_budget *b = t->budget;
	uint64_t need, least, had = t->need;
	enum bfs_err stopped;

	if (*err == BFS_OK || !t->may_wait)
		return false;
	least = find_least(t);
	need = find_need(t);
	if (bfs_budget_is_too_much(b, t->short_len)) {
		*err = refuse(b, least, diag);
		return false;
	}
	stopped = bfs_call_may_wait(bfs_budget_is_little(b, need), diag);
	if (stopped != BFS_OK) {
		*err = stopped;
		return false;
	}
	bfs_turn_drop_reserve(t);
	t->held = 0;
	t->peak = 0;
	t->short_len = 0;
	if (!t->ticket)
		atomic_fetch_add(&b->n_waits, 1);
	if (b->want)
		b->want(b->want_arg, need);
	t->need = wait_in_queue(t, need, had);
	t->reserved = t->need;
	if (t->need) {
		bfs_call_unspend(t->spent);
		return true;
	}
	stopped = bfs_call_check(diag);
	*err = stopped != BFS_OK ? stopped : refuse(b, least, diag);
	return false;
}

void bfs_turn_add_spare(struct bfs_budget *b, struct bfs_turn_spare *spare)
{
	pthread_mutex_lock(&b->lock);
	spare->next = b->spares;
	b->spares = spare;
	pthread_mutex_unlock(&b->lock);
}

void bfs_turn_remove_spare(struct bfs_budget *b, struct bfs_turn_spare *spare)
{
	struct bfs_turn_spare **at = &b->spares;

	pthread_mutex_lock(&b->lock);
	while (*at && *at != spare)
		at = &(*at)->next;
	if (*at)
		*at = spare->next;
	pthread_mutex_unlock(&b->lock);
}

void bfs_turn_get_stats(struct bfs_budget *b,
			struct bfs_turn_stats *ret_stats)
{
	*ret_stats = (struct bfs_turn_stats){
		.n_waits = atomic_load(&b->n_waits),
		.n_refused = atomic_load(&b->n_refused),
		.n_waiting = atomic_load(&b->n_waiting),
	};
}
