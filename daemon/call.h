/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call.h - the context (bloscfs_call_start) that a worker answers requests in,
 * known to all that work for a request. A thread without one is never stopped.
 */
#ifndef BFS_DAEMON_CALL_H
#define BFS_DAEMON_CALL_H

#include "bloscfs.h"

/* The calling thread's from now on; NULL: none. It stays the caller's. */
void call_use(struct bloscfs_call *call);
/* Whether what this thread was told by the library for its request does not
 * count: it was stopped, and must not be answered. */
bool call_is_void(void);

/* For a source that waits for a server (a number; 0: no matter which one):
 * whether this thread may. If not, what
 * it is at is void from now on, and to be begun anew where it may. */
bool call_may_wait(uint64_t server);
/* Whether it may, from now on. Threads without a context always may. */
void call_let_wait(bool may);
/* Whether it was left since then because it may not, and for which server. */
bool call_must_wait(void);
uint64_t call_awaited(void);

#endif
