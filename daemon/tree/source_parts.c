/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_parts.c - the rights of the parts of a container that is a directory.
 */
#include "tree/source_parts.h"

#include "bloscfs.h"
#include "tree/nested.h"
#include "tree/source_list.h"
#include "tree/source_mix.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Of more files than this the rest is held against what these permit when it
 * is opened. */
#define MAX_PARTS 65536
/* Or than take so much work: lists of hundreds of names, each compared with
 * each, would take a minute. One is a file without a list. */
#define MAX_WORK (UINT64_C(1) << 19)
/* Looking at parts takes at most one part of the time in so many. */
#define PARTS_SHARE 50

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
	rights = source_list_bare(&st);
	status = source_list_at(&rights, dir_fd, name);
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
	rights = source_list_bare(&st);
	status = source_list_at(&rights, dir_fd, ".");
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
		scan->all = source_list_bare(&st);
		status = source_list_at(&scan->all, fd, name);
	}
	src_leave(src, dir_fd, fd);
	scan->all = rights_of_file(&scan->all);
	return status;
}

int source_parts_scan(const struct src *src, int dir_fd,
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
	if (bloscfs_dir_is_beside(stat->index))
		stat->parts_mix = source_mix(src, dir_fd);
	cost = (src_now() - start) * PARTS_SHARE;
	stat->parts_until = start +
			    (cost > src->parts_ns ? cost : src->parts_ns);
	return 0;
}

bool source_parts_hold(const struct src_stat *known,
		       const struct src_stat *stat)
{
	int64_t now = src_now();

	return known->parts && src_same_content(known, stat) &&
	       known->index_mode == stat->index_mode &&
	       known->index == stat->index && now < known->parts_until &&
	       /* The clock may have been set back. */
	       known->parts_until - now <= PARTS_SHARE * INT64_C(10000000000);
}
