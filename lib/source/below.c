/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * below.c - a file is opened again by its directory and its name there. What is
 * found under that name is used only if it is the same file, unchanged.
 */
#include "source/below.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
/* O_NONBLOCK: opening must not wait where a FIFO is in its place. */
#define FILE_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

struct way {
	struct bfs_fd *dir;
	struct bfs_source_id id;
	bool is_dir;
	char name[];
};

static bool is_same(const struct way *way, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || (uint64_t)st.st_dev != way->id.dev ||
	    (uint64_t)st.st_ino != way->id.ino)
		return false;
	/* The time of a directory says nothing about the files in it. */
	return way->is_dir ||
	       ((uint64_t)st.st_size == way->id.len &&
		(int64_t)st.st_mtim.tv_sec * 1000000000 +
		st.st_mtim.tv_nsec == way->id.mtime_ns);
}

static int go(void *arg)
{
	const struct way *way = arg;
	int dirfd = bfs_fd_take(way->dir), fd = -1, error = ESTALE;

	if (dirfd < 0)
		return dirfd;
	if (!bfs_source_avoids(dirfd, way->name)) {
		fd = openat(dirfd, way->name,
			    way->is_dir ? DIR_FLAGS : FILE_FLAGS);
		error = errno;
	}
	bfs_fd_give(way->dir);
	if (fd < 0)
		return -error;
	if (is_same(way, fd))
		return fd;
	close(fd);
	return -ESTALE;
}

static void forget(void *arg)
{
	struct way *way = arg;

	bfs_fd_unref(way->dir);
	bfs_free(way);
}

static struct way *remember(struct bfs_fd *dir, const char *name)
{
	size_t len = strlen(name) + 1;
	struct way *way = bfs_zalloc(1, offsetof(struct way, name) + len);

	if (!way)
		return NULL;
	memcpy(way->name, name, len);
	way->dir = bfs_fd_ref(dir);
	return way;
}

static struct bfs_fd_how how_of(struct way *way)
{
	return (struct bfs_fd_how){ go, forget, way };
}

/* -1 where there is none; the reason is counted (moment.h). */
static int open_dir(int dirfd, const char *name)
{
	int fd;

	if (bfs_source_avoids(dirfd, name))
		return -1;
	do {
		fd = openat(dirfd, name, DIR_FLAGS);
	} while (fd < 0 && (errno == EINTR || bfs_fd_may_retry(errno)));
	if (fd < 0)
		(void)bfs_source_errno(errno, name, 0, NULL);
	return fd;
}

struct bfs_fd *bfs_below_dir(struct bfs_fd *dir, const char *name)
{
	struct way *way = remember(dir, name);
	struct bfs_fd_how how = how_of(way);
	struct bfs_fd *f = NULL;
	struct stat st;
	int dirfd, fd = -1;

	if (!way)
		return NULL;
	way->is_dir = true;
	dirfd = bfs_fd_take(dir);
	if (dirfd >= 0) {
		fd = open_dir(dirfd, name);
		bfs_fd_give(dir);
	} else {
		(void)bfs_source_errno(-dirfd, "the directory", 0, NULL);
	}
	if (fd >= 0 && fstat(fd, &st) == 0)
		f = bfs_fd_new(fd);
	if (f) {
		way->id.dev = (uint64_t)st.st_dev;
		way->id.ino = (uint64_t)st.st_ino;
		bfs_fd_set_how(f, &how);
		return f;
	}
	if (fd >= 0)
		close(fd);
	forget(way);
	return NULL;
}

enum bfs_err bfs_below_file(struct bfs_fd *dir, const char *name,
			    const struct bfs_guard *guard,
			    struct bfs_source **ret_source,
			    struct bfs_diag *diag)
{
	struct way *way = remember(dir, name);
	struct bfs_fd_how how = how_of(way);
	struct bfs_source *source;
	enum bfs_err err;
	int dirfd;

	if (!way)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	dirfd = bfs_fd_take(dir);
	if (dirfd < 0) {
		forget(way);
		return bfs_source_errno(-dirfd, "the directory", 0, diag);
	}
	err = bfs_source_guarded(dirfd, name, guard, &source, diag);
	bfs_fd_give(dir);
	if (err != BFS_OK) {
		forget(way);
		return err;
	}
	way->id = source->id;
	bfs_source_set_how(source, &how);
	*ret_source = source;
	return BFS_OK;
}
