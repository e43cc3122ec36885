/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check_find.c - which containers there are: sources become a list, in the
 * order of the command line, folders by the bytes of the names in them.
 *
 * Links below a source are not followed, mounts of bloscfs below it not
 * entered. What is neither file nor folder is not opened; what is no container
 * is passed over.
 */
#include "check_parts.h"

#include "nested.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct names {
	char **list;
	size_t n, cap;
};

int check_open(const char *path, bool named)
{
	/* A FIFO must not block us, a terminal must not become ours. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC |
		      (named ? 0 : O_NOFOLLOW));

	return fd < 0 ? -errno : fd;
}

static int add_job(struct check_jobs *jobs, const struct check_job *job)
{
	size_t cap = jobs->cap ? 2 * jobs->cap : 16;
	struct check_job *list;
	char *path = strdup(job->path);

	if (!path)
		return -ENOMEM;
	if (jobs->n == jobs->cap) {
		list = realloc(jobs->list, cap * sizeof(*list));
		if (!list) {
			free(path);
			return -ENOMEM;
		}
		jobs->list = list;
		jobs->cap = cap;
	}
	jobs->list[jobs->n] = *job;
	jobs->list[jobs->n++].path = path;
	jobs->size += job->size;
	return 0;
}

static int add_unreadable(struct check_jobs *jobs, char *path, bool named,
			  int status)
{
	return add_job(jobs, &(struct check_job){
		.path = path, .named = named, .error = -status });
}

static void names_release(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->list[i]);
	free(names->list);
}

static int add_name(struct names *names, const char *name)
{
	size_t cap = names->cap ? 2 * names->cap : 64;
	char **list;

	if (names->n == names->cap) {
		list = realloc(names->list, cap * sizeof(*list));
		if (!list)
			return -ENOMEM;
		names->list = list;
		names->cap = cap;
	}
	names->list[names->n] = strdup(name);
	if (!names->list[names->n])
		return -ENOMEM;
	names->n++;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Takes over fd. */
static int read_names(int fd, struct names *names)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;
	int status = 0;

	if (!dir) {
		status = -errno;
		close(fd);
		return status;
	}
	/* Whoever had the descriptor before may have read on. */
	rewinddir(dir);
	while (!status && (errno = 0, entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			status = add_name(names, entry->d_name);
	}
	if (!status && errno)
		status = -errno;
	closedir(dir);
	if (!status && names->n)
		qsort(names->list, names->n, sizeof(*names->list),
		      compare_names);
	return status;
}

/* How much a container that is a folder holds: its files. */
static uint64_t sum_sizes(int fd)
{
	struct names names = { 0 };
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	uint64_t size = 0;
	struct stat st;

	if (copy >= 0 && read_names(copy, &names) == 0) {
		for (size_t i = 0; i < names.n; i++) {
			if (fstatat(fd, names.list[i], &st,
				    AT_SYMLINK_NOFOLLOW) == 0 &&
			    S_ISREG(st.st_mode))
				size += (uint64_t)st.st_size;
		}
	}
	names_release(&names);
	return size;
}

static int visit(struct check_jobs *jobs, char *path, bool named,
		 const struct opts *opts);

/* An entry that is neither file nor folder is left alone. */
static int visit_entry(struct check_jobs *jobs, const char *dir,
		       const char *name, const struct opts *opts)
{
	size_t len = strlen(dir), cap = len + strlen(name) + 2;
	char *path = malloc(cap);
	struct nested nested;
	struct stat st;
	int status = 0;

	if (!path)
		return -ENOMEM;
	snprintf(path, cap, "%s%s%s", dir,
		 len && dir[len - 1] == '/' ? "" : "/", name);
	if (nested_look(AT_FDCWD, path, &nested) == 0 && nested.is_bloscfs)
		status = 0;
	else if (lstat(path, &st) < 0)
		status = errno == ENOENT ? 0 :
			 add_unreadable(jobs, path, false, -errno);
	else if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		status = visit(jobs, path, false, opts);
	free(path);
	return status;
}

/* Takes over fd. The folder is closed before those within are opened, so
 * that their depth costs no descriptors; too long a path ends the descent. */
static int visit_folder(struct check_jobs *jobs, char *path, int fd,
			bool named, const struct opts *opts)
{
	struct names names = { 0 };
	int status = read_names(fd, &names);

	if (status && status != -ENOMEM)
		status = add_unreadable(jobs, path, named, status);
	for (size_t i = 0; i < names.n && !status; i++)
		status = visit_entry(jobs, path, names.list[i], opts);
	names_release(&names);
	return status;
}

/* NOT_FORMAT where it is passed over. */
static enum bloscfs_err probe(int fd, const char *path, bool is_dir,
			      bool named, const struct opts *opts)
{
	const char *slash = strrchr(path, '/'), *format;

	if (is_dir)
		return bloscfs_probe_dir(fd, &format);
	/* Who says where in the file the container is knows that it is one. */
	if (named && (opts->offset || opts->length))
		return BLOSCFS_OK;
	return bloscfs_probe(fd, slash ? slash + 1 : path, &format);
}

static int visit(struct check_jobs *jobs, char *path, bool named,
		 const struct opts *opts)
{
	struct check_job job = { .path = path, .named = named };
	int fd = check_open(path, named), status;
	enum bloscfs_err err;
	struct stat st;

	if (fd < 0)
		return add_unreadable(jobs, path, named, fd);
	if (fstat(fd, &st) < 0) {
		status = -errno;
		close(fd);
		return add_unreadable(jobs, path, named, status);
	}
	job.is_dir = S_ISDIR(st.st_mode);
	err = job.is_dir || S_ISREG(st.st_mode) ?
		probe(fd, path, job.is_dir, named, opts) :
		BLOSCFS_ERR_NOT_FORMAT;
	if (job.is_dir && err == BLOSCFS_ERR_NOT_FORMAT)
		return visit_folder(jobs, path, fd, named, opts);
	job.size = job.is_dir ? sum_sizes(fd) : (uint64_t)st.st_size;
	close(fd);
	if (err == BLOSCFS_ERR_NOT_FORMAT)
		return 0;
	if (err != BLOSCFS_OK)
		job.error = bloscfs_err_errno(err);
	return add_job(jobs, &job);
}

int check_find(struct check_jobs *jobs, const struct opts *opts)
{
	size_t before;
	int status;

	for (size_t i = 0; i < opts->n_words; i++) {
		before = jobs->n;
		status = visit(jobs, opts->words[i], true, opts);
		if (status)
			return status;
		if (jobs->n > before)
			continue;
		fprintf(stderr, "bloscfs: '%s' is no container that bloscfs "
			"knows and holds none; check the name\n",
			opts->words[i]);
		jobs->wrong_source = true;
	}
	return 0;
}

void check_jobs_release(struct check_jobs *jobs)
{
	for (size_t i = 0; i < jobs->n; i++) {
		free(jobs->list[i].path);
		free(jobs->list[i].lines);
	}
	free(jobs->list);
}
