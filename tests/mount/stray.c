/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stray.c - to be loaded before the daemon's libraries (LD_PRELOAD): who reads
 * from a container does what a decoder that was taken over would do, as STRAY
 * says, when the file that STRAY_AT names is there.
 */

/* Its headers define these calls themselves. */
#undef _FORTIFY_SOURCE

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *what, *at;

__attribute__((constructor)) static void begin(void)
{
	what = getenv("STRAY");
	at = getenv("STRAY_AT");
}

/* All that can be written to pipes and sockets, one of them to the keeper.
 * Not that nobody uses the mount. */
static void babble(void)
{
	static const char *const words[] = {
		"l0\nFORGED 1", "l0FORGED\x1b[2J\rFORGED", "l", "l9x", "l0",
		"b99999999999999999999", "b-1", "b", "r", "d", "w", "m", "n",
		"f", "e", "h", "s", "", "\xff\xff",
	};
	static bool done;
	char bytes[4096];

	if (done)
		return;
	done = true;
	memset(bytes, 'l', sizeof(bytes));
	for (int fd = 3; fd < 64; fd++) {
		int flags = fcntl(fd, F_GETFL);
		struct stat st;

		if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY ||
		    fstat(fd, &st) < 0 ||
		    (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode)))
			continue;
		for (int i = 0; i < 20; i++) {
			for (size_t k = 0; k < sizeof(words) / sizeof(*words);
			     k++)
				(void)!write(fd, words[k], strlen(words[k]));
			(void)!write(fd, bytes, sizeof(bytes));
		}
	}
}

/* Hears nothing any more, and says something all the time. */
static void be_deaf(void)
{
	struct stat st;

	for (;;) {
		for (int fd = 3; fd < 64; fd++) {
			if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
				(void)!write(fd, "l0says", 6);
		}
		poll(NULL, 0, 20);
	}
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
	else if (!strcmp(what, "babble"))
		babble();
	else if (!strcmp(what, "crash"))
		abort();
}

ssize_t pread(int fd, void *buf, size_t len, off_t off)
{
	struct iovec iov = { buf, len };

	stray();
	return preadv(fd, &iov, 1, off);
}

/* What a keeper says. */
ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	if (what && !strcmp(what, "deaf") && at && !access(at, F_OK))
		be_deaf();
	return syscall(SYS_recvmsg, fd, message, flags);
}

/* The keeper of a deaf server is in a hurry. */
int timerfd_settime(int fd, int flags, const struct itimerspec *spec,
		    struct itimerspec *old)
{
	struct itimerspec sooner = *spec;

	if (what && !strcmp(what, "deaf") && !getenv("STRAY_SLOWLY")) {
		sooner.it_value.tv_nsec =
			(sooner.it_value.tv_sec % 20) * 50000000;
		sooner.it_value.tv_sec /= 20;
	}
	return (int)syscall(SYS_timerfd_settime, fd, flags, &sooner, old);
}
