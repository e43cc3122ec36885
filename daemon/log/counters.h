/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counters.h - requests and bytes served, counted by each worker for itself.
 *
 * Counting is a plain load and store in the worker's own cache lines; a sum
 * may miss what is being counted at that moment, and never goes back.
 */
#ifndef BFS_DAEMON_LOG_COUNTERS_H
#define BFS_DAEMON_LOG_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

/* What the kernel asked for. */
enum request_kind {
	REQUEST_LOOKUP,
	REQUEST_FORGET,
	REQUEST_GETATTR,
	REQUEST_READLINK,
	REQUEST_OPEN,
	REQUEST_READ,
	REQUEST_LSEEK,
	REQUEST_RELEASE,
	REQUEST_OPENDIR,
	REQUEST_READDIR,
	REQUEST_RELEASEDIR,
	REQUEST_XATTR,
	REQUEST_STATFS,
	REQUEST_OTHER,
	N_REQUEST_KINDS
};

/* Where served bytes came from. */
enum served_from {
	SERVED_CONTAINER,	/* entries within containers */
	SERVED_PLAIN,		/* files of the source as they are */
	N_SERVED
};

struct counts {
	uint64_t requests[N_REQUEST_KINDS];
	uint64_t served[N_SERVED];	/* bytes */
};

/* Gives this thread counters of its own; threads without share some. */
void counters_thread_init(void);
/* Both are called before the answer, so that whoever has it finds it
 * counted. opcode is that of the kernel's protocol. */
void counters_request(uint32_t opcode);
void counters_served(enum served_from from, size_t len);

/* Sums over all threads, those that have ended too. */
void counters_sum(struct counts *ret_counts);
uint64_t counters_sum_requests(void);
/* "lookup" */
const char *counters_request_name(enum request_kind kind);

#endif
