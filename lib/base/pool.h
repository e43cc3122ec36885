/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool.h - worker threads for work that is worth a wake-up (decoding ahead).
 *
 * Threads start with the first job, not at creation, so that a pool made
 * before a fork works after it. Signals are blocked in every worker.
 */
#ifndef BFS_BASE_POOL_H
#define BFS_BASE_POOL_H

#include "base/err.h"

#include "base/cpus.h"

#include <stdbool.h>
#include <stddef.h>

struct bfs_pool;

/* n_threads 0: as many as CPUs that this process may use. */
enum bfs_err bfs_pool_new(unsigned n_threads, struct bfs_pool **ret_pool)
	BFS_MUST_CHECK;

/* Finishes what is queued, then ends the threads. NULL is fine. */
void bfs_pool_free(struct bfs_pool *pool);

/* Queues run(arg). False when the queue is full (its length is bounded) or
 * no thread could start: the caller then does without. */
bool bfs_pool_submit(struct bfs_pool *pool, void (*run)(void *arg), void *arg);

/* Waits until nothing is queued or running. */
void bfs_pool_wait(struct bfs_pool *pool);

#endif
