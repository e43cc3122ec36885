/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hosts.h - what is known of each server: scheme, name and port. Shared by all
 * requests to it, and never forgotten; any number of threads.
 */
#ifndef BFS_DAEMON_REMOTE_HOSTS_H
#define BFS_DAEMON_REMOTE_HOSTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define N_HOSTS 512	/* more share rows */

struct host {
	_Atomic uint64_t key;	/* another server: another number; 0: free */
	/* Until when nothing is asked of it, and since when that is so; of
	 * CLOCK_MONOTONIC, in ms. */
	_Atomic int64_t until_ms, since_ms;
	atomic_uint n_refusals;	/* one after another */
	_Atomic long status;	/* ... the last one's, of HTTP */
	/* Its clock is ahead of ours (remote_now_ms) by this at least; 0: not
	 * known. */
	_Atomic int64_t ahead_ms;
	atomic_bool hangs;	/* it fell silent since the mount is to end */
};

struct hosts {
	struct host rows[N_HOSTS];
	atomic_uint n;
};

/* The server of an address; never NULL. */
struct host *hosts_find(struct hosts *hosts, const char *url);
/* To tell servers apart; 0 where there is only one. */
uint64_t hosts_number(const struct hosts *hosts, const struct host *host);

/* It has too much to do, says the answer to a request that began then (429,
 * 503): all requests pause, for as long as it asks for, within reason, else
 * for longer each time. */
void host_slow_down(struct host *host, int64_t begin_ms, long status,
		    uint64_t asked_ms);
/* It answered such a request. */
void host_answers(struct host *host, int64_t begin_ms);
/* It dated an answer that has come just now. */
void host_tells_date(struct host *host, int64_t date);
/* Whether a date of its clock may lie behind a moment of ours. */
bool host_is_since(const struct host *host, int64_t date, int64_t since_ms);
/* How long a request waits from now on, in ms: what waits is spread over some
 * more time than the pause. */
uint64_t host_pause(const struct host *host);

/* A number at random below n > 0; other machines draw others. */
uint64_t hosts_draw(uint64_t n);

#endif
