/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * room.c - see room.h.
 *
 * Of a file: what it takes, beside what is free where it lies. What a folder
 * takes only a walk would tell: it is shown as its whole file system. Of
 * several SOURCEs it is the sum, in which each file system counts once.
 */
#include "ops/room.h"


#include <errno.h>
#include <fcntl.h>

#define UNIT 4096

/* A file system, or what is free in one. */
static void add_system(struct statvfs *sum, const struct statvfs *st,
		       bool whole)
{
	uint64_t unit = st->f_frsize, avail = st->f_bavail * unit / UNIT;

	sum->f_bavail += avail;
	sum->f_bfree += whole ? st->f_bfree * unit / UNIT : avail;
	sum->f_blocks += whole ? st->f_blocks * unit / UNIT : avail;
	sum->f_favail += st->f_favail;
	sum->f_ffree += whole ? st->f_ffree : st->f_favail;
	sum->f_files += whole ? st->f_files : st->f_favail;
}

/* A file that is gone takes nothing. */
static void add_file(struct statvfs *sum, int fd, const char *name)
{
	struct stat st;

	if (fstatat(fd, name, &st, 0) < 0)
		return;
	sum->f_blocks += ((uint64_t)st.st_blocks * 512 + UNIT - 1) / UNIT;
	sum->f_files++;
}

/* All that lie in the same file system as this one, unless one before it does
 * already. 0 or -errno. */
static int add_sides(struct statvfs *sum, const struct src *src, size_t i)
{
	const struct side *sides = src->sides.list;
	uint64_t dev = sides[i].dev;
	struct statvfs st;
	bool whole = false;

	for (size_t k = 0; k < src->sides.n; k++) {
		if (k < i && sides[k].dev == dev)
			return 0;
		if (sides[k].dev == dev && !sides[k].file)
			whole = true;
	}
	if (fstatvfs(sides[i].fd, &st) < 0)
		return -errno;
	add_system(sum, &st, whole);
	for (size_t k = i; !whole && k < src->sides.n; k++)
		if (sides[k].dev == dev)
			add_file(sum, sides[k].fd, sides[k].file);
	return 0;
}

static int find_sum(const struct src *src, struct statvfs *ret)
{
	struct statvfs sum = { .f_bsize = UNIT, .f_frsize = UNIT };
	int status = 0;

	for (size_t i = 0; !status && i < src->sides.n; i++)
		status = add_sides(&sum, src, i);
	if (!status)
		*ret = sum;
	return status;
}

int room_find(const struct src *src, struct statvfs *ret)
{
	struct stat st;

	if (src->sides.n)
		return find_sum(src, ret);
	*ret = (struct statvfs){ .f_bsize = UNIT, .f_frsize = UNIT };
	if (src->far)
		return 0;
	if (fstatvfs(src->root_fd, ret) < 0)
		return -errno;
	if (!src->file || !ret->f_frsize)
		return 0;
	if (fstatat(src->root_fd, src->file, &st, 0) < 0)
		return -errno;
	ret->f_bfree = ret->f_bavail;
	ret->f_blocks = ret->f_bfree +
			((fsblkcnt_t)st.st_blocks * 512 + ret->f_frsize - 1) /
			ret->f_frsize;
	ret->f_ffree = ret->f_favail;
	ret->f_files = ret->f_ffree + 1;
	return 0;
}
