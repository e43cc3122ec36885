/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source.c - what lies at a path below SOURCE: its stat, its kind, and access.
 */
#include "tree/source.h"

#include "bloscfs.h"
#include "tree/choice.h"
#include "tree/far.h"
#include "tree/nested.h"
#include "tree/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A FIFO must not block us, a terminal must not become ours. */
#define FILE_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY)

static int reach(const struct src *src, int base, const char *path, int flags,
		 struct nested *ret_nested)
{
	if (base < 0) {
		base = src->sides.n ? sides_enter(&src->sides, &path) :
				      src->root_fd;
		*ret_nested = (struct nested){ 0 };
		if (base < 0)
			return base;
	}
	return walk_open(base, path, flags, src->plain_walk, ret_nested);
}

int src_at(const struct src *src, int base, const char *path, int flags)
{
	struct nested nested;

	return reach(src, base, path, flags, &nested);
}

int src_parent(const struct src *src, int base, const char *path,
	       const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char *above;
	int fd;

	*ret_name = slash ? slash + 1 : *path ? path : ".";
	if (!slash && base < 0 && src->sides.n)
		return sides_look(&src->sides, path, ret_name);
	if (!slash)
		return base < 0 ? src->root_fd : base;
	above = strndup(path, (size_t)(slash - path));
	if (!above)
		return -ENOMEM;
	fd = src_at(src, base, above, O_PATH | O_DIRECTORY);
	free(above);
	return fd;
}

void src_leave(const struct src *src, int base, int parent)
{
	if (parent >= 0 && parent != (base < 0 ? src->root_fd : base) &&
	    !(base < 0 && sides_own(&src->sides, parent)))
		close(parent);
}

static void convert(struct src_stat *to, const struct stat *from)
{
	*to = (struct src_stat){
		.dev = from->st_dev, .ino = from->st_ino,
		.size = (uint64_t)from->st_size,
		.blocks = (uint64_t)from->st_blocks,
		.mtime_sec = from->st_mtim.tv_sec,
		.mtime_nsec = (uint32_t)from->st_mtim.tv_nsec,
		.mode = from->st_mode, .uid = from->st_uid,
		.gid = from->st_gid, .nlink = (uint32_t)from->st_nlink,
		.blksize = (uint32_t)from->st_blksize,
		.own_mtime_sec = from->st_mtim.tv_sec,
		.own_mtime_nsec = (uint32_t)from->st_mtim.tv_nsec,
		.ctime_ns = (int64_t)from->st_ctim.tv_sec * 1000000000 +
			    from->st_ctim.tv_nsec,
	};
}

/* What passes, and says nothing about whether a file is there. */
static bool is_of_the_moment(int error)
{
	return error == -EIO || error == -ENOMEM || error == -EMFILE ||
	       error == -ENFILE || error == -EINTR || error == -ESTALE;
}

/* 1 where dir_fd holds a regular file of that name, else 0; or -errno where
 * that cannot be told now. */
static int stat_below(const struct src *src, int dir_fd, const char *name,
		      struct stat *ret_stat)
{
	int fd = src_at(src, dir_fd, name, O_PATH), status = fd;

	if (fd >= 0) {
		status = fstat(fd, ret_stat) < 0 ? -errno :
			 S_ISREG(ret_stat->st_mode);
		close(fd);
	}
	return status >= 0 || is_of_the_moment(status) ? status : 0;
}

/* The file that a directory must have to be a container. */
static int add_index(const struct src *src, struct src_stat *to, int dir_fd)
{
	const char *name;
	int found = 0;
	struct stat st;
	uint32_t i;

	for (i = 0; !found && (name = bloscfs_dir_index(i)); i++)
		if (src->tables || !bloscfs_dir_is_beside(i))
			found = stat_below(src, dir_fd, name, &st);
	if (found <= 0)
		return found;
	to->index = i - 1;
	to->index_mode = st.st_mode;
	to->size = (uint64_t)st.st_size;
	to->mtime_sec = st.st_mtim.tv_sec;
	to->mtime_nsec = (uint32_t)st.st_mtim.tv_nsec;
	return 0;
}

/* What an open descriptor is. */
static int stat_fd(const struct src *src, int fd,
		   struct src_stat *ret_stat)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	convert(ret_stat, &st);
	return S_ISDIR(st.st_mode) ? add_index(src, ret_stat, fd) : 0;
}

/* A mount of bloscfs is not asked who it is: an empty folder of those who own
 * the source. */
static int stat_nested(const struct src *src, int dir_fd,
		       const struct nested *nested, struct src_stat *ret_stat)
{
	struct stat st;

	if (fstat(src->sides.n ? dir_fd : src->root_fd, &st) < 0)
		return -errno;
	convert(ret_stat, &st);
	ret_stat->dev = nested->dev;
	ret_stat->ino = nested->id;
	ret_stat->size = ret_stat->blocks = 0;
	ret_stat->mode = S_IFDIR | 0555;
	ret_stat->nlink = 2;
	ret_stat->nested = true;
	return 0;
}

/* One component cannot lead anywhere else. */
static int stat_at(const struct src *src, int dir_fd, const char *name,
		   struct src_stat *ret_stat)
{
	struct nested nested = { 0 };
	struct stat st;
	int fd, status = 0;

	/* Where the walk begins we are already. */
	if (strcmp(name, ".") != 0)
		status = nested_look(dir_fd, name, &nested);
	if (status)
		return status;
	if (nested.is_bloscfs)
		return stat_nested(src, dir_fd, &nested, ret_stat);
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW |
				       AT_NO_AUTOMOUNT) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode)) {
		convert(ret_stat, &st);
		return 0;
	}
	fd = reach(src, dir_fd, name, O_PATH, &nested);
	if (fd == -EXDEV && nested.is_bloscfs)
		return stat_nested(src, dir_fd, &nested, ret_stat);
	if (fd < 0)
		return fd;
	status = stat_fd(src, fd, ret_stat);
	close(fd);
	return status;
}

