/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault.c - to be loaded before the daemon's libraries (LD_PRELOAD): the n-th
 * read of a file below SOURCE, or the n-th allocation, fails; or that read
 * gives half of what it could, or is interrupted, which are no failures. Which
 * of them, and how often it came to that, stands in the file that FAULT_FILE
 * names.
 */

/* Its headers define these calls themselves. */
#undef _FORTIFY_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NONE, READ, ALLOC, SHORT, INTERRUPT };

/* Shared with the test, which writes mode last. */
struct control {
	_Atomic uint64_t mode, at, n, hits;
};

static struct control *control;
static const char *below;

__attribute__((constructor)) static void begin(void)
{
	const char *name = getenv("FAULT_FILE");
	int fd = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
	void *p;

	below = getenv("FAULT_BELOW");
	if (fd < 0 || !below)
		return;
	p = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED,
		 fd, 0);
	close(fd);
	if (p != MAP_FAILED)
		control = p;
}

static int hits(uint64_t mode)
{
	if (!control || atomic_load(&control->mode) != mode ||
	    atomic_fetch_add(&control->n, 1) + 1 !=
	    atomic_load(&control->at))
		return 0;
	atomic_fetch_add(&control->hits, 1);
	return 1;
}

static int is_below(int fd)
{
	char link[64], path[4096];
	uint64_t mode = control ? atomic_load(&control->mode) : NONE;
	ssize_t len;

	if (mode == NONE || mode == ALLOC)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return 0;
	path[len] = '\0';
	return strncmp(path, below, strlen(below)) == 0;
}

ssize_t pread(int fd, void *buf, size_t len, off_t off)
{
	struct iovec iov = { buf, len };

	if (is_below(fd)) {
		errno = hits(READ) ? EIO : hits(INTERRUPT) ? EINTR : 0;
		if (errno)
			return -1;
		if (len > 1 && hits(SHORT))
			iov.iov_len = len / 2;
	}
	return preadv(fd, &iov, 1, off);
}

#ifdef __GLIBC__
void *__libc_malloc(size_t len);
void *__libc_calloc(size_t n, size_t len);
void *__libc_realloc(void *p, size_t len);

static int lacks(void)
{
	int lack = hits(ALLOC);

	if (lack)
		errno = ENOMEM;
	return lack;
}

void *malloc(size_t len)
{
	return lacks() ? NULL : __libc_malloc(len);
}

void *calloc(size_t n, size_t len)
{
	return lacks() ? NULL : __libc_calloc(n, len);
}

void *realloc(void *p, size_t len)
{
	return lacks() ? NULL : __libc_realloc(p, len);
}
#endif
