/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log.h - one line per event, to stderr, a file or syslog.
 *
 * Faults of the source are told once each and counted after that; the counts
 * are told when the log is closed. All calls may run at once.
 */
#ifndef BFS_DAEMON_LOG_LOG_H
#define BFS_DAEMON_LOG_LOG_H

#include "bloscfs.h"

#include <stdbool.h>
#include <stddef.h>

enum log_level {
	LEVEL_ERR,
	LEVEL_WARN,
	LEVEL_NOTICE,
	LEVEL_INFO,
	LEVEL_DEBUG,
};

enum log_target {
	LOG_TO_STDERR,
	LOG_TO_FILE,
	LOG_TO_SYSLOG,
	LOG_TO_OTHER,
};

/* "err", "warn", "notice", "info" or "debug"; false for other words. */
bool log_level_parse(const char *text, enum log_level *ret_level);

/* "warn" */
const char *log_level_name(enum log_level level);
void log_set_level(enum log_level level);
/* path is for LOG_TO_FILE, which is appended to; its lines begin with the time
 * (UTC) and the process. 0 or -errno. */
int log_open(enum log_target target, const char *path);
/* Hands each line to a function, which says whether it took it; it is not
 * called twice at once, and logs nothing itself. */
void log_open_other(bool (*take)(enum log_level level, const char *text));
enum log_target log_where(void);
/* Lost lines are told on stderr by the other process that writes this log, and
 * not by this one. */
void log_leave_losses(void);
/* Opens the file of LOG_TO_FILE anew by its path, which may name another file
 * by now; where that fails, the old one is kept. 0 or -errno. */
int log_reopen(const char *path);
/* A descriptor of that file, to be closed, or -errno. */
int log_copy_fd(void);
/* Goes on there, instead of the file of LOG_TO_FILE; takes it. */
void log_use_fd(int fd);
/* Tells what was counted, and closes. */
void log_close(void);

void log_msg(enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* "err: 'path': what failed, EIO: reason". path and what may hold any bytes;
 * error is an errno (0: no consequence to tell). The same fault of the same
 * path is told once. */
void log_fault(enum log_level level, const char *path, const char *what,
	       int error, const struct bloscfs_diag *why);

/* Puts text into quotes, with control bytes, quotes and backslashes spelt
 * out; cut to cap bytes. Returns buf. */
char *log_quote(char *buf, size_t cap, const char *text);

#endif
