/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * workers.h - the threads of --check, and what each takes up next.
 */
#ifndef BFS_DAEMON_CHECK_WORKERS_H
#define BFS_DAEMON_CHECK_WORKERS_H

#include "check/parts.h"

unsigned check_workers_choose(const struct opts *opts);
/* Starts n_workers threads, or as many as there can be; n_workers and n_alive
 * are that then. With the lock held, so that none of them begins before all are
 * counted. */
void check_workers_start(struct check *check, struct check_worker *workers);
/* Of one whose thread has ended. */
void check_worker_release(struct check_worker *worker);

#endif
