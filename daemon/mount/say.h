/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * say.h - the one sentence on stderr of a mount that cannot be made, and
 * silence from the one that was.
 */
#ifndef BFS_DAEMON_MOUNT_SAY_H
#define BFS_DAEMON_MOUNT_SAY_H

#include "check/info.h"

/* Returns code. */
enum exit_code say_failed(enum exit_code code, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Makes descriptors 0 to 2 lead to null, which is closed; a negative one is
 * opened first. */
void say_no_more(int null);

#define SAY_CAP 2048

#endif
