/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * find.c - which containers there are: sources become a list, in the
 * order of the command line, folders by the bytes of the names in them.
 *
 * Links below a source are not followed, mounts of bloscfs below it not
 * entered, and a folder of one is no source: what it holds is made from
 * containers. What is neither file nor folder is not opened. What is no
 * container, or left as it is in a mount (choice.h), is passed over, unless
 * it has the name of one.
 */
#include "check/parts.h"

#include "remote/url.h"
#include "tree/far.h"
#include "tree/nested.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

static int add_unreadable(struct check_jobs *jobs, char *path, bool named,
			  int status)
{
	return check_add(jobs, &(struct check_job){
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
			if (!nested_is(fd, names.list[i]) &&
			    fstatat(fd, names.list[i], &st,
				    AT_SYMLINK_NOFOLLOW) == 0 &&
			    S_ISREG(st.st_mode))
				size += (uint64_t)st.st_size;
		}
	}
	names_release(&names);
	return size;
}

/* One SOURCE and what is found below it. */
struct walk {
	struct check_jobs *jobs;
	const struct opts *opts;
	size_t base_len;	/* of SOURCE's own path */
	bool no_stores;		/* stores do not count */
};

/* left: by what the folders above are. */
static int visit(const struct walk *walk, char *path, bool named, bool left);

/* An entry that is neither file nor folder is left alone. */
static int visit_entry(const struct walk *walk, const char *dir,
		       const char *name, bool left)
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
			 add_unreadable(walk->jobs, path, false, -errno);
	else if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		status = visit(walk, path, false, left);
	free(path);
	return status;
}

/* A table stands before its columns, where those are taken. */
static int add_table(const struct walk *walk, char *path, int fd, bool named)
{
	struct check_job job = { .path = path, .is_dir = true, .named = named,
				 .is_table = true };
	bool is = false;

	if (bloscfs_examine_table(NULL, fd, &is, NULL, NULL, NULL) !=
		    BLOSCFS_OK || !is ||
	    !choice_takes(&walk->opts->choice, "bcolz", path))
		return 0;
	return check_add(walk->jobs, &job);
}

/* Takes over fd. The folder is closed before those within are opened, so
 * that their depth costs no descriptors; too long a path ends the descent. */
static int visit_folder(const struct walk *walk, char *path, int fd,
			bool named, bool left)
{
	struct names names = { 0 };
	int status = left ? 0 : choice_leaves(fd, !walk->no_stores, &left);

	if (!status && !left)
		status = add_table(walk, path, fd, named);
	if (status)
		close(fd);
	else
		status = read_names(fd, &names);
	if (status && status != -ENOMEM)
		status = add_unreadable(walk->jobs, path, named, status);
	for (size_t i = 0; i < names.n && !status; i++)
		status = visit_entry(walk, path, names.list[i], left);
	names_release(&names);
	return status;
}

/* Its path below SOURCE. */
static const char *path_below(const struct walk *walk, const char *path)
{
	path += walk->base_len;
	return path + strspn(path, "/");
}

/* NOT_FORMAT where it is passed over. */
static enum bloscfs_err probe(const struct walk *walk, int fd,
			      const struct check_job *job)
{
	const struct choice *choice = &walk->opts->choice;
	const char *slash = strrchr(job->path, '/'), *format;
	enum bloscfs_err err;

	/* Who says where in the file the container is knows that it is one. */
	if (!job->is_dir && job->named &&
	    (walk->opts->offset || walk->opts->length))
		return BLOSCFS_OK;
	err = job->is_dir ? bloscfs_probe_dir(fd, &format) :
	      bloscfs_probe(fd, slash ? slash + 1 : job->path, &format);
	if (err == BLOSCFS_OK && (job->is_dir || !job->named) &&
	    !choice_takes(choice, format, job->path))
		return BLOSCFS_ERR_NOT_FORMAT;
	return err;
}

/* Whether a file that is no container has the name of one that we take. */
static bool bears_name(const struct walk *walk, const struct check_job *job)
{
	const char *slash = strrchr(job->path, '/'), *format;

	format = bloscfs_claimed(slash ? slash + 1 : job->path);
	return format && choice_takes(&walk->opts->choice, format, job->path);
}

