/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_list.c - lists of rights (POSIX ACLs) of what lies below SOURCE.
 */
#include "tree/source_list.h"

#include "tree/source_xattr.h"

#include <errno.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

/* FUSE_SUPER_MAGIC of the kernel, which tells it to no program. */
#define FUSE_MAGIC 0x65735546

/* Adds what reading a list came to: its length, or -errno. */
static int add_list(struct rights *rights, const void *list, ssize_t len)
{
	if (len == -ENODATA || len == -EOPNOTSUPP || len == 0)
		return 0;
	if (len > 0)
		rights_add_xattr(rights, list, (size_t)len);
	else if (len == -ERANGE || len == -E2BIG || len == -EACCES ||
		 len == -EPERM)
		rights_add_unknown(rights);
	else
		return (int)len;
	return 0;
}

/* Some filesystems of FUSE (rclone's) have no attributes and say EIO to each
 * that is asked for: no more can be known there, ever. */
static ssize_t never_told(int fd, ssize_t len)
{
	struct statfs fs;

	return len == -EIO && !fstatfs(fd, &fs) && fs.f_type == FUSE_MAGIC ?
		       -EACCES : len;
}

int source_list_at(struct rights *rights, int dir_fd, const char *file)
{
	char list[RIGHTS_XATTR_MAX];
	ssize_t len = source_xattr_at(dir_fd, file, RIGHTS_ACCESS, list,
				      sizeof(list));

	return add_list(rights, list, never_told(dir_fd, len));
}

struct rights source_list_bare(const struct stat *st)
{
	return (struct rights){ st->st_uid, st->st_gid, st->st_mode & 07777,
				NULL };
}

int source_list_fd(struct rights *rights, int fd)
{
	char list[RIGHTS_XATTR_MAX];
	ssize_t len = fgetxattr(fd, RIGHTS_ACCESS, list, sizeof(list));

	return add_list(rights, list, len < 0 ? never_told(fd, -errno) : len);
}
