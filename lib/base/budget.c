/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * budget.c - how much memory may be held, who may charge how much of it, and
 * how much is.
 */
#include "base/budget.h"

#include "base/assert.h"

#include <stdatomic.h>

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

static _Atomic uint64_t limit_len;	/* 0: none */
static _Atomic uint64_t used_len;
static _Atomic uint64_t beside_len;	/* of that, what others hold */

static uint64_t get_limit(void)
{
	return atomic_load_explicit(&limit_len, memory_order_relaxed);
}

static uint64_t part_of(uint64_t limit, unsigned part, uint64_t most)
{
	return limit / part < most ? limit / part : most;
}

/* From this length on a charge waits behind the calls that wait already. */
static uint64_t get_bar(void)
{
	uint64_t len = part_of(get_limit(), BAR_PART, MAX_BAR);

	return len < SHORT_LEN ? SHORT_LEN : len;
}

static uint64_t get_room(void)
{
	return part_of(get_limit(), ROOM_PART, MAX_ROOM);
}

/* What work that needs little may charge. */
static uint64_t little_limit(void)
{
	uint64_t limit = get_limit();

	return limit ? limit - part_of(limit, SHORT_PART, MAX_SHORT) :
		       UINT64_MAX;
}

static uint64_t long_limit(void)
{
	uint64_t limit = get_limit();

	return limit ? limit - get_room() : UINT64_MAX;
}

/* Long charges leave room for shorter ones, so that small blocks can be
 * decoded beside the largest; these for names and plans. */
static uint64_t limit_for(uint64_t len)
{
	if (len >= get_bar())
		return long_limit();
	return len < SHORT_LEN && get_limit() ? get_limit() : little_limit();
}

bool bfs_mem_is_little(uint64_t len)
{
	return len <= get_room() / 2;
}

bool bfs_mem_is_too_much(uint64_t len)
{
	return !bfs_mem_is_little(len) && len > long_limit();
}

static uint64_t limit_of_work(uint64_t need)
{
	return bfs_mem_is_little(need) ? little_limit() : long_limit();
}

/* Charges as much of `most` as there is below the limit; 0 if that is less
 * than `least`. */
static uint64_t charge_some(uint64_t least, uint64_t most, uint64_t limit)
{
	uint64_t used = atomic_load_explicit(&used_len, memory_order_relaxed);
	uint64_t len;

	do {
		len = used < limit ? limit - used : 0;
		if (len > most)
			len = most;
		if (len < least)
			return 0;
	} while (!atomic_compare_exchange_weak_explicit(&used_len, &used,
							used + len,
							memory_order_relaxed,
							memory_order_relaxed));
	return len;
}

/* len of `all` bytes. passes: nobody who came before is waiting, so the charge
 * need not wait. */
bool bfs_budget_charge(uint64_t len, uint64_t all, bool passes)
{
	if (!passes && all >= get_bar())
		return false;
	return charge_some(len, len, limit_for(all)) == len;
}

/* More cannot be given back than was charged. */
void bfs_budget_give_back(uint64_t len)
{
	uint64_t used = atomic_fetch_sub_explicit(&used_len, len,
						  memory_order_relaxed);

	BFS_ASSERT(used >= len);
	(void)used;
}

void bfs_budget_add(uint64_t len)
{
	atomic_fetch_add_explicit(&used_len, len, memory_order_relaxed);
}

uint64_t bfs_mem_reserve(uint64_t least, uint64_t most)
{
	return charge_some(least, most, limit_of_work(most));
}

void bfs_mem_unreserve(uint64_t len)
{
	bfs_budget_give_back(len);
}

uint64_t bfs_mem_missing(uint64_t len)
{
	uint64_t limit = limit_of_work(len), used = bfs_mem_used();
	uint64_t left = used < limit ? limit - used : 0;

	return len > left ? len - left : 0;
}

void bfs_mem_set_limit(uint64_t len)
{
	atomic_store_explicit(&limit_len, len, memory_order_relaxed);
}

uint64_t bfs_mem_limit(void)
{
	return get_limit();
}

uint64_t bfs_mem_used(void)
{
	return atomic_load_explicit(&used_len, memory_order_relaxed);
}

void bfs_mem_set_beside(uint64_t len)
{
	uint64_t most = get_limit() / BESIDE_PART;
	uint64_t before = atomic_load(&beside_len);

	if (len > most)
		len = most;
	if (len < before)
		bfs_mem_unreserve(before - len);
	else if (len > before)
		len = before + charge_some(1, len - before, long_limit());
	atomic_store(&beside_len, len);
}
