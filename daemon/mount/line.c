/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * line.c - see line.h.
 */
#include "mount/line.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int line_make(int ret_ends[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			  ret_ends) < 0 ? -errno : 0;
}

bool line_send(int end, enum line_word word, const char *text, int fd)
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
	return sendmsg(end, &message, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

int line_receive(int end, bool wait, struct line_message *ret_message)
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
		got = recvmsg(end, &message, MSG_CMSG_CLOEXEC |
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
