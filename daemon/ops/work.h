/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work.h - who works on which request, how much, and until when.
 *
 * Workers take requests from the kernel. Each first has a glance: what is
 * decoded already, or costs next to nothing, is answered at once. What takes
 * more needs one of as many permits as there are threads to decode; so there
 * are always workers left for names and attributes. What turns out to take
 * much more is left to threads of its own and lower priority, of which one
 * container has at most half. Who finds no permit or thread waits in a queue,
 * and no worker with him.
 *
 * A request is done again from its beginning at each of these stages. The
 * kernel's interrupts end what waits, and what such a thread is at.
 */
#ifndef BFS_DAEMON_OPS_WORK_H
#define BFS_DAEMON_OPS_WORK_H

#include "call.h"
#include "daemon.h"
#include "log/workcounts.h"
#include "ops/task.h"

/* What each worker needs: 0 or -ENOMEM. */
int work_thread_init(struct daemon *daemon);
void work_thread_release(void);
/* Sees to it that the request is answered, now or later. */
void work_do(struct daemon *daemon, struct task *task);

void work_count(const struct daemon *daemon, struct work_counts *ret_counts);

#endif
