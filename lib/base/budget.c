/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * budget.c - how much memory may be held, who may charge how much of it, and
 * how much is; which budgets there are.
 */
#include "base/budget.h"

#include "base/assert.h"

#include <stdatomic.h>
#include <stdlib.h>

/* A BAR_PART-th of the budget is long enough to wait behind the calls that wait
 * already. Charges of that length leave a ROOM_PART-th to others; a
 * SHORT_PART-th is left to those below SHORT_LEN. */
#define SHORT_LEN (UINT64_C(64) << 10)
#define BAR_PART 128
#define MAX_BAR (UINT64_C(4) << 20)
#define ROOM_PART 16
#define MAX_ROOM (UINT64_C(32) << 20)
#define SHORT_PART 64
#define MAX_SHORT (UINT64_C(4) << 20)
#define BESIDE_PART 4

struct bfs_budget bfs_process_budget = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bfs_budget *all = &bfs_process_budget;	/* guarded by it */

static struct bfs_budget *find_free(void)
{
	struct bfs_budget *b = all;

	while (b && !(b->is_free && !bfs_budget_used(b)))
		b = b->next;
	return b;
}

struct bfs_budget *bfs_budget_new(void)
{
	struct bfs_budget *b;

	pthread_mutex_lock(&lock);
	b = find_free();
	if (!b) {
		b = calloc(1, sizeof(*b));
		if (b) {
			pthread_mutex_init(&b->lock, NULL);
			pthread_cond_init(&b->changed, NULL);
			b->next = all;
			all = b;
		}
	}
	if (b) {
		atomic_store(&b->limit_len, 0);
		b->want = NULL;
		atomic_store(&b->n_waits, 0);
		atomic_store(&b->n_refused, 0);
		b->is_free = false;
	}
	pthread_mutex_unlock(&lock);
	return b;
}

void bfs_budget_retire(struct bfs_budget *b)
{
	bfs_budget_set_beside(b, 0);
	BFS_ASSERT(!b->spares && !atomic_load(&b->n_waiting));
	pthread_mutex_lock(&lock);
	b->is_free = true;
	pthread_mutex_unlock(&lock);
}

uint64_t bfs_mem_used(void)
{
	uint64_t sum = 0;

	pthread_mutex_lock(&lock);
	for (struct bfs_budget *b = all; b; b = b->next)
		sum += bfs_budget_used(b);
	pthread_mutex_unlock(&lock);
	return sum;
}

static uint64_t get_limit(const struct bfs_budget *b)
{
	return atomic_load_explicit(&b->limit_len, memory_order_relaxed);
}

static uint64_t part_of(uint64_t limit, unsigned part, uint64_t most)
{
	return limit / part < most ? limit / part : most;
}

/* From this length on a charge waits behind the calls that wait already. */
static uint64_t get_bar(const struct bfs_budget *b)
{
	uint64_t len = part_of(get_limit(b), BAR_PART, MAX_BAR);

	return len < SHORT_LEN ? SHORT_LEN : len;
}

static uint64_t get_room(const struct bfs_budget *b)
{
	return part_of(get_limit(b), ROOM_PART, MAX_ROOM);
}

/* What work that needs little may charge. */
static uint64_t little_limit(const struct bfs_budget *b)
{
	uint64_t limit = get_limit(b);

	return limit ? limit - part_of(limit, SHORT_PART, MAX_SHORT) :
		       UINT64_MAX;
}

static uint64_t long_limit(const struct bfs_budget *b)
{
	uint64_t limit = get_limit(b);

	return limit ? limit - get_room(b) : UINT64_MAX;
}

/* Long charges leave room for shorter ones, so that small blocks can be
 * decoded beside the largest; these for names and plans. */
static uint64_t limit_for(const struct bfs_budget *b, uint64_t len)
{
	if (len >= get_bar(b))
		return long_limit(b);
	return len < SHORT_LEN && get_limit(b) ? get_limit(b) : little_limit(b);
}

bool bfs_budget_is_little(const struct bfs_budget *b, uint64_t len)
{
	return len <= get_room(b) / 2;
}

bool bfs_budget_is_too_much(const struct bfs_budget *b, uint64_t len)
{
	return !bfs_budget_is_little(b, len) && len > long_limit(b);
}

static uint64_t limit_of_work(const struct bfs_budget *b, uint64_t need)
{
	return bfs_budget_is_little(b, need) ? little_limit(b) : long_limit(b);
}

/* Charges as much of `most` as there is below the limit; 0 if that is less
 * than `least`. */
static uint64_t charge_some(struct bfs_budget *b, uint64_t least, uint64_t most,
			    uint64_t limit)
{
	uint64_t used = bfs_budget_used(b), len;

	do {
		len = used < limit ? limit - used : 0;
		if (len > most)
			len = most;
		if (len < least)
			return 0;
	} while (!atomic_compare_exchange_weak_explicit(&b->used_len, &used,
							used + len,
							memory_order_relaxed,
							memory_order_relaxed));
	return len;
}

/* len of the `whole` bytes of one allocation. passes: nobody who came before
 * is waiting, so the charge need not wait. */
bool bfs_budget_charge(struct bfs_budget *b, uint64_t len, uint64_t whole,
		       bool passes)
{
	if (!passes && whole >= get_bar(b))
		return false;
	return charge_some(b, len, len, limit_for(b, whole)) == len;
}

bool bfs_budget_is_tight(const struct bfs_budget *b)
{
	return bfs_budget_used(b) >= long_limit(b) ||
	       atomic_load_explicit(&b->n_waiting, memory_order_relaxed);
}

bool bfs_budget_charge_extra(struct bfs_budget *b, uint64_t len)
{
	return !bfs_budget_is_tight(b) &&
	       charge_some(b, len, len, long_limit(b)) == len;
}

/* More cannot be given back than was charged. */
void bfs_budget_give_back(struct bfs_budget *b, uint64_t len)
{
	uint64_t used = atomic_fetch_sub_explicit(&b->used_len, len,
						  memory_order_relaxed);

	BFS_ASSERT(used >= len);
	(void)used;
}

void bfs_budget_add(struct bfs_budget *b, uint64_t len)
{
	atomic_fetch_add_explicit(&b->used_len, len, memory_order_relaxed);
}

uint64_t bfs_budget_reserve(struct bfs_budget *b, uint64_t least, uint64_t most)
{
	return charge_some(b, least, most, limit_of_work(b, most));
}

uint64_t bfs_budget_missing(const struct bfs_budget *b, uint64_t len)
{
	uint64_t limit = limit_of_work(b, len), used = bfs_budget_used(b);
	uint64_t left = used < limit ? limit - used : 0;

	return len > left ? len - left : 0;
}

void bfs_budget_set_limit(struct bfs_budget *b, uint64_t len)
{
	atomic_store_explicit(&b->limit_len, len, memory_order_relaxed);
}

uint64_t bfs_budget_limit(const struct bfs_budget *b)
{
	return get_limit(b);
}

uint64_t bfs_budget_used(const struct bfs_budget *b)
{
	return atomic_load_explicit(&b->used_len, memory_order_relaxed);
}

void bfs_budget_set_beside(struct bfs_budget *b, uint64_t len)
{
	uint64_t most = get_limit(b) / BESIDE_PART;
	uint64_t before = atomic_load(&b->beside_len);

	if (len > most)
		len = most;
	if (len < before)
		bfs_budget_give_back(b, before - len);
	else if (len > before)
		len = before + charge_some(b, 1, len - before, long_limit(b));
	atomic_store(&b->beside_len, len);
}
