/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * line.c - see line.h.
 */
#include "mount/line.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define ROOM (1 << 20)

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int line_make(struct line *ret_keeper, struct line *ret_server)
{
	int sockets[2], pipes[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	/* Each write is a message: it is read alone. */
	if (pipe2(pipes, O_DIRECT | O_CLOEXEC | O_NONBLOCK) < 0 ||
	    shutdown(sockets[0], SHUT_RD) < 0) {
		close(sockets[0]);
		close(sockets[1]);
		return -errno;
	}
	/* With less, more lines are lost when many come at once. */
	(void)fcntl(pipes[1], F_SETPIPE_SZ, ROOM);
	*ret_keeper = (struct line){ .hear = pipes[0], .speak = sockets[0] };
	*ret_server = (struct line){ .hear = sockets[1], .speak = pipes[1] };
	return 0;
}

void line_close(struct line *line)
{
	if (line->hear >= 0)
		close(line->hear);
	if (line->speak >= 0)
		close(line->speak);
	*line = (struct line){ .hear = -1, .speak = -1 };
}

bool line_tell(const struct line *line, enum line_word word, const char *text)
{
	char letter = (char)word;
	struct iovec parts[2] = {
		{ .iov_base = &letter, .iov_len = 1 },
		{ .iov_base = (void *)(text ? text : ""),
		  .iov_len = text ? strnlen(text, LINE_TEXT_CAP - 1) : 0 },
	};

	return writev(line->speak, parts, 2) > 0;
}

int line_hear(const struct line *line, struct line_message *ret_message)
{
	char bytes[LINE_TEXT_CAP];
	ssize_t got;

	do {
		got = read(line->hear, bytes, sizeof(bytes));
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	ret_message->fd = -1;
	ret_message->word = (enum line_word)(got ? bytes[0] : 0);
	if (got > 1)
		memcpy(ret_message->text, bytes + 1, (size_t)got - 1);
	ret_message->text[got ? got - 1 : 0] = '\0';
	return got > 0;
}

bool line_send(const struct line *line, enum line_word word, const char *text,
	       int fd)
{
	char letter = (char)word;
	struct iovec parts[2] = {
		{ .iov_base = &letter, .iov_len = 1 },
		{ .iov_base = (void *)(text ? text : ""),
		  .iov_len = text ? strnlen(text, LINE_TEXT_CAP - 1) : 0 },
	};
	union control control = { .bytes = { 0 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	if (fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(int));
	}
	return sendmsg(line->speak, &message, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

int line_receive(const struct line *line, bool wait,
		 struct line_message *ret_message)
{
	char letter = 0;
	struct iovec parts[2] = {
		{ .iov_base = &letter, .iov_len = 1 },
		{ .iov_base = ret_message->text,
		  .iov_len = LINE_TEXT_CAP - 1 },
	};
	union control control = { .bytes = { 0 } };
	struct msghdr message = {
		.msg_iov = parts, .msg_iovlen = 2,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t got;

	do {
		got = recvmsg(line->hear, &message, MSG_CMSG_CLOEXEC |
			      (wait ? 0 : MSG_DONTWAIT));
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == ECONNRESET ? 0 : -errno;
	ret_message->fd = -1;
	if (message.msg_controllen >= sizeof(control.head) &&
	    control.head.cmsg_level == SOL_SOCKET &&
	    control.head.cmsg_type == SCM_RIGHTS &&
	    control.head.cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&ret_message->fd, CMSG_DATA(&control.head),
		       sizeof(int));
	ret_message->word = (enum line_word)letter;
	ret_message->text[got > 0 ? got - 1 : 0] = '\0';
	return got > 0;
}
