/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log.c - events become lines; faults are told once.
 *
 * One mutex guards all state; a line is written with one call. What was told
 * already is known to faults.c.
 */
#include "log/log.h"

#include "log/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define LINE_CAP 2048
#define QUOTE_CAP 1024
#define STAMP_CAP 48	/* a time, and the number of a process */

static struct {
	pthread_mutex_t lock;
	enum log_level level;
	enum log_target target;
	int fd;
	uint64_t n_lost;	/* lines, since one could be written */
	bool told_error;	/* that they are lost, and why */
	bool leaves_losses;	/* to another process to tell */
	bool cut;		/* the last one ends half-way */
	bool (*take)(enum log_level level, const char *text);
} state = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.level = LEVEL_NOTICE,
	.fd = STDERR_FILENO,
};

static const char *const level_names[] = {
	[LEVEL_ERR] = "err",
	[LEVEL_WARN] = "warn",
	[LEVEL_NOTICE] = "notice",
	[LEVEL_INFO] = "info",
	[LEVEL_DEBUG] = "debug",
};

static const int syslog_priorities[] = {
	[LEVEL_ERR] = LOG_ERR,
	[LEVEL_WARN] = LOG_WARNING,
	[LEVEL_NOTICE] = LOG_NOTICE,
	[LEVEL_INFO] = LOG_INFO,
	[LEVEL_DEBUG] = LOG_DEBUG,
};

bool log_level_parse(const char *text, enum log_level *ret_level)
{
	for (size_t i = 0; i < sizeof(level_names) / sizeof(char *); i++) {
		if (strcmp(text, level_names[i]) == 0) {
			*ret_level = (enum log_level)i;
			return true;
		}
	}
	return false;
}

const char *log_level_name(enum log_level level)
{
	return level_names[level];
}

void log_set_level(enum log_level level)
{
	pthread_mutex_lock(&state.lock);
	state.level = level;
	pthread_mutex_unlock(&state.lock);
}

/* A FIFO is opened for reading as well: so it takes lines while it has room,
 * whether somebody reads by now or not. */
static int open_file(const char *path)
{
	const int flags = O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd = open(path, flags | O_WRONLY | O_CREAT, 0644);

	if (fd < 0 && errno == ENXIO)
		fd = open(path, flags | O_RDWR);
	return fd < 0 ? -errno : fd;
}

int log_open(enum log_target target, const char *path)
{
	int fd = STDERR_FILENO;

	if (target == LOG_TO_FILE) {
		fd = open_file(path);
		if (fd < 0)
			return fd;
	} else if (target == LOG_TO_SYSLOG) {
		openlog("bloscfs", LOG_PID, LOG_DAEMON);
	}
	pthread_mutex_lock(&state.lock);
	if (state.target == LOG_TO_FILE)
		close(state.fd);
	state.target = target;
	state.fd = fd;
	state.n_lost = 0;
	state.told_error = false;
	pthread_mutex_unlock(&state.lock);
	return 0;
}

void log_open_other(bool (*take)(enum log_level level, const char *text))
{
	pthread_mutex_lock(&state.lock);
	if (state.target == LOG_TO_FILE)
		close(state.fd);
	state.target = LOG_TO_OTHER;
	state.fd = STDERR_FILENO;
	state.take = take;
	pthread_mutex_unlock(&state.lock);
}

void log_leave_losses(void)
{
	pthread_mutex_lock(&state.lock);
	state.leaves_losses = true;
	pthread_mutex_unlock(&state.lock);
}

enum log_target log_where(void)
{
	enum log_target target;

	pthread_mutex_lock(&state.lock);
	target = state.target;
	pthread_mutex_unlock(&state.lock);
	return target;
}

int log_reopen(const char *path)
{
	int fd = open_file(path);

	if (fd < 0)
		return fd;
	log_use_fd(fd);
	return 0;
}

int log_copy_fd(void)
{
	int fd;

	pthread_mutex_lock(&state.lock);
	fd = fcntl(state.fd, F_DUPFD_CLOEXEC, 3);
	pthread_mutex_unlock(&state.lock);
	return fd < 0 ? -errno : fd;
}

