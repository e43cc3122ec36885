/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk.c - see walk.h. By openat2, or component by component where another
 * mount lies on the way and on kernels without it.
 */
#include "tree/walk.h"

#include "bloscfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_beneath(int base, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};
	long fd;

	do {
		fd = syscall(SYS_openat2, base, path, &how, sizeof(how));
	} while (fd < 0 && (errno == EINTR || errno == EAGAIN ||
			    bloscfs_fd_may_retry(errno)));
	return fd < 0 ? -errno : (int)fd;
}

/* The place that dir and name are, without access to what lies there. */
static int open_place(int dir, const char *name, struct nested *ret_nested)
{
	int fd, status;

	if (strcmp(name, "..") == 0)
		return -EXDEV;
	do {
		fd = openat(dir, name, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	} while (fd < 0 && bloscfs_fd_may_retry(errno));
	if (fd < 0)
		return -errno;
	/* Where the walk begins we are already. */
	*ret_nested = (struct nested){ 0 };
	status = strcmp(name, ".") == 0 ? 0 :
		 nested_look(fd, "", ret_nested);
	if (status) {
		close(fd);
		return status;
	}
	return fd;
}

/* Access to a place. dir and name lead there as far as we know. */
static int open_at_place(int place, int dir, const char *name, int flags)
{
	char link[32];
	int fd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	do {
		fd = open(link, flags | O_CLOEXEC);
	} while (fd < 0 && bloscfs_fd_may_retry(errno));
	if (fd < 0 && errno == ENOENT)
		fd = openat(dir, name, flags | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

/* Component by component. -EXDEV where a mount of bloscfs lies on the way or
 * at the end; in that last case it is described. */
static int walk(int base, const char *path, int flags,
		struct nested *ret_nested)
{
	struct nested nested = { 0 };
	char name[NAME_MAX + 1];
	int dir = base, place, fd;
	size_t len;

	for (;; path += len + 1) {
		len = strcspn(path, "/");
		if (len > NAME_MAX) {
			place = -ENAMETOOLONG;
		} else {
			memcpy(name, path, len);
			name[len] = '\0';
			place = open_place(dir, name, &nested);
		}
		if (!path[len] || place < 0 || nested.is_bloscfs)
			break;
		if (dir != base)
			close(dir);
		dir = place;
	}
	fd = place;
	if (place >= 0 && nested.is_bloscfs)
		fd = -EXDEV;
	else if (place >= 0 && !(flags & O_PATH))
		fd = open_at_place(place, dir, name, flags);
	if (place >= 0 && fd != place)
		close(place);
	if (dir != base)
		close(dir);
	if (!path[len] && place >= 0)
		*ret_nested = nested;
	return fd;
}

/* A path as long as the kernel takes, or longer: then piece by piece. */
static int open_long(int base, const char *path, int flags)
{
	char piece[PATH_MAX];
	const char *end;
	int dir = base, next;

	while (strlen(path) >= sizeof(piece)) {
		end = memrchr(path, '/', sizeof(piece));
		if (!end) {
			next = -ENAMETOOLONG;
		} else {
			memcpy(piece, path, (size_t)(end - path));
			piece[end - path] = '\0';
			next = open_beneath(dir, piece, O_PATH | O_DIRECTORY);
			path = end + 1;
		}
		if (dir != base)
			close(dir);
		if (next < 0)
			return next;
		dir = next;
	}
	next = open_beneath(dir, path, flags);
	if (dir != base)
		close(dir);
	return next;
}

/* Some sandboxes answer EPERM where the call is unknown to them. */
bool walk_lacks_openat2(int root_fd)
{
	int fd = open_beneath(root_fd, ".", O_PATH);

	if (fd >= 0)
		close(fd);
	return fd == -ENOSYS || fd == -EPERM;
}

int walk_open(int base, const char *path, int flags, bool plainly,
	      struct nested *ret_nested)
{
	int fd = -EXDEV;

	*ret_nested = (struct nested){ 0 };
	if (*path == '\0')
		path = ".";
	/* Where no other mount lies on the way few calls do it. */
	if (!plainly)
		fd = open_long(base, path, flags);
	return fd == -EXDEV ? walk(base, path, flags, ret_nested) : fd;
}
