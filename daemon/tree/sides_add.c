/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sides_add.c - several SOURCEs: what each is called, and opening it.
 */
#include "tree/sides_add.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "/" by the rule for names that cannot be one. */
#define ROOT_NAME "%2F"

/* The last name of what was given; of "." and the like the real one. */
static char *own_name(const char *path, const char *real)
{
	size_t end = strlen(path), start;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/';)
		start--;
	path += start;
	end -= start;
	if (end && strncmp(path, "..", end))
		return strndup(path, end);
	real = strrchr(real, '/') + 1;
	return strdup(*real ? real : ROOT_NAME);
}

static bool is_taken(const struct sides *sides, const char *name)
{
	for (size_t i = 0; i < sides->n; i++)
		if (strcmp(sides->list[i].name, name) == 0)
			return true;
	return false;
}

/* 0 or -errno. */
static int set_name(const struct sides *sides, struct side *side)
{
	char name[NAME_MAX + 1];
	int len = snprintf(name, sizeof(name), "%s", side->given);

	for (unsigned i = 2; len <= NAME_MAX && is_taken(sides, name); i++)
		len = snprintf(name, sizeof(name), "%s%%~%u", side->given, i);
	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	side->name = strdup(name);
	side->name_len = (size_t)len;
	return side->name ? 0 : -ENOMEM;
}

/* Of a folder, to see what its name stands for later. */
static int open_above(struct side *side)
{
	char *last = strrchr(side->real, '/');

	if (side->file || !last[1])
		return 0;
	*last = '\0';
	side->above = open(*side->real ? side->real : "/",
			   O_PATH | O_DIRECTORY | O_CLOEXEC);
	*last = '/';
	return side->above < 0 ? -errno : 0;
}

/* Files of one folder, of which there may be thousands, need it open once. */
static void share_folder(const struct sides *sides, struct side *side)
{
	for (size_t i = 0; side->file && i < sides->n; i++) {
		const struct side *other = &sides->list[i];

		if (!other->file || other->dev != side->dev ||
		    other->ino != side->ino)
			continue;
		close(side->fd);
		side->fd = other->fd;
		side->shares = true;
		return;
	}
}

static int fill(struct sides *sides, struct side *side, const char *path)
{
	struct stat st;
	int status;

	side->real = realpath(path, NULL);
	if (!side->real)
		return -errno;
	side->given = own_name(path, side->real);
	if (!side->given)
		return -ENOMEM;
	if (fstat(side->fd, &st) < 0)
		return -errno;
	side->dev = st.st_dev;
	side->ino = st.st_ino;
	share_folder(sides, side);
	status = set_name(sides, side);
	return status ? status : open_above(side);
}

int sides_add(struct src *src, const char *path)
{
	struct sides *sides = &src->sides;
	struct side side = { .above = -1 }, *grown;
	struct src one;
	int status = src_open(&one, path);

	if (status)
		return status;
	side.fd = one.root_fd;
	side.file = one.file;
	status = fill(sides, &side, path);
	grown = status ? NULL : realloc(sides->list, (sides->n + 1) *
						    sizeof(*grown));
	if (!grown) {
		sides_release(&side);
		return status ? status : -ENOMEM;
	}
	src->plain_walk = src->plain_walk || one.plain_walk;
	sides->list = grown;
	atomic_init(&side.state, 0);
	grown[sides->n++] = side;
	return 0;
}
