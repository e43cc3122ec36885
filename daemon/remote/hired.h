/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hired.h - a process that runs one command line for another one, which is to
 * be in a sandbox and can start none by then. Who asks decides nothing but
 * when: the line is that of the beginning.
 */
#ifndef BFS_DAEMON_REMOTE_HIRED_H
#define BFS_DAEMON_REMOTE_HIRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Its name in the table of processes. */
#define HIRED_NAME "bloscfs-keys"

struct hired {
	int end;		/* to it; -1: nobody */
	uint64_t last;		/* question */
};

/* Forks it, from a process of one thread; it lives until the end is closed, and
 * kills what it runs then. 0 or -errno. */
int hired_start(const char *line, struct hired *hired);
/* As command_run (command.h), by that process. One call at a time. */
int hired_run(struct hired *hired, uint64_t limit_ms,
	      bool (*stopped)(void *arg), void *arg, char *buf, size_t cap,
	      size_t *ret_len, const char **ret_why);

#endif
