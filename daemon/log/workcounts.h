/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * workcounts.h - what ops/work.h counts.
 */
#ifndef BFS_DAEMON_LOG_WORKCOUNTS_H
#define BFS_DAEMON_LOG_WORKCOUNTS_H

#include <stdint.h>

struct work_counts {
	uint64_t n_slow;	/* requests that went to the slow threads */
	uint64_t n_waiting;	/* now, for a permit or a thread */
	uint64_t n_interrupted;	/* that waited, or were at such a thread */
};

#endif
