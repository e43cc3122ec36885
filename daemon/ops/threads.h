/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * threads.h - the threads of later stages (work.h): those that take their
 * time, and the one that waits for little memory.
 */
#ifndef BFS_DAEMON_OPS_THREADS_H
#define BFS_DAEMON_OPS_THREADS_H

#include "daemon.h"

/* 0 or -errno. The slow threads start here: after the daemon has forked. */
int threads_start(struct daemon *daemon);
/* Cancels and answers what is left and ends the threads. False where one does
 * not end in wait_ms, unless that is 0. */
bool threads_stop(struct daemon *daemon, unsigned wait_ms);

#endif
