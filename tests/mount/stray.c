/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stray.c - to be loaded before the daemon's libraries (LD_PRELOAD): who reads
 * from a container does what a decoder that was taken over would do, as STRAY
 * says, when the file that STRAY_AT names is there.
 */

/* Its headers define these calls themselves. */
#undef _FORTIFY_SOURCE

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *what, *at;

__attribute__((constructor)) static void begin(void)
{
	what = getenv("STRAY");
	at = getenv("STRAY_AT");
}

static void stray(void)
{
	char *argv[] = { "sh", "-c", "touch \"$STRAY_AT.done\"", NULL };

	if (!what || !at || access(at, F_OK))
		return;
	if (!strcmp(what, "socket"))
		(void)!socket(AF_INET, SOCK_STREAM, 0);
	else if (!strcmp(what, "execve"))
		execv("/bin/sh", argv);
	else if (!strcmp(what, "ptrace"))
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	else if (!strcmp(what, "unlink"))
		unlink(at);
	else if (!strcmp(what, "crash"))
		abort();
}

ssize_t pread(int fd, void *buf, size_t len, off_t off)
{
	struct iovec iov = { buf, len };

	stray();
	return preadv(fd, &iov, 1, off);
}
