/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * command.c - see command.h. The program leads a group of its own, so that
 * what it starts ends with it.
 */
#include "remote/command.h"

#include "remote/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLICE_MS 50
#define MOST_WORDS 256

struct words {
	char *text;			/* all words, each with its NUL */
	char *argv[MOST_WORDS + 1];
	size_t n;
};

/* Copies one word of the line, without quotes; *from ends behind it. False
 * where a quote has no end. */
static bool copy_word(const char **from, char **to)
{
	const char *p = *from;
	char quote = '\0';

	for (; *p && (quote || !strchr(" \t\r\n", *p)); p++) {
		if (quote ? *p == quote : *p == '"' || *p == '\'') {
			quote = quote ? '\0' : *p;
			continue;
		}
		if (*p == '\\' && quote != '\'' && p[1] &&
		    (!quote || p[1] == '"' || p[1] == '\\'))
			p++;
		*(*to)++ = *p;
	}
	*(*to)++ = '\0';
	*from = p;
	return !quote;
}

static int split(const char *line, struct words *words)
{
	char *to = malloc(strlen(line) + 2);

	*words = (struct words){ .text = to };
	if (!to)
		return -ENOMEM;
	for (line += strspn(line, " \t\r\n"); *line;
	     line += strspn(line, " \t\r\n")) {
		if (words->n == MOST_WORDS)
			return -E2BIG;
		words->argv[words->n++] = to;
		if (!copy_word(&line, &to))
			return -EINVAL;
	}
	return words->n ? 0 : -EINVAL;
}

static int spawn(struct words *words, int out, pid_t *ret_pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int error;

	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attr);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK |
				 POSIX_SPAWN_SETSIGDEF |
				 POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out, 1);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	error = posix_spawnp(ret_pid, words->argv[0], &files, &attr,
			     words->argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return -error;
}

/* Reads until the end of what is printed. */
static int take(int in, int64_t end, bool (*stopped)(void *arg), void *arg,
		char *buf, size_t cap, size_t *ret_len)
{
	struct pollfd fd = { .fd = in, .events = POLLIN };
	size_t len = 0;
	ssize_t got;

	for (;;) {
		if (stopped && stopped(arg))
			return -EINTR;
		if (remote_now_ms() >= end)
			return -ETIMEDOUT;
		if (poll(&fd, 1, SLICE_MS) <= 0)
			continue;
		got = read(in, buf + len, cap - len);
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0)
			break;
		len += got > 0 ? (size_t)got : 0;
		if (len == cap)
			return -E2BIG;
	}
	*ret_len = len;
	return 0;
}

/* Waits for its end, which has closed its output already. */
static int await(pid_t pid, int64_t end, bool kill_it)
{
	const struct timespec slice = { .tv_nsec = SLICE_MS * 1000000 };
	int status = 0;
	pid_t done;

	if (kill_it)
		kill(-pid, SIGKILL);
	while ((done = waitpid(pid, &status, kill_it ? 0 : WNOHANG)) != pid) {
		if (done < 0 && errno != EINTR)
			return -errno;
		if (!kill_it && remote_now_ms() >= end) {
			kill(-pid, SIGKILL);
			kill_it = true;
		} else if (!kill_it) {
			nanosleep(&slice, NULL);
		}
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EPERM;
}

const char *command_why(int status)
{
	switch (status) {
	case 0:
	case -EINTR:
		return "";
	case -ETIMEDOUT:
		return "credential_process does not end in time";
	case -E2BIG:
		return "credential_process prints too much";
	case -EINVAL:
		return "credential_process is no command line";
	case -EPERM:
		return "credential_process ends with an error";
	case -ENOMEM:
		return "no memory for credential_process";
	default:
		return "credential_process cannot be run";
	}
}

int command_run(const char *line, uint64_t limit_ms,
		bool (*stopped)(void *arg), void *arg, char *buf, size_t cap,
		size_t *ret_len, const char **ret_why)
{
	int64_t end = remote_now_ms() + (int64_t)limit_ms;
	struct words words;
	int ends[2] = { -1, -1 }, ended;
	int status = split(line, &words);
	pid_t pid = -1;

	if (!status && pipe2(ends, O_CLOEXEC) < 0)
		status = -errno;
	if (!status)
		status = spawn(&words, ends[1], &pid);
	free(words.text);
	if (ends[1] >= 0)
		close(ends[1]);
	if (!status && pid > 0) {
		status = take(ends[0], end, stopped, arg, buf, cap, ret_len);
		ended = await(pid, end, status != 0);
		status = status ? status : ended;
	}
	if (ends[0] >= 0)
		close(ends[0]);
	*ret_why = command_why(status);
	return status;
}
