/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hired.c - see hired.h. A question is a number and a limit of time; the answer
 * repeats the number, so that one that nobody waits for any more is known. Any
 * further word, or the end of who asks, stops what is being run.
 */
#include "remote/hired.h"

#include "remote/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define OUTPUT_CAP (64 << 10)
#define SLICE_MS 50
/* What the process itself may take beyond the limit of what it runs. */
#define GRACE_MS 2000

struct question {
	uint64_t number;
	uint64_t limit_ms;	/* 0: none, stop the one before */
};

struct answer {
	uint64_t number;
	int64_t status;		/* of command_run */
};

/* ---- The process ----------------------------------------------------- */

/* It keeps its end and nothing else of who forked it: an end of a pipe that
 * stayed open here would never be seen to close. */
static void let_go(int end)
{
	struct rlimit limit = { .rlim_cur = 1024 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (end != 3)
		dup3(end, 3, O_CLOEXEC);
	if (syscall(SYS_close_range, 4u, ~0u, 0u) == 0)
		return;
	getrlimit(RLIMIT_NOFILE, &limit);
	for (int fd = 4; (rlim_t)fd < limit.rlim_cur; fd++)
		close(fd);
}

static bool is_called_off(void *arg)
{
	char byte;

	(void)arg;
	return recv(3, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 ||
	       (errno != EAGAIN && errno != EINTR);
}

static void run(const char *line, const struct question *question, char *text)
{
	struct answer answer = { .number = question->number };
	const char *why;
	size_t len = 0;
	struct iovec parts[2] = {
		{ .iov_base = &answer, .iov_len = sizeof(answer) },
		{ .iov_base = text },
	};
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	answer.status = command_run(line, question->limit_ms, is_called_off,
				    NULL, text, OUTPUT_CAP, &len, &why);
	parts[1].iov_len = answer.status ? 0 : len;
	(void)!sendmsg(3, &message, MSG_NOSIGNAL);
	explicit_bzero(text, OUTPUT_CAP);
}

_Noreturn static void serve(const char *line, int end)
{
	char *text = malloc(OUTPUT_CAP);
	struct question question;
	ssize_t got;

	prctl(PR_SET_NAME, HIRED_NAME);
	/* What a terminal sends is for who is outside of it. */
	setsid();
	let_go(end);
	while (text) {
		got = recv(3, &question, sizeof(question), 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got != sizeof(question))
			break;
		if (question.limit_ms)
			run(line, &question, text);
	}
	_exit(0);
}

int hired_start(const char *line, struct hired *hired)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		serve(line, ends[1]);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -EAGAIN;
	}
	hired->end = ends[0];
	return 0;
}

/* ---- Who asks -------------------------------------------------------- */

/* 1 with the answer to that number, 0 where there is none yet, or -errno. */
static int take(int end, uint64_t number, char *buf, size_t cap,
		struct answer *ret_answer, size_t *ret_len)
{
	struct iovec parts[2] = {
		{ .iov_base = ret_answer, .iov_len = sizeof(*ret_answer) },
		{ .iov_base = buf, .iov_len = cap },
	};
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t got = recvmsg(end, &message, MSG_DONTWAIT);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (got < (ssize_t)sizeof(*ret_answer))
		return -EPIPE;
	if (ret_answer->number != number)
		return 0;
	*ret_len = (size_t)got - sizeof(*ret_answer);
	return message.msg_flags & MSG_TRUNC ? -E2BIG : 1;
}

int hired_run(struct hired *hired, uint64_t limit_ms,
	      bool (*stopped)(void *arg), void *arg, char *buf, size_t cap,
	      size_t *ret_len, const char **ret_why)
{
	struct question question = { .number = ++hired->last,
				     .limit_ms = limit_ms ? limit_ms : 1 };
	const uint64_t most = (limit_ms + GRACE_MS) / SLICE_MS;
	struct pollfd fd = { .fd = hired->end, .events = POLLIN };
	struct answer answer = { 0 };
	size_t len = 0;
	int status = 0, got = 0;

	if (send(hired->end, &question, sizeof(question), MSG_NOSIGNAL) < 0)
		status = -errno;
	for (uint64_t n = 0; !status && !got; n++) {
		if (stopped && stopped(arg))
			status = -EINTR;
		else if (n > most)
			status = -ETIMEDOUT;
		else if (poll(&fd, 1, SLICE_MS) > 0)
			got = take(hired->end, question.number, buf, cap,
				   &answer, &len);
	}
	if (got < 0)
		status = got;
	if (status) {
		question.limit_ms = 0;
		(void)!send(hired->end, &question, sizeof(question),
			    MSG_NOSIGNAL | MSG_DONTWAIT);
	} else {
		status = (int)answer.status;
		*ret_len = len;
	}
	*ret_why = command_why(status);
	return status;
}
