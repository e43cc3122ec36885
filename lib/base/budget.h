/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * budget.h - the memory budget of the process: its limit, and what is charged
 * to it. mem.h charges what it allocates; mem_turn.h waits where it is in use.
 */
#ifndef BFS_BASE_BUDGET_H
#define BFS_BASE_BUDGET_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

/* The most that may be held at once, in bytes; 0 = no bound. */
void bfs_mem_set_limit(uint64_t len);
uint64_t bfs_mem_limit(void);
/* What is held now, in bytes; what is reserved counts. */
uint64_t bfs_mem_used(void);

/* What the program around the library holds for it: counts as used, up to a
 * quarter of the limit, and as far as long charges leave any of it just now.
 * len: all of it, in place of what was said last; by one thread at a time. */
void bfs_mem_set_beside(uint64_t len);

/* For mem_turn.c: takes at least `least` and at most `most` bytes of the
 * budget without allocating; how many, or 0. Then gives some back. */
uint64_t bfs_mem_reserve(uint64_t least, uint64_t most) BFS_MUST_CHECK;
void bfs_mem_unreserve(uint64_t len);
/* How much more would have to be free for len bytes. */
uint64_t bfs_mem_missing(uint64_t len);
/* Whether all that a piece of work needs is so little that it finds room
 * beside the largest. */
bool bfs_mem_is_little(uint64_t len);
/* Whether one piece of len bytes can never be had. */
bool bfs_mem_is_too_much(uint64_t len);

/* For mem.c: charges len of the `all` bytes that one allocation is. passes:
 * nobody who came before is waiting. Then gives back, or adds what malloc gave
 * beyond what was asked for. */
bool bfs_budget_charge(uint64_t len, uint64_t all, bool passes);
void bfs_budget_give_back(uint64_t len);
void bfs_budget_add(uint64_t len);

#endif