/* A container, or what has the name of one. */
static int visit_file(const struct walk *walk, struct check_job *job,
		      enum bloscfs_err err)
{
	if (err == BLOSCFS_ERR_NOT_FORMAT) {
		job->unrecognised = !job->is_dir && bears_name(walk, job);
		if (!job->unrecognised)
			return 0;
	} else if (err != BLOSCFS_OK) {
		job->error = bloscfs_err_errno(err);
	}
	return check_add(walk->jobs, job);
}

static int visit(const struct walk *walk, char *path, bool named, bool left)
{
	struct check_job job = { .path = path, .named = named };
	enum bloscfs_err err = BLOSCFS_ERR_NOT_FORMAT;
	bool excluded = left || (!named &&
				 choice_excludes(&walk->opts->choice,
						 path_below(walk, path)));
	int fd = check_open(path, named), status;
	struct stat st;

	if (fd < 0)
		return add_unreadable(walk->jobs, path, named, fd);
	if (fstat(fd, &st) < 0) {
		status = -errno;
		close(fd);
		return add_unreadable(walk->jobs, path, named, status);
	}
	job.is_dir = S_ISDIR(st.st_mode);
	if (!excluded && (job.is_dir || S_ISREG(st.st_mode)))
		err = probe(walk, fd, &job);
	if (job.is_dir && err == BLOSCFS_ERR_NOT_FORMAT)
		return visit_folder(walk, path, fd, named, left);
	job.size = job.is_dir ? sum_sizes(fd) : (uint64_t)st.st_size;
	close(fd);
	return excluded ? 0 : visit_file(walk, &job, err);
}

/* A folder of a mount: its entries are no files of anybody's, but chunks and
 * texts of containers, and verdicts on them would be wrong. */
static int refuse_mount(struct check_jobs *jobs, const char *path)
{
	fprintf(stderr, "bloscfs: '%s' lies in a mount of bloscfs, which shows "
		"what containers hold; check the containers themselves, where "
		"they are\n", path);
	jobs->wrong_source = true;
	return 0;
}

/* An address of a kind that we do not read. */
static int add_other(struct check_jobs *jobs, char *path)
{
	struct check_job job = { .path = path, .named = true, .error = ENOENT,
				 .reason = strdup(URL_OTHER) };
	int status = job.reason ? check_add(jobs, &job) : -ENOMEM;

	if (status)
		free(job.reason);
	return status;
}

/* A SOURCE in a store is left as it is unless formats= names what to take. */
static int visit_source(struct check_jobs *jobs, const struct opts *opts,
			char *path)
{
	struct walk walk = { .jobs = jobs, .opts = opts,
			     .base_len = strlen(path) };
	bool in_store = false;
	int fd, status;

	if (far_is(opts, path))
		return check_find_far(jobs, opts, path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && url_is_other(path))
		return add_other(jobs, path);
	if (fd >= 0) {
		if (nested_holds(fd)) {
			close(fd);
			return refuse_mount(jobs, path);
		}
		status = choice_in_store(fd, &in_store);
		close(fd);
		if (status == -ENOMEM)
			return status;
	}
	walk.no_stores = in_store && opts->choice.named;
	return visit(&walk, path, true, in_store && !walk.no_stores);
}

int check_find(struct check_jobs *jobs, const struct opts *opts)
{
	bool wrong = false;
	size_t before;
	int status;

	for (size_t i = 0; i < opts->n_words; i++) {
		before = jobs->n;
		jobs->wrong_source = false;
		status = visit_source(jobs, opts, opts->words[i]);
		if (status)
			return status;
		wrong |= jobs->wrong_source;
		if (jobs->n > before || jobs->wrong_source)
			continue;
		fprintf(stderr, "bloscfs: '%.*s' is no container that bloscfs "
			"knows and holds none; check the name\n",
			far_is(opts, opts->words[i]) ?
			(int)strcspn(opts->words[i], "?") : INT_MAX,
			opts->words[i]);
		wrong = true;
	}
	jobs->wrong_source = wrong;
	return 0;
}
