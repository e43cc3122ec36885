/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_xattr.c - extended attributes of what lies below SOURCE.
 */
#include "tree/source_xattr.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Linux 6.13; the same number for these machines. */
#if !defined(SYS_getxattrat) && (defined(__x86_64__) || defined(__aarch64__))
#define SYS_getxattrat 464
#endif

struct xattr_request {
	uint64_t value;
	uint32_t size, flags;
} __attribute__((aligned(8)));

static ssize_t get_by_call(int dir_fd, const char *file, const char *name,
			   void *buf, size_t cap)
{
#ifdef SYS_getxattrat
	struct xattr_request request = {
		.value = (uintptr_t)buf, .size = (uint32_t)cap,
	};
	ssize_t len = syscall(SYS_getxattrat, dir_fd, file,
			      AT_SYMLINK_NOFOLLOW, name, &request,
			      sizeof(request));

	return len < 0 ? -errno : len;
#else
	(void)dir_fd, (void)file, (void)name, (void)buf, (void)cap;
	return -ENOSYS;
#endif
}

/* A way to a file in an open directory; it need not be one that we may
 * list. */
static void proc_path(char path[PATH_MAX], int dir_fd, const char *file)
{
	snprintf(path, PATH_MAX, "/proc/self/fd/%d/%s", dir_fd, file);
}

ssize_t source_xattr_at(int dir_fd, const char *file, const char *name,
			void *buf, size_t cap)
{
	static atomic_bool lacks;
	char path[PATH_MAX];
	ssize_t len;

	if (!atomic_load_explicit(&lacks, memory_order_relaxed)) {
		len = get_by_call(dir_fd, file, name, buf, cap);
		/* Some sandboxes answer EPERM to what they do not know. */
		if (len != -ENOSYS && len != -EPERM)
			return len;
		atomic_store_explicit(&lacks, true, memory_order_relaxed);
	}
	proc_path(path, dir_fd, file);
	len = lgetxattr(path, name, buf, cap);
	if (len < 0)
		len = -errno;
	/* Without /proc there is no telling. */
	if (len == -ENOENT && !faccessat(dir_fd, file, F_OK,
					 AT_SYMLINK_NOFOLLOW))
		len = -EACCES;
	return len;
}

ssize_t src_get_xattr(const struct src *src, int base, const char *path,
		      const char *name, void *buf, size_t cap)
{
	const char *file;
	int parent = src_parent(src, base, path, &file);
	ssize_t len;

	if (parent < 0)
		return parent;
	len = source_xattr_at(parent, file, name, buf, cap);
	src_leave(src, base, parent);
	return len == -EOPNOTSUPP ? -ENODATA : len;
}

ssize_t src_list_xattr(const struct src *src, int base, const char *path,
		       char *buf, size_t cap)
{
	char where[PATH_MAX];
	const char *file;
	int parent = src_parent(src, base, path, &file);
	ssize_t len;

	if (parent < 0)
		return parent;
	proc_path(where, parent, file);
	len = llistxattr(where, buf, cap);
	if (len < 0)
		len = -errno;
	src_leave(src, base, parent);
	return len == -EOPNOTSUPP ? 0 : len;
}
