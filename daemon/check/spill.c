/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spill.c - text that waits to be printed. Verdicts come in the order of the
 * list, whatever is done first: those on files that are damaged all over would
 * take all memory behind one that takes long.
 */
#include "check/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_HELD (64u << 10)	/* bytes in memory */

struct spill {
	char *held;
	size_t len, cap;
	int fd;			/* what follows; -1: nothing yet */
	int error;		/* errno of keeping */
};

struct spill *spill_new(void)
{
	struct spill *spill = calloc(1, sizeof(*spill));

	if (spill)
		spill->fd = -1;
	return spill;
}

void spill_free(struct spill *spill)
{
	if (!spill)
		return;
	if (spill->fd >= 0)
		close(spill->fd);
	free(spill->held);
	free(spill);
}

static int open_nameless(void)
{
	const char *folder = getenv("TMPDIR");
	char name[4096];
	int fd;

	if (!folder || !*folder)
		folder = "/tmp";
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || strlen(folder) > sizeof(name) - 32)
		return fd;
	/* Not every file system has files without names. */
	snprintf(name, sizeof(name), "%s/bloscfs.XXXXXX", folder);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	return fd;
}

static int write_all(int fd, const char *text, size_t len)
{
	ssize_t n;

	for (; len; text += n, len -= (size_t)n) {
		n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			return errno;
	}
	return 0;
}

static int hold(struct spill *spill, const char *text, size_t len)
{
	size_t cap = spill->cap ? spill->cap : 256;
	char *held;

	while (cap < spill->len + len)
		cap *= 2;
	if (cap > spill->cap) {
		held = realloc(spill->held, cap);
		if (!held)
			return ENOMEM;
		spill->held = held;
		spill->cap = cap;
	}
	memcpy(spill->held + spill->len, text, len);
	spill->len += len;
	return 0;
}

static ssize_t take(void *cookie, const char *text, size_t len)
{
	struct spill *spill = cookie;

	if (spill->fd < 0 && spill->len + len > MAX_HELD) {
		spill->fd = open_nameless();
		/* Then memory has to do. */
		if (spill->fd < 0 && hold(spill, text, len) == 0)
			return (ssize_t)len;
	}
	spill->error = spill->fd >= 0 ? write_all(spill->fd, text, len) :
		       hold(spill, text, len);
	return spill->error ? 0 : (ssize_t)len;
}

FILE *spill_open(struct spill *spill)
{
	return fopencookie(spill, "w", (cookie_io_functions_t){
		.write = take });
}

int spill_copy(struct spill *spill, FILE *out)
{
	char buf[65536];
	off_t off = 0;
	ssize_t n;

	if (spill->error)
		return -spill->error;
	if (spill->len)
		fwrite(spill->held, 1, spill->len, out);
	while (spill->fd >= 0) {
		n = pread(spill->fd, buf, sizeof(buf), off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		fwrite(buf, 1, (size_t)n, out);
		off += n;
	}
	return 0;
}
