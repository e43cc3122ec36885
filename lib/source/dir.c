/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dir.c - see dir.h. Those of a file system are opened by source/below.
 */
#include "source/dir.h"

#include "base/mem.h"
#include "source/below.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_CAP 256		/* of what a container calls its files */

struct bfs_dir {
	atomic_uint refs;
	struct bfs_fd *fd;		/* NULL: a caller's own */
	/* Of a caller's own: the topmost one has the functions, those below it
	 * point to it, and have their path from there. */
	struct bfs_dir_callback how;
	struct bfs_dir *top;		/* NULL: this is the topmost */
	char path[];			/* "" in the topmost */
};

static struct bfs_dir *new_dir(const char *path)
{
	size_t len = strlen(path) + 1;
	struct bfs_dir *dir = bfs_zalloc(1, offsetof(struct bfs_dir, path) +
						 len);

	if (!dir)
		return NULL;
	atomic_init(&dir->refs, 1);
	memcpy(dir->path, path, len);
	return dir;
}

static enum bfs_err no_memory(struct bfs_diag *diag)
{
	return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
}

enum bfs_err bfs_dir_fd(int dirfd, struct bfs_dir **ret_dir,
			struct bfs_diag *diag)
{
	struct bfs_dir *dir = new_dir("");
	int fd, error;

	if (!dir)
		return no_memory(diag);
	do {
		fd = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
		error = errno;
	} while (fd < 0 && bfs_fd_may_retry(error));
	dir->fd = fd >= 0 ? bfs_fd_new(fd) : NULL;
	if (dir->fd) {
		*ret_dir = dir;
		return BFS_OK;
	}
	bfs_free(dir);
	if (fd < 0)
		return bfs_source_errno(error, "the directory cannot be "
					"opened again", 0, diag);
	close(fd);
	return no_memory(diag);
}

enum bfs_err bfs_dir_callback(const struct bfs_dir_callback *how,
			      struct bfs_dir **ret_dir, struct bfs_diag *diag)
{
	struct bfs_dir *dir = new_dir("");

	if (!dir)
		return no_memory(diag);
	dir->how = *how;
	*ret_dir = dir;
	return BFS_OK;
}

struct bfs_dir *bfs_dir_ref(struct bfs_dir *dir)
{
	atomic_fetch_add_explicit(&dir->refs, 1, memory_order_relaxed);
	return dir;
}

void bfs_dir_unref(struct bfs_dir *dir)
{
	if (!dir || atomic_fetch_sub(&dir->refs, 1) != 1)
		return;
	bfs_fd_unref(dir->fd);
	bfs_dir_unref(dir->top);
	if (dir->how.close)
		dir->how.close(dir->how.arg);
	bfs_free(dir);
}

static const struct bfs_dir_callback *how_of(const struct bfs_dir *dir)
{
	return dir->top ? &dir->top->how : &dir->how;
}

/* The path of what is called name in a caller's own. */
static enum bfs_err join(const struct bfs_dir *dir, const char *name,
			 char path[PATH_CAP], struct bfs_diag *diag)
{
	int len = snprintf(path, PATH_CAP, "%s%s%s", dir->path,
			   *dir->path ? "/" : "", name);

	return len < PATH_CAP ? BFS_OK :
	       bfs_fail(diag, BFS_ERR_LIMIT, 0, "a name is too long");
}

static struct bfs_dir *fd_below(struct bfs_dir *dir, const char *name)
{
	struct bfs_fd *fd = bfs_below_dir(dir->fd, name);
	struct bfs_dir *below = fd ? new_dir("") : NULL;

	if (below)
		below->fd = fd;
	else
		bfs_fd_unref(fd);
	return below;
}

struct bfs_dir *bfs_dir_below(struct bfs_dir *dir, const char *name)
{
	const struct bfs_dir_callback *how = how_of(dir);
	enum bfs_there there = BFS_NOTHING;
	char path[PATH_CAP];
	struct bfs_dir *below;
	uint64_t len;

