/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.c - see session.h.
 */
#include "mount/session.h"

#include "log/log.h"
#include "mount/mount.h"
#include "ops/terms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAID_CAP 512

static char said[SAID_CAP];
static int dead = -1;		/* for session_leave() */
static atomic_bool logged;

static enum log_level level_of(enum fuse_log_level level)
{
	switch (level) {
	case FUSE_LOG_EMERG:
	case FUSE_LOG_ALERT:
	case FUSE_LOG_CRIT:
	case FUSE_LOG_ERR:
		return LEVEL_ERR;
	case FUSE_LOG_WARNING:
		return LEVEL_WARN;
	case FUSE_LOG_NOTICE:
	case FUSE_LOG_INFO:
		return LEVEL_INFO;
	case FUSE_LOG_DEBUG:
		break;
	}
	return LEVEL_DEBUG;
}

__attribute__((format(printf, 2, 0)))
static void hear_fuse(enum fuse_log_level level, const char *fmt,
		      va_list args)
{
	char text[SAID_CAP];

	vsnprintf(text, sizeof(text), fmt, args);
	text[strcspn(text, "\n")] = '\0';
	if (atomic_load(&logged))
		log_msg(level_of(level), "libfuse: %s", text);
	else if (text[0])
		memcpy(said, text, sizeof(text));
}

const char *session_said(void)
{
	return said[0] ? said : "no reason given";
}

void session_log(void)
{
	atomic_store(&logged, true);
}

struct fuse_session *session_new(struct daemon *daemon)
{
	char *options = mount_options(daemon->opts, daemon->source);
	char *argv[] = { "bloscfs", "-o", options, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	struct fuse_session *session;

	if (!options)
		return NULL;
	fuse_set_log_func(hear_fuse);
	session = terms_take(&args) ?
		  fuse_session_new(&args, &daemon_ops, sizeof(daemon_ops),
				   daemon) : NULL;
	fuse_opt_free_args(&args);
	free(options);
	return session;
}

/* Sockets among the lower descriptors, one bit each. */
static void find_sockets(uint64_t *ret_sockets)
{
	struct stat st;

	*ret_sockets = 0;
	for (int fd = 0; fd < 64; fd++) {
		if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
			*ret_sockets |= UINT64_C(1) << fd;
	}
}

/* What fusermount3 writes to stderr belongs into our sentence. */
static int mount_quietly(struct fuse_session *session, const char *mountpoint)
{
	int ends[2], saved, status;
	ssize_t len;

	saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (saved < 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		if (saved >= 0)
			close(saved);
		return fuse_session_mount(session, mountpoint);
	}
	dup2(ends[1], STDERR_FILENO);
	status = fuse_session_mount(session, mountpoint);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(ends[1]);
	if (status) {
		len = read(ends[0], said, sizeof(said) - 1);
		if (len > 0)
			said[len] = '\0';
		said[strcspn(said, "\n")] = '\0';
	}
	close(ends[0]);
	return status;
}

int session_serve(struct fuse_session *session, int device)
{
	return terms_serve(session, device);
}

/* A pipe that nobody reads looks like a dead device. Made before there is a
 * mount, which would be lost where it cannot be made. */
static int make_dead(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0) {
		snprintf(said, sizeof(said), "no descriptors: %s",
			 strerror(errno));
		return -1;
	}
	close(ends[0]);
	dead = ends[1];
	return 0;
}

/* libfuse keeps the socket open and tells nobody. */
int session_mount(struct fuse_session *session, const char *mountpoint,
		  int *ret_watched)
{
	uint64_t before, after;
	int status;

	if (make_dead())
		return -1;
	find_sockets(&before);
	status = mount_quietly(session, mountpoint);
	find_sockets(&after);
	after &= ~before;
	*ret_watched = after ? __builtin_ctzll(after) : -1;
	if (status)
		close(dead);
	return status;
}

/* libfuse would unmount whatever is on the mount point, unless it finds its
 * device dead. */
void session_leave(struct fuse_session *session)
{
	dup3(dead, fuse_session_fd(session), O_CLOEXEC);
	close(dead);
	fuse_session_unmount(session);
	fuse_session_destroy(session);
}
