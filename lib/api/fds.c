/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fds.c - the public interface to descriptors that are let go, and to
 * names that are not opened.
 */
#pragma GCC visibility push(default)
#include "bloscfs.h"
#pragma GCC visibility pop

#include "source/fds.h"
#include "source/source.h"

#include <errno.h>

struct bloscfs_fd *bloscfs_fd_new(int fd, const struct bloscfs_reopen *how)
{
	struct bfs_fd_how own;
	struct bfs_fd *f;

	if (!how || !how->open)
		return NULL;
	own = (struct bfs_fd_how){ how->open, how->release, how->arg };
	f = bfs_fd_new(fd);
	if (f)
		bfs_fd_set_how(f, &own);
	return (struct bloscfs_fd *)f;
}

void bloscfs_fd_free(struct bloscfs_fd *f)
{
	bfs_fd_unref((struct bfs_fd *)f);
}

int bloscfs_fd_take(struct bloscfs_fd *f)
{
	return f ? bfs_fd_take((struct bfs_fd *)f) : -EINVAL;
}

void bloscfs_fd_give(struct bloscfs_fd *f)
{
	if (f)
		bfs_fd_give((struct bfs_fd *)f);
}

void bloscfs_fd_set_limit(size_t n)
{
	bfs_fd_set_limit(n);
}

size_t bloscfs_fd_count(void)
{
	return bfs_fd_count();
}

bool bloscfs_fd_may_retry(int error)
{
	return bfs_fd_may_retry(error);
}

void bloscfs_avoid(bool (*avoid)(int dirfd, const char *name))
{
	bfs_source_set_avoid(avoid);
}