	if (dir->fd)
		return fd_below(dir, name);
	if (join(dir, name, path, NULL) != BFS_OK ||
	    how->find(how->arg, path, &there, &len, NULL) != BFS_OK ||
	    there != BFS_FOLDER)
		return NULL;
	below = new_dir(path);
	if (below)
		below->top = bfs_dir_ref(dir->top ? dir->top : dir);
	return below;
}

enum bfs_err bfs_dir_file(struct bfs_dir *dir, const char *name,
			  const struct bfs_guard *guard,
			  struct bfs_source **ret_source,
			  struct bfs_diag *diag)
{
	const struct bfs_dir_callback *how = how_of(dir);
	struct bfs_source *source = NULL;
	char path[PATH_CAP];

	if (dir->fd)
		return bfs_below_file(dir->fd, name, guard, ret_source, diag);
	BFS_TRY(join(dir, name, path, diag));
	BFS_TRY(how->open(how->arg, path, &source, diag));
	if (!source)
		return bfs_source_errno(ENOENT, "open", 0, diag);
	*ret_source = source;
	return BFS_OK;
}

static bool fd_has(struct bfs_dir *dir, const char *name, uint64_t *ret_len)
{
	int fd = bfs_fd_take(dir->fd), error = -fd;
	struct stat st;

	if (fd >= 0 && bfs_source_avoids(fd, name)) {
		bfs_fd_give(dir->fd);
		return false;
	}
	if (fd >= 0) {
		error = fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ?
			errno : 0;
		bfs_fd_give(dir->fd);
	}
	if (error) {
		(void)bfs_source_errno(error, name, 0, NULL);
		return false;
	}
	*ret_len = (uint64_t)st.st_size;
	return S_ISREG(st.st_mode);
}

bool bfs_dir_has(struct bfs_dir *dir, const char *name, uint64_t *ret_len)
{
	const struct bfs_dir_callback *how = how_of(dir);
	enum bfs_there there = BFS_NOTHING;
	char path[PATH_CAP];

	if (dir->fd)
		return fd_has(dir, name, ret_len);
	return join(dir, name, path, NULL) == BFS_OK &&
	       how->find(how->arg, path, &there, ret_len, NULL) == BFS_OK &&
	       there == BFS_FILE;
}

/* A descriptor of our own: what is read on is the other's place, too. */
static DIR *open_list(struct bfs_fd *from, int *ret_error)
{
	int dirfd = bfs_fd_take(from), fd = -1;
	DIR *list;

	*ret_error = -dirfd;
	if (dirfd < 0)
		return NULL;
	fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*ret_error = errno;
	bfs_fd_give(from);
	if (fd < 0)
		return NULL;
	list = fdopendir(fd);
	*ret_error = errno;
	if (!list)
		close(fd);
	return list;
}

enum bfs_err bfs_dir_each(struct bfs_dir *dir,
			  bool (*each)(void *arg, const char *name), void *arg,
			  struct bfs_diag *diag)
{
	const struct dirent *entry;
	bool go_on = true;
	DIR *list;
	int error;

	if (!dir->fd)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"the folder is not to be listed");
	list = open_list(dir->fd, &error);
	if (!list)
		return bfs_source_errno(error, "open", 0, diag);
	while (go_on && (errno = 0, entry = readdir(list))) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			go_on = each(arg, entry->d_name);
	}
	error = go_on ? errno : 0;
	closedir(list);
	return error ? bfs_source_errno(error, "readdir", 0, diag) : BFS_OK;
}

bool bfs_dir_set_how(struct bfs_dir *dir, const struct bfs_fd_how *how)
{
	if (!dir->fd)
		return false;
	bfs_fd_set_how(dir->fd, how);
	return true;
}

bool bfs_dir_is_nameless(const struct bfs_dir *dir)
{
	return dir->fd && bfs_fd_is_nameless(dir->fd);
}
