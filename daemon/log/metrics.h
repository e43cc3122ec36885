/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metrics.h - numbers of a mount as OpenMetrics text.
 */
#ifndef BFS_DAEMON_LOG_METRICS_H
#define BFS_DAEMON_LOG_METRICS_H

#include "bloscfs.h"
#include "log/counters.h"
#include "log/faults.h"
#include "log/workcounts.h"
#include "remote/diskcache.h"
#include "remote/transport.h"

#include <stdint.h>
#include <stdio.h>

struct metrics {
	struct counts counts;
	struct fault_counts faults;
	struct bloscfs_stats stats;
	struct work_counts work;
	struct transport_counts net;
	uint64_t net_retries;
	struct diskcache_counts disk;
	uint64_t containers_open;
	uint64_t containers_idle;	/* of those that are open */
	uint64_t nodes;		/* names that the kernel remembers */
	uint64_t sources;
	uint64_t sources_lost;	/* of several, removed or replaced */
	int64_t started;	/* seconds since 1970 */
};

/* OpenMetrics 1.0: each family's metadata, then its samples; "# EOF" last. */
void metrics_write(FILE *out, const struct metrics *metrics);

/* The most telling of them as one line of words, without a line end. */
void metrics_write_line(FILE *out, const struct metrics *metrics);

#endif
