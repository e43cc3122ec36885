/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interrupts.h - requests that nobody wants any more: told so by the kernel,
 * or found out.
 */
#ifndef BFS_DAEMON_OPS_INTERRUPTS_H
#define BFS_DAEMON_OPS_INTERRUPTS_H

#include "daemon.h"

/* For libfuse; data is the task's number. */
void interrupts_hear(fuse_req_t req, void *data);

/* Answers those that were interrupted while they waited. After each request
 * that a worker took. */
void interrupts_sweep(struct daemon *daemon);
/* The kernel sends read-ahead for nobody in particular, and tells of no
 * interrupt: ends what was asked for by threads that are gone. True: to be
 * called again in INTERRUPTS_WATCH_MS; else when the descriptor is readable. */
bool interrupts_watch(struct daemon *daemon);
int interrupts_watch_fd(const struct daemon *daemon);
#define INTERRUPTS_WATCH_MS 500

#endif