void log_use_fd(int fd)
{
	pthread_mutex_lock(&state.lock);
	if (state.target == LOG_TO_FILE) {
		close(state.fd);
		state.fd = fd;
		state.told_error = false;
		state.cut = false;
	} else {
		close(fd);
	}
	pthread_mutex_unlock(&state.lock);
}

/* Whether a write would not wait. What cannot be told is taken for ready. */
static bool has_room(void)
{
	struct pollfd room = { .fd = state.fd, .events = POLLOUT };

	return poll(&room, 1, 0) != 0;
}

/* With the lock held: nobody waits for a log, a line that finds no room is
 * lost, and counted. */
static bool try_write(const char *bytes, size_t len)
{
	ssize_t done = -1;

	errno = EAGAIN;
	if (has_room())
		done = write(state.fd, bytes, len);
	if (done == (ssize_t)len)
		return true;
	state.n_lost++;
	state.cut |= done > 0;
	if (done < 0 && errno == EAGAIN)
		return false;
	/* Once: the next will fail just so. */
	if (!state.told_error && !state.leaves_losses &&
	    state.target == LOG_TO_FILE)
		fprintf(stderr, "bloscfs: lines of the log are lost: %s\n",
			done < 0 ? strerror(errno) : "there is no room");
	state.told_error = true;
	return false;
}

/* A file is read long afterwards, and may be that of several mounts. syslog,
 * and journald behind stderr, add both by themselves. */
static void stamp(char text[STAMP_CAP])
{
	time_t now = time(NULL);
	struct tm tm;
	size_t len = 0;

	text[0] = '\0';
	if (state.target == LOG_TO_FILE && gmtime_r(&now, &tm))
		len = strftime(text, STAMP_CAP, "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (len)
		snprintf(text + len, STAMP_CAP - len, " [%ld] ",
			 (long)getpid());
}

static void write_bytes(const char *bytes, size_t len)
{
	char lost[STAMP_CAP + 64], when[STAMP_CAP];
	int n;

	if (state.n_lost) {
		stamp(when);
		n = snprintf(lost, sizeof(lost), "%s%swarn: %llu lines lost\n",
			     state.cut ? "\n" : "", when,
			     (unsigned long long)state.n_lost);
		if (!try_write(lost, (size_t)n))
			return;
		state.n_lost = 0;
		state.cut = false;
	}
	try_write(bytes, len);
}

static void hand_over(enum log_level level, const char *text)
{
	char lost[64];

	if (state.n_lost) {
		snprintf(lost, sizeof(lost), "%llu lines lost",
			 (unsigned long long)state.n_lost);
		if (state.take(LEVEL_WARN, lost))
			state.n_lost = 0;
	}
	if (state.n_lost || !state.take(level, text))
		state.n_lost++;
}

/* With the lock held. text has no line end. */
static void write_line(enum log_level level, const char *text)
{
	char line[STAMP_CAP + LINE_CAP + 16], when[STAMP_CAP];
	int len;

	if (state.target == LOG_TO_SYSLOG) {
		syslog(syslog_priorities[level], "%s: %s", level_names[level],
		       text);
		return;
	}
	if (state.target == LOG_TO_OTHER) {
		hand_over(level, text);
		return;
	}
	stamp(when);
	len = snprintf(line, sizeof(line), "%s%s: %s\n", when,
		       level_names[level], text);
	if (len < 0)
		return;
	if ((size_t)len >= sizeof(line)) {
		len = (int)sizeof(line) - 1;
		line[len - 1] = '\n';
	}
	write_bytes(line, (size_t)len);
}

void log_msg(enum log_level level, const char *fmt, ...)
{
	char text[LINE_CAP];
	va_list args;

	pthread_mutex_lock(&state.lock);
	if (level <= state.level) {
		va_start(args, fmt);
		vsnprintf(text, sizeof(text), fmt, args);
		va_end(args);
		write_line(level, text);
	}
	pthread_mutex_unlock(&state.lock);
}

char *log_quote(char *buf, size_t cap, const char *text)
{
	size_t len = 0;

	buf[len++] = '\'';
	for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
		if (len + 7 > cap)
			break;
		if (*s == '\'' || *s == '\\') {
			buf[len++] = '\\';
			buf[len++] = (char)*s;
		} else if (*s < 0x20 || *s == 0x7f) {
			len += (size_t)snprintf(buf + len, 5, "\\x%02x", *s);
		} else {
			buf[len++] = (char)*s;
		}
	}
	buf[len++] = '\'';
	buf[len] = '\0';
	return buf;
}

