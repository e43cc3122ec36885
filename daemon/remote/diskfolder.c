/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diskfolder.c - trust, sums and evictions.
 */
#include "remote/diskfolder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE_FILE "size"
#define MOST_LISTED 65536	/* files that one eviction chooses from */
#define LEAST_STEP (256 << 10)
#define MOST_STEP (16 << 20)
#define MOST_STEPS 2		/* written and not told */

static int refuse(const char *path, const char *why, char *error,
		  size_t error_cap)
{
	snprintf(error, error_cap, "disk_cache '%s' %s", path, why);
	return -EINVAL;
}

/* A folder in which others cannot exchange what is ours. */
static int check_parent(int fd, const char *path, char *error,
			size_t error_cap)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return refuse(path, "belongs to another user; give a folder "
			      "of your own", error, error_cap);
	if ((st.st_mode & 022) && !(st.st_mode & S_ISVTX))
		return refuse(path, "can be changed by others; take their "
			      "right to write away, or give another folder",
			      error, error_cap);
	return 0;
}

static int check_own(int fd, const char *path, char *error,
		     size_t error_cap)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return refuse(path, "holds a folder with the name of yours "
			      "that others can enter; remove it", error,
			      error_cap);
	return 0;
}

static int open_own(int parent, const char *path, int *ret_fd, char *error,
		    size_t error_cap)
{
	char name[64];
	int fd, status = 0;

	snprintf(name, sizeof(name), "bloscfs-cache-%d-%u", STRIPE_VERSION,
		 (unsigned)geteuid());
	if (mkdirat(parent, name, 0700) && errno != EEXIST)
		status = -errno;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return refuse(path, "holds something else with the name of "
			      "your folder; remove it", error, error_cap);
	if (fd < 0)
		return status ? status : -errno;
	status = check_own(fd, path, error, error_cap);
	if (status)
		close(fd);
	else
		*ret_fd = fd;
	return status;
}

/* A link must not lead elsewhere: a "/" behind its name would follow it. */
static int open_parent(const char *path, int *ret_fd)
{
	char *copy = strdup(path);
	size_t len = copy ? strlen(copy) : 0;
	int status = 0;

	if (!copy)
		return -ENOMEM;
	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	if (mkdir(copy, 0700) && errno != EEXIST)
		status = -errno;
	*ret_fd = open(copy, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_fd < 0 && !(status && errno == ENOENT))
		status = -errno;
	else if (*ret_fd >= 0)
		status = 0;
	free(copy);
	return status;
}

int diskfolder_open(const char *path, uint64_t limit,
		    struct diskfolder *ret_folder, char *error,
		    size_t error_cap)
{
	struct diskfolder folder = { .fd = -1, .limit = limit };
	int parent = -1, status = open_parent(path, &parent);

	error[0] = '\0';
	if (status == -ENOTDIR || status == -ELOOP)
		return refuse(path, "is a link or no folder; give a folder",
			      error, error_cap);
	if (status == -ENOENT)
		return refuse(path, "lies in no folder that is there; make "
			      "it", error, error_cap);
	if (status && parent < 0 && access(path, F_OK) < 0 && errno == ENOENT)
		return refuse(path, "is not there, and you may not make it; "
			      "give a folder of your own", error, error_cap);
	if (!status)
		status = check_parent(parent, path, error, error_cap);
	if (!status)
		status = open_own(parent, path, &folder.fd, error,
				  error_cap);
	if (parent >= 0)
		close(parent);
	if (!status)
		*ret_folder = folder;
	else if (!error[0])
		snprintf(error, error_cap, "disk_cache '%s' cannot be used: "
			 "%s", path, strerror(-status));
	return status;
}

void diskfolder_close(struct diskfolder *folder)
{
	if (folder->fd >= 0)
		close(folder->fd);
	folder->fd = -1;
}

void diskfolder_remove(const struct diskfolder *folder, const char *name)
{
	unlinkat(folder->fd, name, 0);
}

/* ---- what lies there -------------------------------------------------- */

struct entry {
	struct timespec used;
	uint64_t size;
	char name[STRIPE_NAME_CAP];
};

struct listed {
	struct entry *entries;	/* the longest unused, if there are many */
	size_t n;
	uint64_t total;		/* of all */
};

