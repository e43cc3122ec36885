/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stripe.c - cells and their seals.
 */
#include "remote/stripe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEAD_LEN 128
#define SUM_LEN 8
#define SEALED_LEN (HEAD_LEN - SUM_LEN)
#define FEW_CELLS 16		/* cost less than another request */
#define TOUCH_S 5

static const char magic[16] = "bloscfs stripe\r\n";

void stripe_name(const struct disk_id *id, uint64_t number, char *ret_name)
{
	seal_digest_text(id->name, ret_name);
	snprintf(ret_name + DIGEST_TEXT, STRIPE_NAME_CAP - DIGEST_TEXT,
		 ".%llx", (unsigned long long)number);
}

ssize_t disk_read_all(int fd, void *buf, size_t len, uint64_t off)
{
	size_t done = 0;

	while (done < len) {
		ssize_t got = pread(fd, (char *)buf + done, len - done,
				    (off_t)(off + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int disk_write_all(int fd, const void *bytes, size_t len, uint64_t off)
{
	const char *from = bytes;

	while (len) {
		ssize_t put = pwrite(fd, from, len, (off_t)off);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put ? -errno : -ENOSPC;
		from += put;
		off += (uint64_t)put;
		len -= (size_t)put;
	}
	return 0;
}

int disk_open_file(int dir, const char *name, int flags, int *ret_fd,
		   int64_t *ret_used)
{
	/* Not to block on what is no file. */
	int fd = openat(dir, name, flags | O_NOFOLLOW | O_NONBLOCK |
			O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0)
		return errno == ELOOP || errno == EISDIR || errno == ENXIO ?
		       -EBADMSG : -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EBADMSG;
	}
	*ret_fd = fd;
	*ret_used = st.st_mtim.tv_sec;
	return 0;
}

void disk_touch(int fd, int64_t used)
{
	int64_t now = time(NULL);

	/* A clock that was set back counts as long ago. */
	if (now - used >= TOUCH_S || now < used)
		futimens(fd, NULL);
}

void stripe_touch(const struct stripe *s)
{
	disk_touch(s->fd, s->used);
}

static int make_head(struct stripe *s, uint8_t *head)
{
	uint64_t sum;

	memset(head, 0, HEAD_LEN);
	memcpy(head, magic, sizeof(magic));
	seal_put(head + 16, STRIPE_VERSION, 4);
	seal_put(head + 24, s->number, 8);
	memcpy(head + 32, s->id->name, DIGEST_LEN);
	if (!seal_of(&s->seal, SEAL_HEAD, s->number, head, SEALED_LEN, &sum))
		return -ENOMEM;
	seal_put(head + SEALED_LEN, sum, SUM_LEN);
	return 0;
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i])
			return false;
	}
	return true;
}

/* Somebody may have made the file and not have come to its header. */
static int read_head(struct stripe *s, bool write)
{
	uint8_t page[STRIPE_HEAD] = { 0 }, head[HEAD_LEN];
	ssize_t got = pread(s->fd, page, sizeof(page), 0);
	int status = make_head(s, head);

	if (got < 0 || status)
		return got < 0 ? -errno : status;
	if (is_zero(page, sizeof(page))) {
		if (!write)
			return -ENOENT;
		s->fresh = true;
		return disk_write_all(s->fd, head, HEAD_LEN, 0);
	}
	if (memcmp(page, magic, sizeof(magic)) == 0 &&
	    seal_get(page + 16, 4) != STRIPE_VERSION)
		return -ENOTSUP;
	if (memcmp(page, head, HEAD_LEN) != 0)
		return -EBADMSG;
	for (size_t i = 0; i < STRIPE_CELLS; i++)
		s->sums[i] = seal_get(page + HEAD_LEN + SUM_LEN * i,
				      SUM_LEN);
	return 0;
}

int stripe_open(int dir, const struct disk_id *id, uint64_t number,
		bool write, struct stripe *s)
{
	char name[STRIPE_NAME_CAP];
	int status;

	*s = (struct stripe){ .id = id, .number = number, .fd = -1 };
	stripe_name(id, number, name);
	status = disk_open_file(dir, name, write ? O_RDWR | O_CREAT :
				O_RDONLY, &s->fd, &s->used);
	if (status)
		return status;
	status = seal_begin(&s->seal, id->name) ? read_head(s, write) :
						  -ENOMEM;
	if (status)
		stripe_close(s);
	return status;
}

void stripe_close(struct stripe *s)
{
	seal_end(&s->seal);
	close(s->fd);
}

static size_t cell_of(const struct stripe *s, uint64_t off)
{
	return (size_t)((off - s->number * STRIPE_LEN) / STRIPE_CELL);
}

/* Behind the last cell that begins before end. */
static size_t cell_end(const struct stripe *s, uint64_t end)
{
	uint64_t last = s->number * STRIPE_LEN + STRIPE_LEN;

	return cell_of(s, (end < last ? end : last) - 1) + 1;
}

