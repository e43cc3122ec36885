/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_rights.c - rights of what lies below SOURCE: lists of rights (POSIX
 * ACLs), the parts of a container that is a directory, and attributes.
 *
 * A list is read again when the file's change time says so. Parts change
 * without a trace in their folder and are looked at again after a while.
 */
#include "tree/source_rights.h"

#include "bloscfs.h"
#include "tree/far.h"
#include "tree/nested.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Of more files than this the rest is held against what these permit when it
 * is opened. */
#define MAX_PARTS 65536
/* Or than take so much work: lists of hundreds of names, each compared with
 * each, would take a minute. One is a file without a list. */
#define MAX_WORK (UINT64_C(1) << 19)
/* Looking at parts takes at most one part of the time in so many. */
#define PARTS_SHARE 50

/* FUSE_SUPER_MAGIC of the kernel, which tells it to no program. */
#define FUSE_MAGIC 0x65735546

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

/* file is one component, or ".". */
static ssize_t get_at(int dir_fd, const char *file, const char *name,
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
	len = get_at(parent, file, name, buf, cap);
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

static int add_list_at(struct rights *rights, int dir_fd, const char *file)
{
	char list[RIGHTS_XATTR_MAX];
	ssize_t len = get_at(dir_fd, file, RIGHTS_ACCESS, list, sizeof(list));

	return add_list(rights, list, never_told(dir_fd, len));
}

static struct rights rights_of(const struct stat *st)
{
	return (struct rights){ st->st_uid, st->st_gid, st->st_mode & 07777,
				NULL };
}

static int add_list_fd(struct rights *rights, int fd)
{
	char list[RIGHTS_XATTR_MAX];
	ssize_t len = fgetxattr(fd, RIGHTS_ACCESS, list, sizeof(list));

	return add_list(rights, list, len < 0 ? never_told(fd, -errno) : len);
}

int src_rights_fd(int fd, struct rights *ret_rights)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_rights = rights_of(&st);
	return add_list_fd(ret_rights, fd);
}

struct rights src_rights(const struct src_stat *stat)
{
	return (struct rights){ stat->uid, stat->gid, stat->mode & 07777,
				stat->acl };
}

struct rights src_content_rights(const struct src_stat *stat)
{
	return S_ISDIR(stat->mode) && stat->parts ? *stat->parts :
						    src_rights(stat);
}

static void set_rights(struct src_stat *stat, const struct rights *rights)
{
	stat->mode = (stat->mode & S_IFMT) | rights->mode;
	stat->acl = rights->acl;
	stat->acl_hot = src_is_hot(&(struct src_stat){
		.mtime_sec = stat->ctime_ns / 1000000000,
		.mtime_nsec = (uint32_t)(stat->ctime_ns % 1000000000),
	}, src_now());
}

/* The rights of all parts, as far as they were looked at. */
struct scan {
	struct rights all;
	struct rights last;	/* most are like the one before */
	unsigned n;
	uint64_t work;
};

static bool has_enough(const struct scan *scan)
{
	return scan->n >= MAX_PARTS || scan->work >= MAX_WORK;
}

/* Each name of a list is looked for in both. */
static uint64_t work_of_meeting(const struct rights *a, const struct rights *b)
{
	uint64_t n = (uint64_t)rights_n_named(a) + rights_n_named(b);

	return n * n / 256;
}

static int meet_file(struct scan *scan, int dir_fd, const char *name)
{
	struct rights rights;
	struct stat st;
	int status;

	/* What is no file is not served, nor is a mount of bloscfs. */
	if (nested_is(dir_fd, name))
		return 0;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	rights = rights_of(&st);
	status = add_list_at(&rights, dir_fd, name);
	if (status)
		return status == -ENOENT ? 0 : status;
	scan->work += 1 + rights_n_named(&rights) / 8;
	if (scan->n++ == 0 || !rights_equal(&rights, &scan->last)) {
		scan->last = rights;
		rights = rights_of_file(&rights);
		scan->work += work_of_meeting(&scan->all, &rights);
		scan->all = rights_meet(&scan->all, &rights);
	}
	return 0;
}

static bool ends_in(const char *name, const char *ending)
{
	size_t len = strlen(name), end_len = strlen(ending);

	return len >= end_len && strcmp(name + len - end_len, ending) == 0;
}

static int meet_folder(struct scan *scan, int dir_fd)
{
	struct rights rights;
	struct stat st;
	int status;

	if (fstat(dir_fd, &st) < 0)
		return -errno;
	rights = rights_of(&st);
	status = add_list_at(&rights, dir_fd, ".");
	if (status)
		return status;
	rights = rights_to_pass(&rights);
	scan->all = rights_meet(&scan->all, &rights);
	return 0;
}

