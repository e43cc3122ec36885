/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ask.c - one question, one child, one pipe.
 */
#include "mount/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* That a daemon is gone the kernel says without asking anybody; a file system
 * that has to be mounted first takes its time. */
#define ANSWER_MS 5000
#define MOUNTING_MS 10000

struct answer {
	int error;		/* errno */
	dev_t dev;
	char text[PATH_MAX];
};

typedef void ask_fn(const char *path, struct answer *answer);

/* All that the child has to say; false where it says nothing in time. */
static bool hear(int fd, struct answer *answer, int wait_ms)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	ssize_t got = 1;

	while (got > 0 && len < sizeof(*answer)) {
		if (poll(&ready, 1, wait_ms) <= 0)
			return false;
		got = read(fd, (char *)answer + len, sizeof(*answer) - len);
		len += got > 0 ? (size_t)got : 0;
	}
	return len == sizeof(*answer);
}

static void tell(int fd, const struct answer *answer)
{
	size_t len = 0;
	ssize_t put = 1;

	while (put > 0 && len < sizeof(*answer)) {
		put = write(fd, (const char *)answer + len,
			    sizeof(*answer) - len);
		len += put > 0 ? (size_t)put : 0;
	}
}

/* 0 or -errno. */
static int send(struct asked *asked, ask_fn *question, const char *path,
		int leave)
{
	struct answer answer;
	int ends[2], status = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	asked->pid = fork();
	if (asked->pid == 0) {
		if (leave >= 0)
			close(leave);
		memset(&answer, 0, sizeof(answer));
		question(path, &answer);
		tell(ends[1], &answer);
		_exit(0);
	}
	if (asked->pid < 0)
		status = -errno;
	close(ends[1]);
	asked->fd = ends[0];
	if (status)
		close(ends[0]);
	return status;
}

static bool take(struct asked *asked, struct answer *answer, int wait_ms)
{
	bool answered = hear(asked->fd, answer, wait_ms);

	close(asked->fd);
	kill(asked->pid, SIGKILL);
	waitpid(asked->pid, NULL, answered ? 0 : WNOHANG);
	return answered;
}

/* False where nobody answers; true with an errno if nobody could be sent. */
static bool ask(ask_fn *question, const char *path, struct answer *answer,
		int wait_ms)
{
	struct asked asked;
	int status;

	memset(answer, 0, sizeof(*answer));
	status = send(&asked, question, path, -1);
	answer->error = -status;
	return status || take(&asked, answer, wait_ms);
}

static void find_real(const char *path, struct answer *answer)
{
	answer->error = realpath(path, answer->text) ? 0 : errno;
}

char *ask_real_path(const char *path)
{
	struct answer answer;

	if (!ask(find_real, path, &answer, MOUNTING_MS))
		answer.error = ETIMEDOUT;
	if (answer.error) {
		errno = answer.error;
		return NULL;
	}
	return strdup(answer.text);
}

static void find_attributes(const char *path, struct answer *answer)
{
	struct stat st;

	if (stat(path, &st) < 0)
		answer->error = errno;
	else
		answer->dev = st.st_dev;
}

/* What the kernel remembers of a daemon outlives it. */
static void find_anew(const char *path, struct answer *answer)
{
	struct statx st;

	if (statx(AT_FDCWD, path, AT_STATX_FORCE_SYNC, STATX_TYPE, &st) < 0)
		answer->error = errno;
}

bool ask_is_dead(const char *path)
{
	struct answer answer;

	return ask(find_anew, path, &answer, ANSWER_MS) &&
	       (answer.error == ENOTCONN || answer.error == ECONNABORTED);
}

int ask_begin(struct asked *asked, const char *path, int leave)
{
	return send(asked, find_attributes, path, leave);
}

int ask_end(struct asked *asked, dev_t *ret_dev)
{
	struct answer answer = { .error = 0 };

	if (!take(asked, &answer, 0))
		return -ETIMEDOUT;
	if (!answer.error)
		*ret_dev = answer.dev;
	return -answer.error;
}

int ask_answers(const char *path, int ms)
{
	struct answer answer;

	return ask(find_attributes, path, &answer, ms) ? -answer.error :
							 -ETIMEDOUT;
}
