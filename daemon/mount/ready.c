/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ready.c - see ready.h.
 */
#include "mount/ready.h"

#include "log/log.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* An address is a path, or a name in the abstract namespace behind an @. */
static int send_word(const char *name, const char *text)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t name_len = strlen(name), len = strlen(text);
	socklen_t to_len;
	int fd, status = 0;

	if (name_len < 2 || (name[0] != '/' && name[0] != '@'))
		return -EAFNOSUPPORT;
	if (name_len >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	memcpy(to.sun_path, name, name_len);
	if (name[0] == '@')
		to.sun_path[0] = '\0';
	to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
			     name_len);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (sendto(fd, text, len, MSG_NOSIGNAL, (struct sockaddr *)&to,
		   to_len) != (ssize_t)len)
		status = -errno;
	close(fd);
	return status;
}

static void tell_manager(const char *text)
{
	const char *name = getenv("NOTIFY_SOCKET");
	int status = name && *name ? send_word(name, text) : 0;

	if (status)
		log_msg(LEVEL_WARN, "cannot tell the service manager at "
			"NOTIFY_SOCKET: %s", strerror(-status));
}

void ready_tell(const struct opts *opts)
{
	char text[64];

	snprintf(text, sizeof(text), "READY=1\nMAINPID=%ld\n",
		 (long)getpid());
	tell_manager(text);
	if (opts->notify_fd < 0)
		return;
	if (write(opts->notify_fd, "\n", 1) != 1)
		log_msg(LEVEL_WARN, "cannot write to notify_fd: %s",
			strerror(errno));
	close(opts->notify_fd);
}

void ready_tell_end(void)
{
	tell_manager("STOPPING=1\n");
}