/* Files of a folder that we may not list are looked at when opened. */
static int scan_files(const struct src *src, struct scan *scan, int dir_fd,
		      const char *folder, const char *ending)
{
	int fd = src_at(src, dir_fd, folder, O_RDONLY | O_DIRECTORY);
	int status = 0;
	struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return fd == -EACCES || fd == -ENOENT || fd == -ENOTDIR ||
		       fd == -ELOOP || fd == -EXDEV ? 0 : fd;
	if (*folder)
		status = meet_folder(scan, fd);
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (!status && !has_enough(scan) && (entry = readdir(dir)))
		if (ends_in(entry->d_name, ending) &&
		    (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN))
			status = meet_file(scan, fd, entry->d_name);
	closedir(dir);
	return status;
}

/* The index tells the owner. */
static int start_scan(const struct src *src, struct scan *scan, int dir_fd,
		      const char *index)
{
	const char *name;
	struct stat st;
	int fd = src_parent(src, dir_fd, index, &name), status = 0;

	if (fd < 0)
		return fd;
	if (nested_is(fd, name))
		status = -ENOENT;
	else if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		status = -errno;
	if (!status) {
		scan->all = rights_of(&st);
		status = add_list_at(&scan->all, fd, name);
	}
	src_leave(src, dir_fd, fd);
	scan->all = rights_of_file(&scan->all);
	return status;
}

static int scan_parts(const struct src *src, int dir_fd,
		      struct src_stat *stat)
{
	struct scan scan = { .n = 0 };
	const char *folder, *ending;
	int64_t start = src_now(), cost;
	int status = start_scan(src, &scan, dir_fd,
				bloscfs_dir_index(stat->index));

	if (!status)
		status = meet_folder(&scan, dir_fd);
	for (size_t k = 0; !status && bloscfs_dir_part(stat->index, k,
						       &folder, &ending); k++)
		status = scan_files(src, &scan, dir_fd, folder, ending);
	if (status)
		return status;
	stat->parts = rights_keep(&scan.all);
	cost = (src_now() - start) * PARTS_SHARE;
	stat->parts_until = start +
			    (cost > src->parts_ns ? cost : src->parts_ns);
	return 0;
}

static bool parts_hold(const struct src_stat *known,
		       const struct src_stat *stat)
{
	int64_t now = src_now();

	return known->parts && src_same_content(known, stat) &&
	       known->index_mode == stat->index_mode &&
	       known->index == stat->index && now < known->parts_until &&
	       /* The clock may have been set back. */
	       known->parts_until - now <= PARTS_SHARE * INT64_C(10000000000);
}

/* Where st is known: the list, and whether all is. */
static bool take_known(const struct src_stat *known, struct src_stat *stat)
{
	if (!known || !src_same_file(known, stat) || known->acl_hot ||
	    known->ctime_ns != stat->ctime_ns || !known->ctime_ns)
		return false;
	stat->mode = known->mode;
	stat->acl = known->acl;
	if (stat->index_mode && parts_hold(known, stat)) {
		stat->parts = known->parts;
		stat->parts_until = known->parts_until;
	}
	return true;
}

int src_look(const struct src *src, int base, const char *path,
	     const struct src_stat *known, struct src_stat *ret_stat)
{
	struct src_stat st;
	struct rights rights;
	const char *name;
	int parent, status, fd;

	if (src->far)
		return far_look(src->far, path, ret_stat);
	parent = src_parent(src, base, path, &name);
	if (parent < 0)
		return parent;
	status = src_stat(src, parent, name, &st);
	/* A mount of bloscfs is not asked. */
	if (!status && (S_ISREG(st.mode) || S_ISDIR(st.mode)) &&
	    !st.nested && !take_known(known, &st)) {
		rights = src_rights(&st);
		status = add_list_at(&rights, parent, name);
		set_rights(&st, &rights);
	}
	if (!status && st.index_mode && !st.parts) {
		status = fd = src_at(src, parent, name,
				     O_PATH | O_DIRECTORY);
		if (fd >= 0) {
			status = scan_parts(src, fd, &st);
			close(fd);
		}
	}
	src_leave(src, base, parent);
	if (!status)
		*ret_stat = st;
	return status;
}

int src_look_fd(const struct src *src, int fd, struct src_stat *stat)
{
	struct rights rights = src_rights(stat);
	int status = add_list_fd(&rights, fd);

	if (status)
		return status;
	set_rights(stat, &rights);
	return stat->index_mode ? scan_parts(src, fd, stat) : 0;
}
