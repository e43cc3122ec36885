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

struct waiter {
	struct bfs_turn *turn;
	struct waiter *next;
};

enum queue {
	LITTLE,		/* what finds room beside the largest */
	MUCH,
	N_QUEUES,
};

/* Guards the queues, the graces and the list of spares, while these are called,
 * too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct waiter *queues[N_QUEUES];	/* by ticket */
static uint64_t last_ticket;
static struct bfs_turn_spare *spares;
/* All that ran when a grace began have ended, while others began: these are
 * counted under the other parity. */
static struct {
	unsigned since;
	bool began;
	uint64_t n_ended;
} graces;

static _Atomic uint64_t first_ticket;	/* of MUCH; 0: nobody waits for it */
static _Atomic uint64_t n_waits, n_refused;

struct bfs_turn_counts bfs_turn_counts;
_Thread_local struct bfs_turn_thread bfs_turn_thread;

/* What was reserved and not used is everybody's again. */
void bfs_turn_drop_reserve(struct bfs_turn *t)
{
	bfs_mem_unreserve(t->reserved);
	t->reserved = 0;
	t->need = 0;
}

void bfs_turn_wake(void)
{
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* Charges, by any thread at any time. */

bool bfs_turn_charge(uint64_t len, bool (*charge)(uint64_t len, uint64_t all,
						  bool passes))
{
	struct bfs_turn *t = bfs_turn_thread.now;
	uint64_t first = atomic_load_explicit(&first_ticket,
					      memory_order_relaxed);
	uint64_t own;

	if (!t)
		return charge(len, len, !first);
	own = len < t->reserved ? len : t->reserved;
	if (len > own &&
	    !charge(len - own, len,
		    !first || (t->ticket && t->ticket < first))) {
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

/* What the first of the queue gives back stays reserved for it. */
uint64_t bfs_turn_credit(uint64_t len)
{
	struct bfs_turn *t = bfs_turn_thread.now;
	int64_t room;

	if (!t)
		return len;
	t->held -= (int64_t)len;
	if (!t->need)
		return len;
	room = (int64_t)(t->need - t->reserved) - (t->held > 0 ? t->held : 0);
	if (room <= 0)
		return len;
	if ((uint64_t)room > len)
		room = (int64_t)len;
	t->reserved += (uint64_t)room;
	BFS_ASSERT(t->reserved <= t->need);
	return len - (uint64_t)room;
}

/* Waiting, with the lock held. */

static void show_first(void)
{
	atomic_store(&first_ticket,
		     queues[MUCH] ? queues[MUCH]->turn->ticket : 0);
}

static void enqueue(struct waiter *w, enum queue queue)
{
	struct waiter **at = &queues[queue];

	BFS_ASSERT_HELD(&lock);
	if (!w->turn->ticket)
		w->turn->ticket = ++last_ticket;
	while (*at && (*at)->turn->ticket < w->turn->ticket)
		at = &(*at)->next;
	w->next = *at;
	*at = w;
	atomic_fetch_add(&bfs_turn_counts.n_waiting, 1);
	show_first();
}

static void dequeue(struct waiter *w, enum queue queue)
{
	struct waiter **at = &queues[queue];

	BFS_ASSERT_HELD(&lock);
	while (*at != w) {
		BFS_ASSERT(*at);
		at = &(*at)->next;
	}
	*at = w->next;
	atomic_fetch_sub(&bfs_turn_counts.n_waiting, 1);
	show_first();
	pthread_cond_broadcast(&changed);
}

static void wait_for_change(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += LOOK_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&changed, &lock, &until);
}

/* Asks for unused memory, as much as is missing. Under the lock, so that no
 * spare is removed while it is called. */
static void give_back(uint64_t need)
{
	uint64_t missing = bfs_mem_missing(need);
	struct bfs_turn_spare *spare;

	BFS_ASSERT_HELD(&lock);
	for (spare = spares; spare && missing; spare = spare->next) {
		spare->give_back(spare->arg, missing);
		missing = bfs_mem_missing(need);
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

static bool is_drained(unsigned parity)
{
	return atomic_load(&bfs_turn_counts.n_running[parity & 1]) == 0;
}

static void watch_graces(void)
{
	if (!graces.began) {
		graces.since = atomic_load(&bfs_turn_counts.epoch);
		if (!is_drained(graces.since + 1))
			return;
		atomic_store(&bfs_turn_counts.epoch, graces.since + 1);
		graces.began = true;
	}
	if (is_drained(graces.since)) {
		graces.n_ended++;
		graces.began = false;
	}
}

/* The first in a queue: waits until `need` is reserved, or as much as there
 * is when nobody else has any. 0: that is no more than `had`. */
static uint64_t reserve(uint64_t need, uint64_t had)
{
	/* One may be under way, and says nothing of its beginning. */
	uint64_t last = graces.n_ended + graces.began + MAX_GRACES;

	for (;;) {
		give_back(need);
		if (bfs_mem_reserve(need, need))
			return need;
		watch_graces();
		if ((is_drained(0) && is_drained(1)) ||
		    graces.n_ended >= last) {
			give_back(need);
			return bfs_mem_reserve(had + 1, need);
		}
		if (bfs_call_check(NULL) != BFS_OK)
			return 0;
		wait_for_change();
	}
}

static uint64_t wait_in_queue(struct bfs_turn *t, uint64_t need, uint64_t had)
{
	enum queue queue = bfs_mem_is_little(need) ? LITTLE : MUCH;
	struct waiter w = { .turn = t };
	uint64_t got = 0;

	pthread_mutex_lock(&lock);
	atomic_fetch_sub(&bfs_turn_counts.n_running[t->epoch], 1);
	enqueue(&w, queue);
	while (queues[queue] != &w && bfs_call_check(NULL) == BFS_OK)
		wait_for_change();
	if (queues[queue] == &w)
		got = reserve(need, had);
	bfs_turn_run(t);
	dequeue(&w, queue);
	pthread_mutex_unlock(&lock);
	return got;
}

static enum bfs_err refuse(uint64_t least, struct bfs_diag *diag)
{
	atomic_fetch_add(&n_refused, 1);
	return bfs_fail(diag, BFS_ERR_LIMIT, 0,
			"at least %" PRIu64 " bytes of memory needed at once "
			"where max_memory is %" PRIu64 " and %" PRIu64
			" are held by what is open", least,
			bfs_mem_limit(), bfs_mem_used());
}

bool bfs_turn_wait(struct bfs_turn *t, enum bfs_err *err,
		   struct bfs_diag *diag)
{
	uint64_t need, least, had = t->need;
	enum bfs_err stopped;

	if (*err == BFS_OK || !t->may_wait)
		return false;
	least = find_least(t);
	need = find_need(t);
	if (bfs_mem_is_too_much(t->short_len)) {
		*err = refuse(least, diag);
		return false;
	}
	stopped = bfs_call_may_wait(bfs_mem_is_little(need), diag);
	if (stopped != BFS_OK) {
		*err = stopped;
		return false;
	}
	bfs_turn_drop_reserve(t);
	t->held = 0;
	t->peak = 0;
	t->short_len = 0;
	if (!t->ticket)
		atomic_fetch_add(&n_waits, 1);
	t->need = wait_in_queue(t, need, had);
	t->reserved = t->need;
	if (t->need) {
		bfs_call_unspend(t->spent);
		return true;
	}
	stopped = bfs_call_check(diag);
	*err = stopped != BFS_OK ? stopped : refuse(least, diag);
	return false;
}

void bfs_turn_add_spare(struct bfs_turn_spare *spare)
{
	pthread_mutex_lock(&lock);
	spare->next = spares;
	spares = spare;
	pthread_mutex_unlock(&lock);
}

void bfs_turn_remove_spare(struct bfs_turn_spare *spare)
{
	struct bfs_turn_spare **at = &spares;

	pthread_mutex_lock(&lock);
	while (*at && *at != spare)
		at = &(*at)->next;
	if (*at)
		*at = spare->next;
	pthread_mutex_unlock(&lock);
}

void bfs_turn_get_stats(struct bfs_turn_stats *ret_stats)
{
	*ret_stats = (struct bfs_turn_stats){
		.n_waits = atomic_load(&n_waits),
		.n_refused = atomic_load(&n_refused),
		.n_waiting = atomic_load(&bfs_turn_counts.n_waiting),
	};
}