static size_t count_cells(const struct stripe *s, size_t from, size_t to,
			  bool there)
{
	size_t i = from;

	while (i < to && (s->sums[i] != 0) == there)
		i++;
	return i - from;
}

uint64_t stripe_run(const struct stripe *s, uint64_t off, uint64_t end,
		    bool *ret_there)
{
	size_t first = cell_of(s, off), to = cell_end(s, end), i = first;
	uint64_t last;

	*ret_there = s->sums[first] != 0;
	i += count_cells(s, i, to, *ret_there);
	while (!*ret_there && i < to) {
		size_t few = count_cells(s, i, to, true);

		if (few >= FEW_CELLS || i + few == to)
			break;
		i += few;
		i += count_cells(s, i, to, false);
	}
	last = s->number * STRIPE_LEN + (uint64_t)i * STRIPE_CELL;
	return (last < end ? last : end) - off;
}

/* Of cell i the bytes that the object has. */
static size_t cell_len(const struct stripe *s, size_t i)
{
	uint64_t off = s->number * STRIPE_LEN + (uint64_t)i * STRIPE_CELL;
	uint64_t left = s->id->size - off;

	return left < STRIPE_CELL ? (size_t)left : STRIPE_CELL;
}

static bool sum_cell(struct stripe *s, size_t i, const void *bytes,
		     uint64_t *ret_sum)
{
	return seal_of(&s->seal, SEAL_CELL, s->number * STRIPE_CELLS + i,
		       bytes, cell_len(s, i), ret_sum);
}

static uint64_t place_of(size_t i)
{
	return STRIPE_HEAD + (uint64_t)i * STRIPE_CELL;
}

int stripe_read(struct stripe *s, uint64_t off, uint64_t len, void *buf,
		uint64_t *ret_good)
{
	size_t first = cell_of(s, off), to = cell_end(s, off + len);
	ssize_t got = disk_read_all(s->fd, buf, len, place_of(first));
	uint64_t at = 0, sum;
	int status = 0;

	*ret_good = 0;
	if (got < 0)
		return (int)got;
	for (size_t i = first; i < to; i++) {
		size_t n = cell_len(s, i);

		if (at + n > (uint64_t)got)
			s->sums[i] = 0;
		else if (!sum_cell(s, i, (const char *)buf + at, &sum))
			return -ENOMEM;
		else if (sum != s->sums[i])
			s->sums[i] = 0;
		if (!s->sums[i])
			status = -EBADMSG;
		if (!status)
			*ret_good += n;
		at += n;
	}
	return status;
}

void stripe_forget(int dir, const struct stripe *s, uint64_t off,
		   uint64_t len)
{
	static const uint8_t zero[SUM_LEN];
	size_t first = cell_of(s, off), to = cell_end(s, off + len);
	char name[STRIPE_NAME_CAP];
	int64_t used;
	int fd;

	stripe_name(s->id, s->number, name);
	if (disk_open_file(dir, name, O_WRONLY, &fd, &used))
		return;
	for (size_t i = first; i < to; i++) {
		if (!s->sums[i] && disk_write_all(fd, zero, SUM_LEN,
						  HEAD_LEN + i * SUM_LEN))
			break;
	}
	close(fd);
}

/* Cells [first, to), none of which is there: data first. */
static int write_run(struct stripe *s, size_t first, size_t to,
		     const char *bytes, uint64_t *ret_written)
{
	uint8_t sums[STRIPE_CELLS * SUM_LEN];
	uint64_t len = (to - first - 1) * STRIPE_CELL + cell_len(s, to - 1);
	int status;

	for (size_t i = first; i < to; i++) {
		if (!sum_cell(s, i, bytes + (i - first) * STRIPE_CELL,
			      &s->sums[i]))
			return -ENOMEM;
		seal_put(sums + (i - first) * SUM_LEN, s->sums[i], SUM_LEN);
	}
	status = disk_write_all(s->fd, bytes, len, place_of(first));
	if (!status)
		status = disk_write_all(s->fd, sums, (to - first) * SUM_LEN,
					HEAD_LEN + first * SUM_LEN);
	if (!status)
		*ret_written += len;
	return status;
}

int stripe_write(struct stripe *s, uint64_t off, uint64_t len,
		 const void *bytes, uint64_t *ret_written)
{
	size_t first = cell_of(s, off), to = cell_end(s, off + len), n;
	int status = 0;

	for (size_t i = first; !status && i < to; i += n) {
		n = count_cells(s, i, to, true);
		if (n)
			continue;
		n = count_cells(s, i, to, false);
		status = write_run(s, i, i + n, (const char *)bytes +
				   (i - first) * STRIPE_CELL, ret_written);
	}
	return status;
}
