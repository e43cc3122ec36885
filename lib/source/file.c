/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file.c - a regular file as a source: pread, and a look at fstat to see
 * whether it is still the file that was opened. Where it is asked for, pages
 * are given back to the kernel behind who reads: decoded blocks are cached, and
 * often the kernel has the decoded bytes as pages too. Pages that are dirty or
 * mapped it keeps.
 */
#include "source/source.h"

#include "base/bytes.h"
#include "base/call.h"
#include "base/mem.h"
#include "source/behind.h"
#include "source/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of other C libraries than glibc: musl's texts are fixed, in any thread. */
#ifndef __GLIBC__
#define strerrordesc_np strerror
#endif

struct file {
	struct bfs_source base;
	struct bfs_fd *fd;
	struct bfs_guard guard;
	_Atomic int64_t ctime_ns;	/* when the guard was asked */
	struct bfs_behind *behind;	/* NULL: pages stay */
	atomic_bool wanted;		/* asked for ahead, and maybe not read:
					 * what is left goes when it rests */
};

static struct bfs_source_id identify(const struct stat *st)
{
	struct bfs_source_id id = {
		.dev = (uint64_t)st->st_dev,
		.ino = (uint64_t)st->st_ino,
		.len = (uint64_t)st->st_size,
		.mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 +
			    (int64_t)st->st_mtim.tv_nsec,
	};

	return id;
}

static enum bfs_err err_of(int error)
{
	switch (error) {
	case EMFILE:
	case ENFILE:
		return BFS_ERR_NO_FILES;
	case ENOMEM:
		return BFS_ERR_NOMEM;
	case ESTALE:
		return BFS_ERR_CHANGED;
	case ENOENT:
	case ENOTDIR:
	case ELOOP:
	case ENXIO:
		return BFS_ERR_CORRUPT;	/* something else is there, or none */
	default:
		return BFS_ERR_IO;
	}
}

enum bfs_err bfs_source_errno(int error, const char *deed, uint64_t off,
			      struct bfs_diag *diag)
{
	enum bfs_err err = err_of(error);

	return bfs_fail(diag, err, off, "%s: %s", deed,
			strerrordesc_np(error));
}

/* Opening the file once more failed. */
static enum bfs_err lost(int error, struct bfs_diag *diag)
{
	if (err_of(error) != BFS_ERR_CORRUPT)
		return bfs_source_errno(error, "open", 0, diag);
	return bfs_fail(diag, BFS_ERR_CHANGED, 0, "the file is no longer to "
			"be found where it was: %s", strerrordesc_np(error));
}

static int64_t ctime_of(const struct stat *st)
{
	return (int64_t)st->st_ctim.tv_sec * 1000000000 +
	       (int64_t)st->st_ctim.tv_nsec;
}

/* Asks the guard, unless the change time is the one it was asked about. */
static bool may_pass(struct file *f, int fd, const struct stat *st)
{
	int64_t ctime_ns = ctime_of(st);

	if (!f->guard.may ||
	    atomic_load_explicit(&f->ctime_ns, memory_order_relaxed) ==
	    ctime_ns)
		return true;
	if (!f->guard.may(f->guard.arg, fd))
		return false;
	atomic_store_explicit(&f->ctime_ns, ctime_ns, memory_order_relaxed);
	return true;
}

static enum bfs_err check_file(struct bfs_source *s, struct bfs_diag *diag)
{
	struct file *f = (struct file *)s;
	int fd = bfs_fd_take(f->fd), error;
	bool may;
	struct bfs_source_id id;
	struct stat st;

	if (fd < 0)
		return lost(-fd, diag);
	error = fstat(fd, &st) < 0 ? errno : 0;
	may = error || may_pass(f, fd, &st);
	bfs_fd_give(f->fd);
	if (error)
		return bfs_source_errno(error, "fstat", 0, diag);
	id = identify(&st);
	if (!bfs_source_same(&id, &s->id))
		return bfs_fail(diag, BFS_ERR_CHANGED, 0,
				"the file was written to since it was opened");
	if (!may)
		return bfs_fail(diag, BFS_ERR_CHANGED, 0,
				"fewer users may read the file than the "
				"container");
	return BFS_OK;
}

static enum bfs_err read_fd(int fd, uint64_t off, void *buf, size_t len,
			    struct bfs_diag *diag)
{
	uint8_t *to = buf;

