/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mem.c - counted memory: malloc, realloc and anonymous pages, charged to
 * the budget (budget.c).
 *
 * A request is charged before it is made, so that threads together never
 * pass the limit by more than what malloc rounds up. What malloc really gave
 * (malloc_usable_size) is what counts afterwards, and free knows the same
 * figure. Which budget it was charged to stands before the memory.
 */
#include "base/mem.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem_turn.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_LEN ((size_t)2 << 20)

/* Before what the caller gets, and as aligned as that. */
struct head {
	_Alignas(max_align_t) struct bfs_budget *budget;
};

static _Atomic uint64_t fail_after;	/* 0: never */
static _Atomic size_t page_len;		/* 0: not asked for yet */

/* Whether the allocation that a test asked to fail is this one. */
static bool hits_planned_failure(void)
{
	uint64_t left = atomic_load_explicit(&fail_after, memory_order_relaxed);

	while (left) {
		if (atomic_compare_exchange_weak(&fail_after, &left, left - 1))
			return left == 1;
	}
	return false;
}

/* Also corrects a charge from what was asked to what was got. */
static void recharge(struct bfs_budget *budget, uint64_t from, uint64_t to)
{
	if (from > to)
		bfs_turn_credit(budget, from - to);
	else if (to > from)
		bfs_budget_add(budget, to - from);
}

/* The caller may report another error for it, so the want of memory is counted
 * here, as an error of the moment (moment.h). */
static void note_failure(uint64_t len)
{
	(void)bfs_fail(NULL, BFS_ERR_NOMEM, 0, "no memory for %" PRIu64
		       " bytes", len);
}

static bool begin(size_t len)
{
	if (!hits_planned_failure() && bfs_turn_charge(len))
		return true;
	note_failure(len);
	return false;
}

/* len with the head; false if that is no size. */
static bool add_head(size_t len, size_t *ret_len)
{
	return !__builtin_add_overflow(len + !len, sizeof(struct head),
				       ret_len);
}

/* What malloc gave for len bytes that were charged. */
static void *finish(struct head *head, size_t len)
{
	struct bfs_budget *budget = bfs_budget_now();

	recharge(budget, len, head ? malloc_usable_size(head) : 0);
	if (!head) {
		note_failure(len);
		return NULL;
	}
	head->budget = budget;
	return head + 1;
}

void *bfs_alloc(size_t len)
{
	size_t all;

	if (!add_head(len, &all) || !begin(all))
		return NULL;
	return finish(malloc(all), all);
}

void *bfs_zalloc(size_t n, size_t len)
{
	size_t all;

	if (__builtin_mul_overflow(n, len, &all) || !add_head(all, &all) ||
	    !begin(all))
		return NULL;
	return finish(calloc(1, all), all);
}

/* Who needs it now is charged for it. */
void *bfs_realloc(void *p, size_t len)
{
	struct bfs_budget *before;
	struct head *head;
	size_t had, all;

	if (!p)
		return bfs_alloc(len);
	if (!add_head(len, &all) || !begin(all))
		return NULL;
	head = (struct head *)p - 1;
	before = head->budget;
	had = malloc_usable_size(head);
	head = realloc(head, all);
	if (head)
		recharge(before, had, 0);
	return finish(head, all);
}

void bfs_free(void *p)
{
	struct head *head;

	if (!p)
		return;
	head = (struct head *)p - 1;
	recharge(head->budget, malloc_usable_size(head), 0);
	free(head);
}

char *bfs_memdup0(const void *p, size_t len)
{
	char *copy;

	if (len == SIZE_MAX)
		return NULL;
	copy = bfs_alloc(len + 1);
	if (!copy)
		return NULL;
	if (len)
		memcpy(copy, p, len);
	copy[len] = 0;
	return copy;
}

size_t bfs_page_len(void)
{
	size_t len = atomic_load_explicit(&page_len, memory_order_relaxed);

	if (!len) {
		len = (size_t)sysconf(_SC_PAGESIZE);
		bfs_mem_set_page_len(len);
	}
	return len;
}

/* len rounded up to pages, 0 if that is no size. */
static size_t round_to_pages(size_t len)
{
	size_t mask = bfs_page_len() - 1;

	len += !len;
	return len > (size_t)PTRDIFF_MAX - HUGE_LEN - mask ?
	       0 : (len + mask) & ~mask;
}

static void *map_pages(size_t len, int flags)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Fresh pages come one fault at a time unless asked for together; but not too
 * many at once: other threads that want pages or mappings wait meanwhile, and
 * ours may be one that gives way to all. */
static void touch_pages(uint8_t *p, size_t len)
{
	size_t off = 0;

#ifdef MADV_POPULATE_WRITE
	while (off < len && !madvise(p + off, len - off < HUGE_LEN ?
				     len - off : HUGE_LEN,
				     MADV_POPULATE_WRITE))
		off += HUGE_LEN;
	if (off >= len)
		return;
#endif
	for (off = 0; off < len; off += bfs_page_len())
		((volatile uint8_t *)p)[off] = 0;
}

/* Huge pages need their own alignment, which mmap does not promise: map more
 * and cut both ends off. */
static void *map_huge(size_t len)
{
	uint8_t *p = map_pages(len + HUGE_LEN, 0);
	size_t head;

	if (!p)
		return NULL;
	head = (size_t)-(uintptr_t)p & (HUGE_LEN - 1);
	if (head)
		munmap(p, head);
	p += head;
	munmap(p + len, HUGE_LEN - head);
#ifdef MADV_HUGEPAGE
	(void)madvise(p, len, MADV_HUGEPAGE);
#endif
	touch_pages(p, len);
	return p;
}

void *bfs_map(size_t len)
{
	size_t all = round_to_pages(len);
	void *p;

	if (!all || !begin(all))
		return NULL;
	p = all >= HUGE_LEN ? map_huge(all) : map_pages(all, MAP_POPULATE);
	if (!p) {
		recharge(bfs_budget_now(), all, 0);
		note_failure(all);
	}
	return p;
}

void bfs_unmap(void *p, size_t len, struct bfs_budget *budget)
{
	size_t all = round_to_pages(len);

	if (!p)
		return;
	munmap(p, all);
	recharge(budget, all, 0);
}

void bfs_mem_fail_at(uint64_t n)
{
	atomic_store(&fail_after, n);
}

void bfs_mem_set_page_len(size_t len)
{
	BFS_CHECK((len & (len - 1)) == 0);
	atomic_store_explicit(&page_len, len, memory_order_relaxed);
}
