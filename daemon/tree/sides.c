/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sides.c - see sides.h.
 */
#include "tree/sides.h"

#include "log/log.h"
#include "tree/nested.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Programs that read the table of mounts have short lines. */
#define MAX_TEXT 1000

enum state { THERE /* 0 */, REMOVED, REPLACED };

void sides_release(struct side *side)
{
	if (side->fd >= 0 && !side->shares)
		close(side->fd);
	if (side->above >= 0)
		close(side->above);
	free(side->given);
	free(side->name);
	free(side->real);
	free(side->file);
}

void sides_close(struct sides *sides)
{
	for (size_t i = 0; i < sides->n; i++)
		sides_release(&sides->list[i]);
	free(sides->list);
	sides->list = NULL;
	sides->n = 0;
}

/* ---- found ------------------------------------------------------------ */

struct side *sides_find(const struct sides *sides, const char *path,
			const char **ret_rest)
{
	size_t len = strcspn(path, "/");

	for (size_t i = 0; i < sides->n; i++) {
		struct side *side = &sides->list[i];

		if (side->name_len == len &&
		    memcmp(side->name, path, len) == 0) {
			*ret_rest = path + len + (path[len] == '/');
			return side;
		}
	}
	return NULL;
}

int sides_enter(const struct sides *sides, const char **path)
{
	const char *rest;
	const struct side *side = sides_find(sides, *path, &rest);

	if (!side)
		return -ENOENT;
	if (side->file && *rest)
		return -ENOTDIR;
	*path = side->file ? side->file : rest;
	return side->fd;
}

bool sides_own(const struct sides *sides, int fd)
{
	for (size_t i = 0; i < sides->n; i++)
		if (sides->list[i].fd == fd)
			return true;
	return false;
}

const char *sides_hint(const struct sides *sides, const char *path)
{
	const char *slash = strrchr(path, '/'), *rest;
	const struct side *side = slash ? NULL : sides_find(sides, path, &rest);

	if (side)
		return side->given;
	return slash ? slash + 1 : path;
}

/* ---- still there? ----------------------------------------------------- */

static int state_of_file(const struct side *side)
{
	struct stat now;

	if (fstatat(side->fd, side->file, &now, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? REMOVED : -errno;
	return S_ISREG(now.st_mode) ? THERE : REPLACED;
}

static int state_of_folder(const struct side *side)
{
	const char *name = strrchr(side->real, '/') + 1;
	struct nested nested;
	struct stat own, now;
	int status;

	if (side->above < 0)
		return THERE;
	status = nested_look(side->above, name, &nested);
	if (status)
		return status == -ENOENT ? REMOVED : status;
	/* Ours, or another of bloscfs, lies over it: that is not asked. */
	if (nested.is_bloscfs)
		return THERE;
	if (fstat(side->fd, &own) < 0)
		return -errno;
	if (fstatat(side->above, name, &now,
		    AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return errno == ENOENT ? REMOVED : -errno;
	return own.st_dev == now.st_dev && own.st_ino == now.st_ino ? THERE :
								 REPLACED;
}

static void tell(const struct side *side, int state)
{
	char quoted[512];

	log_quote(quoted, sizeof(quoted), side->real);
	if (state == THERE)
		log_msg(LEVEL_NOTICE, "SOURCE %s is there again", quoted);
	else if (state == REMOVED)
		log_msg(LEVEL_WARN, "SOURCE %s was removed or moved; its entry "
			"is an error until it is back, the others go on",
			quoted);
	else
		log_msg(LEVEL_WARN, "SOURCE %s was replaced; its entry is an "
			"error until it is mounted anew, the others go on",
			quoted);
}

int sides_look(const struct sides *sides, const char *path,
	       const char **ret_name)
{
	const char *rest;
	struct side *side = sides_find(sides, path, &rest);
	int state;

	if (!side)
		return -ENOENT;
	state = side->file ? state_of_file(side) : state_of_folder(side);
	if (state < 0)
		return state;
	if (atomic_exchange(&side->state, state) != state)
		tell(side, state);
	if (state != THERE)
		return state == REMOVED ? -ENOENT : -ESTALE;
	*ret_name = side->file ? side->file : ".";
	return side->fd;
}

size_t sides_count_fds(const struct sides *sides)
{
	size_t n = 0;

	for (size_t i = 0; i < sides->n; i++)
		n += !sides->list[i].shares + (sides->list[i].above >= 0);
	return n;
}

size_t sides_count_lost(const struct sides *sides)
{
	size_t n = 0;

	for (size_t i = 0; i < sides->n; i++)
		n += atomic_load(&sides->list[i].state) != THERE;
	return n;
}

/* ---- the root --------------------------------------------------------- */

/* It belongs to whoever mounted; others see names, as far as they get in. */
void sides_stat(const struct sides *sides, struct src_stat *ret_stat)
{
	*ret_stat = (struct src_stat){
		.dev = UINT64_MAX, .ino = 1, .mode = S_IFDIR | 0755,
		.uid = geteuid(), .gid = getegid(), .nlink = 2,
		.blksize = 4096, .mtime_sec = sides->made,
		.own_mtime_sec = sides->made,
		.ctime_ns = sides->made * INT64_C(1000000000),
	};
}

static void write_path(FILE *out, const char *path)
{
	for (; *path; path++) {
		if (*path == ':' || *path == '\\')
			putc('\\', out);
		putc(*path, out);
	}
}

char *sides_text(const struct sides *sides)
{
	char *text = NULL;
	size_t len, i;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	write_path(out, sides->list[0].real);
	for (i = 1; i < sides->n; i++) {
		fflush(out);
		if (len + 2 * strlen(sides->list[i].real) > MAX_TEXT)
			break;
		putc(':', out);
		write_path(out, sides->list[i].real);
	}
	if (i < sides->n)
		fprintf(out, ":+%zu", sides->n - i);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
