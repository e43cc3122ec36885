/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opened.c - a container that is named on the command line.
 */
#include "check/opened.h"

#include "remote/url.h"
#include "tree/far.h"
#include "tree/nested.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A regular file or a directory. */
static int open_source(const char *path, bool *ret_is_dir)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT && url_is_other(path)) {
		fprintf(stderr, "bloscfs: '%s' " URL_OTHER "\n", path);
		return -1;
	}
	if (fd < 0) {
		fprintf(stderr, "bloscfs: cannot open '%s': %s; give a "
			"container that you may read\n", path,
			strerror(errno));
		return -1;
	}
	if (fstat(fd, &st) == 0 &&
	    (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))) {
		*ret_is_dir = S_ISDIR(st.st_mode);
		return fd;
	}
	fprintf(stderr, "bloscfs: '%s' is neither a file nor a directory; "
		"give a container\n", path);
	close(fd);
	return -1;
}

static struct bloscfs_file *open_local(const struct opts *opts,
				       struct bloscfs *fs,
				       const char *path,
				       bool *ret_is_folder)
{
	const char *slash = strrchr(path, '/');
	struct bloscfs_diag why = { .chunk = -1 };
	struct bloscfs_file *file = NULL;
	enum bloscfs_err err;
	bool is_dir, shown;
	int fd = open_source(path, &is_dir);

	if (fd < 0)
		return NULL;
	shown = is_dir && nested_holds(fd);
	err = is_dir ? bloscfs_open_dir(fs, fd, &file, &why) :
	      bloscfs_open(fs, fd, slash ? slash + 1 : path, opts->offset,
			   opts->length, &file, &why);
	if (is_dir || err != BLOSCFS_OK)
		close(fd);
	if (err == BLOSCFS_OK)
		return file;
	if (shown)
		fprintf(stderr, "bloscfs: '%s' lies in a mount of bloscfs, "
			"which shows what containers hold; read info.json "
			"there, or give the container itself\n", path);
	else if (is_dir && err == BLOSCFS_ERR_NOT_FORMAT && ret_is_folder)
		*ret_is_folder = true;
	else if (is_dir && err == BLOSCFS_ERR_NOT_FORMAT)
		fprintf(stderr, "bloscfs: '%s' is a folder and no container; "
			"bloscfs --check names the containers in it\n", path);
	else
		fprintf(stderr, "bloscfs: '%s' is not a container that "
			"bloscfs knows: %s, offset %llu; check the file\n",
			path, why.text[0] ? why.text :
			bloscfs_err_name(why.err),
			(unsigned long long)why.off);
	return NULL;
}

static struct bloscfs_file *open_far(const struct opts *opts,
				     struct bloscfs *fs, const char *source,
				     struct far **ret_far,
				     bool *ret_is_folder)
{
	int shown = (int)strcspn(source, "?");	/* secrets may follow */
	struct bloscfs_diag why = { .chunk = -1 };
	struct bloscfs_file *file = NULL;
	char error[1024];
	const char *name;
	struct src_stat st;
	int status;

	if (opts->offset || opts->length) {
		fprintf(stderr, "bloscfs: offset and length are for files of "
			"this machine; leave them out\n");
		return NULL;
	}
	if (far_reach(source, opts, ret_far, error, sizeof(error))) {
		fprintf(stderr, "bloscfs: %s\n", error);
		return NULL;
	}
	name = shelf_single(far_shelf(*ret_far));
	if (!name && ret_is_folder) {
		*ret_is_folder = true;
		return NULL;
	}
	if (!name) {
		fprintf(stderr, "bloscfs: '%.*s' is a folder and no "
			"container; bloscfs --check names the containers in "
			"it\n", shown, source);
		return NULL;
	}
	status = far_open_container(*ret_far, NULL, fs, name, &st, &file, &why);
	if (!status)
		return file;
	fprintf(stderr, "bloscfs: '%.*s' is not a container that bloscfs "
		"knows: %s; check the file\n", shown, source,
		why.text[0] ? why.text : strerror(-status));
	return NULL;
}

struct bloscfs_file *info_open(const struct opts *opts, struct bloscfs *fs,
			       const char *path, struct far **ret_far,
			       bool *ret_is_folder)
{
	return far_is(opts, path) ?
	       open_far(opts, fs, path, ret_far, ret_is_folder) :
	       open_local(opts, fs, path, ret_is_folder);
}

enum exit_code info_with_instance(const struct opts *opts, const char *views,
				  unsigned threads, info_work *work)
{
	struct bloscfs_options options = {
		.size = sizeof(options), .cache_size = opts->cache_size,
		.max_memory = opts->max_memory, .threads = threads,
		.views = views,
	};
	struct bloscfs_diag why = { .chunk = -1 };
	enum exit_code code;
	struct bloscfs *fs;

	if (bloscfs_new(&options, &fs, &why) != BLOSCFS_OK) {
		fprintf(stderr, "bloscfs: cannot start: %s; try other "
			"options\n", why.text);
		return EXIT_FAILED;
	}
	code = work(opts, fs);
	bloscfs_free(fs);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "bloscfs: cannot write: %s; check where the "
			"output goes\n", strerror(errno));
		return EXIT_FAILED;
	}
	return code;
}
