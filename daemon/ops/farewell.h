/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * farewell.h - what the kernel lets go of: open files, and names. It says so
 * once and takes no error for an answer. libfuse needs memory to hear it; where
 * there is none it is heard here, as what is missed stays for good.
 */
#ifndef BFS_DAEMON_OPS_FAREWELL_H
#define BFS_DAEMON_OPS_FAREWELL_H

#include "daemon.h"

/* Before a thread gives libfuse a request. */
void farewell_expect(void);
/* By who answers one of these. */
void farewell_heard(void);
/* After it: does what libfuse should have had done. len: bytes of the request,
 * as the kernel wrote it. */
void farewell_settle(struct daemon *daemon, const void *request, size_t len);

#endif
