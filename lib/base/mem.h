/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mem.h - all memory of the library: counted, bounded, and able to fail on
 * purpose.
 *
 * What is allocated is charged to the budget that the thread works for
 * (mem_turn.h: the instance's), and given back to that one, whoever frees it.
 * What a file claims reaches these calls only after its bytes back the claim;
 * the budget is the second line. Who waits for it, and how, is in mem_turn.h.
 */
#ifndef BFS_BASE_MEM_H
#define BFS_BASE_MEM_H

#include "base/budget.h"
#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Like malloc, calloc and realloc; NULL when memory or the budget is
 * exhausted. A size of 0 gives a block of 1 byte. Free with bfs_free. */
void *bfs_alloc(size_t len) BFS_MUST_CHECK;
void *bfs_zalloc(size_t n, size_t len) BFS_MUST_CHECK;
void *bfs_realloc(void *p, size_t len) BFS_MUST_CHECK;
void bfs_free(void *p);

/* A copy of len bytes with a NUL behind them, or NULL. */
char *bfs_memdup0(const void *p, size_t len) BFS_MUST_CHECK;

/* Page-aligned memory straight from the system (for block buffers), counted
 * in the same budget; its pages are touched already. len is given back to
 * bfs_unmap as it was asked for, and with it the budget that the thread
 * charged then (bfs_budget_now), since pages do not know it. */
void *bfs_map(size_t len) BFS_MUST_CHECK;
void bfs_unmap(void *p, size_t len, struct bfs_budget *budget);

/* The length of a page in bytes: a power of two. */
size_t bfs_page_len(void);

/* For tests: the n-th allocation from now fails (1 = the next); 0 = none. */
void bfs_mem_fail_at(uint64_t n);
/* For tests: pages are that long, a multiple of real ones; 0 = real ones.
 * Nothing may be mapped meanwhile. */
void bfs_mem_set_page_len(size_t len);

/* For BFS_CLEANUP on a pointer variable. */
static inline void bfs_freep(void *pp)
{
	bfs_free(*(void **)pp);
}

#endif