static int compare(const void *a, const void *b)
{
	const struct timespec *x = &((const struct entry *)a)->used;
	const struct timespec *y = &((const struct entry *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* 64 digits, a point and more. */
static bool is_ours(const char *name)
{
	return strspn(name, "0123456789abcdef") == DIGEST_TEXT &&
	       name[DIGEST_TEXT] == '.' && strlen(name) < STRIPE_NAME_CAP;
}

static void take(struct listed *listed, const char *name,
		 const struct stat *st)
{
	struct entry *entry;

	listed->total += (uint64_t)st->st_blocks * 512;
	if (listed->n == MOST_LISTED) {
		qsort(listed->entries, listed->n, sizeof(*entry), compare);
		listed->n /= 2;
	}
	entry = &listed->entries[listed->n++];
	entry->used = st->st_mtim;
	entry->size = (uint64_t)st->st_blocks * 512;
	strcpy(entry->name, name);
}

/* All that is ours; entries are to be freed. 0 or -errno. */
static int list(int dir, struct listed *listed)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *row;
	struct stat st;

	*listed = (struct listed){ 0 };
	if (!stream) {
		int status = -errno;

		if (fd >= 0)
			close(fd);
		return status;
	}
	listed->entries = malloc(MOST_LISTED * sizeof(struct entry));
	while (listed->entries && (row = readdir(stream))) {
		if (is_ours(row->d_name) &&
		    !fstatat(dir, row->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode))
			take(listed, row->d_name, &st);
	}
	closedir(stream);
	return listed->entries ? 0 : -ENOMEM;
}

/* Counts what is there, and where it is too much takes away until an eighth
 * of the limit is free. */
static int count(struct diskfolder *folder, uint64_t *ret_total)
{
	uint64_t target = folder->limit - folder->limit / 8;
	struct listed listed;
	int status = list(folder->fd, &listed);

	if (status)
		return status;
	if (listed.total > folder->limit)
		qsort(listed.entries, listed.n, sizeof(struct entry),
		      compare);
	else
		listed.n = 0;
	for (size_t i = 0; i < listed.n && listed.total > target; i++) {
		if (unlinkat(folder->fd, listed.entries[i].name, 0))
			continue;
		listed.total -= listed.entries[i].size;
		folder->n_evicted++;
	}
	free(listed.entries);
	*ret_total = listed.total;
	return 0;
}

/* ---- what all have written ------------------------------------------- */

/* With the file locked. The number and its complement, or it is not told. */
static bool read_total(int fd, uint64_t *ret_total)
{
	uint8_t bytes[16];

	if (disk_read_all(fd, bytes, sizeof(bytes), 0) != sizeof(bytes))
		return false;
	*ret_total = seal_get(bytes, 8);
	return seal_get(bytes + 8, 8) == ~*ret_total;
}

static int write_total(int fd, uint64_t total)
{
	uint8_t bytes[16];

	seal_put(bytes, total, 8);
	seal_put(bytes + 8, ~total, 8);
	return disk_write_all(fd, bytes, sizeof(bytes), 0);
}

/* What is no file is removed, and made. */
static int open_size(const struct diskfolder *folder, int *ret_fd)
{
	const int flags = O_RDWR | O_CREAT;
	int64_t used;
	int status = disk_open_file(folder->fd, SIZE_FILE, flags, ret_fd,
				    &used);

	if (status != -EBADMSG)
		return status;
	diskfolder_remove(folder, SIZE_FILE);
	return disk_open_file(folder->fd, SIZE_FILE, flags, ret_fd, &used);
}

/* The lock goes with the descriptor, also where the process is killed. */
static int settle(struct diskfolder *folder)
{
	uint64_t total = 0;
	int fd, status = open_size(folder, &fd);

	if (status)
		return status;
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		status = errno == EWOULDBLOCK ? -EAGAIN : -errno;
		close(fd);
		return status;
	}
	/* What was killed has not told all: who begins counts. */
	if (folder->counted && read_total(fd, &total))
		total += folder->own;
	else
		status = count(folder, &total);
	if (!status && total > folder->limit)
		status = count(folder, &total);
	if (!status)
		status = write_total(fd, total);
	if (!status) {
		folder->total = total;
		folder->own = 0;
		folder->counted = true;
	}
	close(fd);
	return status;
}

int diskfolder_add(struct diskfolder *folder, uint64_t written)
{
	uint64_t step = folder->limit / 64;
	int status;

	if (step < LEAST_STEP)
		step = LEAST_STEP;
	if (step > MOST_STEP)
		step = MOST_STEP;
	folder->own += written;
	if (folder->counted && folder->own < step &&
	    folder->total + folder->own <= folder->limit)
		return 0;
	status = settle(folder);
	if (status == -EAGAIN && folder->own < MOST_STEPS * step)
		return 0;
	return status;
}
