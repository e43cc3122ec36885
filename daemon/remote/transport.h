/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport.h - ranges of bytes asked for over HTTP, many at once.
 *
 * One thread drives all connections (libcurl's multi interface); it starts
 * with the first request and holds no lock while it waits. Whoever asks owns
 * the buffer and has it back when the request is over, in whatever way.
 */
#ifndef BFS_DAEMON_REMOTE_TRANSPORT_H
#define BFS_DAEMON_REMOTE_TRANSPORT_H

#include "remote/hosts.h"
#include "remote/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRANSPORT_N_TOOK 17

struct transport;
struct job;

/* Counted since the start. */
struct transport_counts {
	uint64_t n_requests, n_failed, bytes;
	uint64_t n_cancelled;	/* nobody waited for them any more */
	uint64_t took_ms;	/* all of them together */
	uint64_t took[TRANSPORT_N_TOOK];	/* up to 2^i ms, or more */
};

/* NULL on no memory, or where libcurl cannot start. */
struct transport *transport_new(const struct transport_options *options);
/* No request may be under way. */
void transport_free(struct transport *transport);
/* Ends the thread and all connections, until the next request: before a
 * fork, of which threads are no part. */
void transport_rest(struct transport *transport);

/* Asks and waits. stopped is asked about every 50 ms, by the caller's own
 * thread; the request is given up when it says so. May be called from many
 * threads at once. */
void transport_ask(struct transport *transport,
		   const struct request *request, bool (*stopped)(void *arg),
		   void *arg, struct response *ret_response);
/* Asks without waiting: over is called by the transport's thread when the
 * request is done with, and may take locks that no caller holds while it
 * calls in here. The texts, the buffer and the response live until then. NULL:
 * it could not be started, and over is not called. */
struct job *transport_start(struct transport *transport,
			    const struct request *request,
			    struct response *response,
			    void (*over)(void *arg), void *arg);
/* Gives such a request up; over is called soon. Only before it was. */
void transport_cancel(struct transport *transport, struct job *job);
/* What is known of servers. */
struct hosts *transport_hosts(struct transport *transport);
/* From here on no server is waited for longer than a second, and one that was
 * silent for so long only for a moment. */
void transport_hurry(struct transport *transport);
void transport_count(struct transport *transport,
		     struct transport_counts *ret_counts);

#endif