static const char *errno_name(int error)
{
	static const struct {
		int error;
		const char *name;
	} names[] = {
		{ EACCES, "EACCES" }, { EBUSY, "EBUSY" },
		{ EINVAL, "EINVAL" }, { EIO, "EIO" },
		{ EISDIR, "EISDIR" }, { ELOOP, "ELOOP" },
		{ EMFILE, "EMFILE" }, { ENAMETOOLONG, "ENAMETOOLONG" },
		{ ENFILE, "ENFILE" }, { ENODEV, "ENODEV" },
		{ ENOENT, "ENOENT" }, { ENOMEM, "ENOMEM" },
		{ ENOTDIR, "ENOTDIR" }, { EOPNOTSUPP, "EOPNOTSUPP" },
		{ EPERM, "EPERM" }, { ESTALE, "ESTALE" },
		{ ENXIO, "ENXIO" }, { EROFS, "EROFS" },
		{ EFBIG, "EFBIG" }, { EOVERFLOW, "EOVERFLOW" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].error == error)
			return names[i].name;
	}
	return "an error";
}

static void reason_of(char *buf, size_t cap, const struct bloscfs_diag *why)
{
	const char *text = why->text[0] ? why->text :
			   bloscfs_err_name(why->err);

	if (why->chunk >= 0)
		snprintf(buf, cap, "chunk %lld: %s, offset %llu",
			 (long long)why->chunk, text,
			 (unsigned long long)why->off);
	else
		snprintf(buf, cap, "%s, offset %llu", text,
			 (unsigned long long)why->off);
}

void log_fault(enum log_level level, const char *path, const char *what,
	       int error, const struct bloscfs_diag *why)
{
	const struct fault fault = { path, what, error, why };
	char text[LINE_CAP], quoted[QUOTE_CAP], reason[320];
	bool told;

	pthread_mutex_lock(&state.lock);
	told = level <= state.level;
	if (faults_note(&fault, told) && told) {
		log_quote(quoted, sizeof(quoted), path);
		reason_of(reason, sizeof(reason), why);
		snprintf(text, sizeof(text), "%s: %s%s%s: %s", quoted, what,
			 error ? ", " : "",
			 error ? errno_name(error) : "", reason);
		write_line(level, text);
	}
	pthread_mutex_unlock(&state.lock);
}

/* With the lock held. */
static void tell_repeats(const char *path, uint64_t n_repeats)
{
	char text[LINE_CAP], quoted[QUOTE_CAP];

	if (state.level < LEVEL_NOTICE)
		return;
	snprintf(text, sizeof(text), "%s: a fault told above, %llu more times",
		 log_quote(quoted, sizeof(quoted), path),
		 (unsigned long long)n_repeats);
	write_line(LEVEL_NOTICE, text);
}

/* With the lock held. */
static void sum_up(void)
{
	uint64_t n_untold = faults_sum_up(tell_repeats);
	char text[LINE_CAP];

	if (n_untold == 0 || state.level < LEVEL_NOTICE)
		return;
	snprintf(text, sizeof(text), "%llu further faults, not told one by "
		 "one", (unsigned long long)n_untold);
	write_line(LEVEL_NOTICE, text);
}

void log_close(void)
{
	pthread_mutex_lock(&state.lock);
	sum_up();
	if (state.target == LOG_TO_FILE)
		close(state.fd);
	else if (state.target == LOG_TO_SYSLOG)
		closelog();
	state.target = LOG_TO_STDERR;
	state.fd = STDERR_FILENO;
	pthread_mutex_unlock(&state.lock);
}
