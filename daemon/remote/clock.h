/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.h - the time by which waits and ages are measured: in milliseconds, by
 * a clock that is never set.
 */
#ifndef BFS_DAEMON_REMOTE_CLOCK_H
#define BFS_DAEMON_REMOTE_CLOCK_H

#include <stdint.h>

int64_t remote_now_ms(void);

#endif
