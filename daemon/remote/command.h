/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * command.h - a program that is run for what it prints. The one place where
 * this daemon starts another program on behalf of a server.
 */
#ifndef BFS_DAEMON_REMOTE_COMMAND_H
#define BFS_DAEMON_REMOTE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Runs a command line, cut into words as a shell's quotes have it but without
 * a shell, and takes what it prints, up to cap bytes; what it says on stderr is
 * dropped. It is killed after limit_ms, or when stopped (may be NULL) says so,
 * which is asked about every 50 ms. 0, or -errno with a reason in *ret_why
 * that repeats nothing of the line or of the output. */
int command_run(const char *line, uint64_t limit_ms,
		bool (*stopped)(void *arg), void *arg, char *buf, size_t cap,
		size_t *ret_len, const char **ret_why);
/* The reason that belongs to what command_run returns. */
const char *command_why(int status);

#endif
