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

/* False where nobody answers; true with an errno if nobody could be sent. */
static bool ask(ask_fn *question, const char *path, struct answer *answer,
		int wait_ms)
{
	bool answered;
	int ends[2];
	pid_t pid;

	memset(answer, 0, sizeof(*answer));
	if (pipe2(ends, O_CLOEXEC) < 0) {
		answer->error = errno;
		return true;
	}
	pid = fork();
	if (pid == 0) {
		question(path, answer);
		tell(ends[1], answer);
		_exit(0);
	}
	if (pid < 0)
		answer->error = errno;
	close(ends[1]);
	answered = pid < 0 || hear(ends[0], answer, wait_ms);
	close(ends[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, answered ? 0 : WNOHANG);
	}
	return answered;
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

static void find_dead(const char *path, struct answer *answer)
{
	struct stat st;

	answer->error = stat(path, &st) < 0 ? errno : 0;
}

bool ask_is_dead(const char *path)
{
	struct answer answer;

	return ask(find_dead, path, &answer, ANSWER_MS) &&
	       (answer.error == ENOTCONN || answer.error == ECONNABORTED);
}