	BFS_TRY(bfs_call_spend(len, "reading", diag));
	while (len > 0) {
		ssize_t n = pread(fd, to, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return bfs_source_errno(errno, "read", off, diag);
		if (n == 0)
			return bfs_fail(diag, BFS_ERR_CHANGED, off,
					"the file became shorter since it was "
					"opened");
		to += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return BFS_OK;
}

static void drop(int fd, const struct bfs_range *range)
{
	/* A length of 0 would say: all the rest. */
	if (range->len)
		posix_fadvise(fd, (off_t)range->off, (off_t)range->len,
			      POSIX_FADV_DONTNEED);
}

static void leave_behind(struct file *f, int fd, uint64_t off, uint64_t len)
{
	struct bfs_range due;

	if (f->behind && bfs_behind_note(f->behind, off, len, &due))
		drop(fd, &due);
}

static enum bfs_err read_file(struct bfs_source *s, uint64_t off, void *buf,
			      size_t len, struct bfs_diag *diag)
{
	struct bfs_fd *held = ((struct file *)s)->fd;
	int fd = bfs_fd_take(held);
	enum bfs_err err;

	if (fd < 0)
		return lost(-fd, diag);
	err = read_fd(fd, off, buf, len, diag);
	leave_behind((struct file *)s, fd, off, len);
	bfs_fd_give(held);
	return err;
}

static void will_need_file(struct bfs_source *s, uint64_t off, uint64_t len)
{
	struct bfs_fd *held = ((struct file *)s)->fd;
	int fd = bfs_fd_take(held);

	if (fd < 0)
		return;
	if (((struct file *)s)->behind)
		atomic_store_explicit(&((struct file *)s)->wanted, true,
				      memory_order_relaxed);
	posix_fadvise(fd, (off_t)off, (off_t)len, POSIX_FADV_WILLNEED);
	bfs_fd_give(held);
}

static void rest_file(struct bfs_source *s)
{
	struct file *f = (struct file *)s;
	struct bfs_range due;
	int fd;

	if (!f->behind)
		return;
	fd = bfs_fd_take_open(f->fd);
	if (fd < 0)
		return;
	while (bfs_behind_rest(f->behind, &due))
		drop(fd, &due);
	if (atomic_exchange_explicit(&f->wanted, false, memory_order_relaxed))
		drop(fd, &(struct bfs_range){ 0, s->len });
	bfs_fd_give(f->fd);
}

static void close_file(struct bfs_source *s)
{
	struct file *f = (struct file *)s;

	rest_file(s);
	bfs_behind_free(f->behind);
	bfs_fd_unref(f->fd);
	bfs_free(f);
}

static const struct bfs_source_ops file_ops = {
	.read = read_file,
	.check = check_file,
	.will_need = will_need_file,
	.rest = rest_file,
	.close = close_file,
};

enum bfs_err bfs_source_file(int fd, struct bfs_source **ret_source,
			     struct bfs_diag *diag)
{
	struct file *f;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return bfs_source_errno(errno, "fstat", 0, diag);
	if (!S_ISREG(st.st_mode))
		return bfs_fail(diag, BFS_ERR_NOT_FORMAT, 0,
				"not a regular file");
	f = bfs_zalloc(1, sizeof(*f));
	if (!f)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	f->base.ops = &file_ops;
	f->base.len = (uint64_t)st.st_size;
	f->base.id = identify(&st);
	f->base.refs = 1;
	f->fd = bfs_fd_new(fd);
	if (!f->fd) {
		bfs_free(f);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	}
	/* No read-ahead by the kernel: it would fetch bytes of blocks that
	 * nobody wants. What is wanted soon is said by will_need. */
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	*ret_source = &f->base;
	return BFS_OK;
}

bool bfs_source_is_nameless(const struct bfs_source *s)
{
	return s->ops == &file_ops &&
	       bfs_fd_is_nameless(((const struct file *)s)->fd);
}

bool bfs_source_set_how(struct bfs_source *s, const struct bfs_fd_how *how)
{
	if (s->ops != &file_ops)
		return false;
	bfs_fd_set_how(((struct file *)s)->fd, how);
	return true;
}

bool bfs_source_drop_behind(struct bfs_source *s)
{
	struct file *f = (struct file *)s;

	if (s->ops != &file_ops || s->len == 0)
		return true;
	f->behind = bfs_behind_new(s->len);
	return f->behind != NULL;
}

static bool (*avoid_name)(int dirfd, const char *name);

void bfs_source_set_avoid(bool (*avoid)(int dirfd, const char *name))
{
	avoid_name = avoid;
}

bool bfs_source_avoids(int dirfd, const char *name)
{
	return avoid_name && avoid_name(dirfd, name);
}

enum bfs_err bfs_source_guarded(int dirfd, const char *name,
				const struct bfs_guard *guard,
				struct bfs_source **ret_source,
				struct bfs_diag *diag)
{
	struct bfs_source *source;
	enum bfs_err err;
	int fd;

	if (strchr(name, '/'))
		return bfs_fail(diag, BFS_ERR_INVALID, 0,
				"a member's name has a slash");
	if (bfs_source_avoids(dirfd, name))
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"%s lies on a mount that is not entered", name);
	/* O_NONBLOCK: opening must not wait where a FIFO is in its place. */
	do {
		fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
					 O_NOCTTY | O_CLOEXEC);
	} while (fd < 0 && (errno == EINTR ||
			     bfs_fd_may_retry(errno)));
	if (fd < 0)
		return bfs_source_errno(errno, name, 0, diag);
	err = bfs_source_file(fd, &source, diag);
	if (err == BFS_OK && guard && guard->drop_behind &&
	    !bfs_source_drop_behind(source)) {
		bfs_source_unref(source);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	}
	if (err == BFS_OK && guard && guard->may) {
		((struct file *)source)->guard = *guard;
		err = bfs_source_check(source, diag);
		if (err != BFS_OK) {
			bfs_source_unref(source);
			return err;
		}
	}
	if (err == BFS_OK) {
		*ret_source = source;
		return BFS_OK;
	}
	close(fd);
	if (err == BFS_ERR_NOT_FORMAT)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"%s is not a regular file", name);
	return err;
}

enum bfs_err bfs_source_member(int dirfd, const char *name,
			       struct bfs_source **ret_source,
			       struct bfs_diag *diag)
{
	return bfs_source_guarded(dirfd, name, NULL, ret_source, diag);
}
