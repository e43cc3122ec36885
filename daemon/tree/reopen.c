/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reopen.c - a path, and what was found there.
 */
#include "tree/reopen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct place {
	const struct src *src;
	struct src_stat st;
	char path[];
};

static int open_place(void *arg)
{
	const struct place *place = arg;
	bool is_dir = S_ISDIR(place->st.mode);
	struct src_stat now;
	int fd = is_dir ? src_open_dir(place->src, -1, place->path, &now) :
			  src_open_file(place->src, -1, place->path, &now);

	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP || fd == -EXDEV)
		return -ESTALE;
	if (fd < 0)
		return fd;
	/* What changes in a directory is its members' matter. */
	if (is_dir ? src_same_file(&now, &place->st) :
		     src_same_content(&now, &place->st))
		return fd;
	close(fd);
	return -ESTALE;
}

bool reopen_by_path(const struct src *src, const char *path,
		    const struct src_stat *st,
		    struct bloscfs_reopen *ret_way)
{
	size_t len = strlen(path) + 1;
	struct place *place = malloc(sizeof(*place) + len);

	if (!place)
		return false;
	place->src = src;
	place->st = *st;
	memcpy(place->path, path, len);
	*ret_way = (struct bloscfs_reopen){ open_place, free, place };
	return true;
}