int src_stat(const struct src *src, int base, const char *path,
	     struct src_stat *ret_stat)
{
	const char *name;
	int parent, status;

	if (src->far)
		return far_look(src->far, path, ret_stat);
	if (base < 0 && src->sides.n && !*path) {
		sides_stat(&src->sides, ret_stat);
		return 0;
	}
	parent = src_parent(src, base, path, &name);
	if (parent < 0)
		return parent;
	status = stat_at(src, parent, name, ret_stat);
	src_leave(src, base, parent);
	return status;
}

/* type: what it must be. */
static int open_as(const struct src *src, int base, const char *path,
		   int flags, mode_t type, struct src_stat *ret_stat)
{
	struct src_stat st;
	int fd = src_at(src, base, path, flags), status;

	if (fd < 0)
		return fd;
	status = stat_fd(src, fd, &st);
	if (!status && (st.mode & S_IFMT) != type)
		status = -ESTALE;
	if (status) {
		close(fd);
		return status;
	}
	*ret_stat = st;
	return fd;
}

int src_open_file(const struct src *src, int base, const char *path,
		  struct src_stat *ret_stat)
{
	return open_as(src, base, path, FILE_FLAGS, S_IFREG, ret_stat);
}

int src_open_dir(const struct src *src, int base, const char *path,
		 struct src_stat *ret_stat)
{
	return open_as(src, base, path, O_RDONLY | O_DIRECTORY, S_IFDIR,
		       ret_stat);
}

static bool ends_in(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len >= end_len && strcmp(name + len - end_len, end) == 0;
}

bool src_hides(const char *name)
{
	return ends_in(name, ".b2lock");
}

/* NOT_FORMAT, too, where it is left as it is. */
static enum bloscfs_err probe(const struct src *src, int fd, const char *path,
			      bool is_dir)
{
	const char *name = sides_hint(&src->sides, path), *format;
	enum bloscfs_err err;

	err = is_dir ? bloscfs_probe_dir(fd, &format) :
	      bloscfs_probe(fd, name, &format);
	if (err == BLOSCFS_OK && src->choice &&
	    !choice_takes(src->choice, format, name))
		return BLOSCFS_ERR_NOT_FORMAT;
	return err;
}

static int look_inside(const struct src *src, int base, const char *path,
		       bool is_dir, enum src_kind *ret_kind)
{
	enum src_kind otherwise = is_dir ? SRC_DIR : SRC_PLAIN;
	struct src_stat st;
	enum bloscfs_err err;
	int fd = is_dir ? src_open_dir(src, base, path, &st) :
			  src_open_file(src, base, path, &st);

	if (fd == -EACCES || fd == -EPERM) {
		*ret_kind = otherwise;
		return 0;
	}
	if (fd < 0)
		return fd;
	err = probe(src, fd, path, is_dir);
	close(fd);
	if (err != BLOSCFS_OK && err != BLOSCFS_ERR_NOT_FORMAT)
		return -bloscfs_err_errno(err);
	*ret_kind = err == BLOSCFS_OK ? SRC_CONTAINER : otherwise;
	return 0;
}

enum src_kind src_plain_kind(const struct src_stat *stat)
{
	switch (stat->mode & S_IFMT) {
	case S_IFDIR:
		return SRC_DIR;
	case S_IFLNK:
		return SRC_LINK;
	case S_IFREG:
		return SRC_PLAIN;
	default:
		return SRC_HIDDEN;
	}
}

int src_kind(const struct src *src, int base, const char *path,
	     const struct src_stat *stat, enum src_kind *ret_kind)
{
	if (src->far)
		return far_judge(src->far, src->choice, path, stat, ret_kind);
	if (S_ISREG(stat->mode) ||
	    (S_ISDIR(stat->mode) && stat->index_mode))
		return look_inside(src, base, path, S_ISDIR(stat->mode),
				   ret_kind);
	*ret_kind = src_plain_kind(stat);
	return 0;
}

/* Splits an absolute path into an open directory and a name. */
static int open_parent(const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash == path ? 1 : (size_t)(slash - path);
	char *parent = strndup(path, len);
	int fd;

	if (!parent)
		return -ENOMEM;
	fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == EACCES)
		fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = fd < 0 ? -errno : fd;
	free(parent);
	*ret_name = slash + 1;
	return fd;
}

static int open_root(struct src *src, const char *path, bool is_dir)
{
	const char *name;
	int fd;

	if (is_dir) {
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	fd = open_parent(path, &name);
	if (fd < 0)
		return fd;
	src->file = strdup(name);
	if (!src->file) {
		close(fd);
		return -ENOMEM;
	}
	return fd;
}

int src_open(struct src *src, const char *path)
{
	struct stat st;
	char *real = realpath(path, NULL);
	int fd;

	*src = (struct src){ .root_fd = -1 };
	if (!real)
		return -errno;
	if (stat(real, &st) < 0)
		fd = -errno;
	else if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		fd = -ENOTSUP;
	else
		fd = open_root(src, real, S_ISDIR(st.st_mode));
	free(real);
	if (fd < 0)
		return fd;
	src->root_fd = fd;
	src->plain_walk = walk_lacks_openat2(fd);
	return 0;
}

void src_close(struct src *src)
{
	if (src->root_fd >= 0)
		close(src->root_fd);
	far_close(src->far);
	sides_close(&src->sides);
	free(src->file);
	*src = (struct src){ .root_fd = -1 };
}
