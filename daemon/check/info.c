/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info.c - --info, --cat and --version.
 */
#include "check/info.h"

#include "bloscfs.h"
#include "sandbox/sandbox.h"
#include "tree/far.h"
#include "tree/nested.h"

#define FUSE_USE_VERSION 35
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A regular file or a directory. */
static int open_source(const char *path, bool *ret_is_dir)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

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

static struct bloscfs_file *open_container(const struct opts *opts,
					   struct bloscfs *fs,
					   const char *path)
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
				     struct far **ret_far)
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

/* name: of the entry, for who reads of a failure. */
static bool print_file(struct bloscfs_file *file,
		       const struct bloscfs_node *node, const char *name,
		       char *ret_last)
{
	static char buf[1 << 20];
	struct bloscfs_diag why = { .chunk = -1 };
	uint64_t off = 0;
	size_t len;

	do {
		if (bloscfs_read(file, node, off, buf, sizeof(buf), &len,
				 &why) != BLOSCFS_OK) {
			fprintf(stderr, "bloscfs: reading %s failed at %llu: "
				"%s\n", name, (unsigned long long)off,
				why.text);
			return false;
		}
		if (fwrite(buf, 1, len, stdout) != len)
			return true;	/* told at the end */
		if (len)
			*ret_last = buf[len - 1];
		off += len;
	} while (len == sizeof(buf));
	return true;
}

static bool print_line_file(struct bloscfs_file *file,
			    const struct bloscfs_node *node, const char *name)
{
	char last = '\n';

	if (!print_file(file, node, name, &last))
		return false;
	if (last != '\n')
		putchar('\n');
	return true;
}

static enum exit_code print_one(const struct opts *opts, struct bloscfs *fs,
				const char *path)
{
	struct far *far = NULL;
	struct bloscfs_file *file = far_is(opts, path) ?
				    open_far(opts, fs, path, &far) :
				    open_container(opts, fs, path);
	struct bloscfs_node root = bloscfs_root(), node;
	struct bloscfs_diag why;
	enum exit_code code = EXIT_OK;

	if (!file) {
		far_close(far);
		return EXIT_SOURCE;
	}
	if (!bloscfs_lookup(file, &root, "info.json", &node) ||
	    !print_line_file(file, &node, "info.json") ||
	    bloscfs_file_status(file, &why) != BLOSCFS_GOOD)
		code = EXIT_FAILED;
	bloscfs_close(file);
	far_close(far);
	return code;
}

/* A file below the container's directory, by its path there. */
static bool find_entry(struct bloscfs_file *file, const char *path,
		       struct bloscfs_node *ret_node)
{
	struct bloscfs_node node = bloscfs_root();
	char name[BLOSCFS_NAME_MAX + 1];
	size_t len;

	for (; *path; path += len) {
		len = strcspn(path, "/");
		if (len > BLOSCFS_NAME_MAX)
			return false;
		memcpy(name, path, len);
		name[len] = '\0';
		if (len && (!bloscfs_is_dir(file, &node) ||
			    !bloscfs_lookup(file, &node, name, &node)))
			return false;
		if (path[len])
			len++;
	}
	*ret_node = node;
	return true;
}

static bool cat_entry(struct bloscfs_file *file, const char *path)
{
	struct bloscfs_diag why = { .chunk = -1 };
	struct bloscfs_node node;
	char last;

	if (!find_entry(file, path, &node)) {
		fprintf(stderr, "bloscfs: there is no '%s'; names are those of "
			"a mount, as data.bin and chunks/0000000000\n", path);
		return false;
	}
	if (bloscfs_is_dir(file, &node)) {
		fprintf(stderr, "bloscfs: '%s' is a folder; name a file in "
			"it\n", path);
		return false;
	}
	if (bloscfs_access(file, &node, &why) != BLOSCFS_OK) {
		fprintf(stderr, "bloscfs: %s cannot be read: %s\n", path,
			why.text);
		return false;
	}
	return print_file(file, &node, path, &last);
}

static enum exit_code cat_all(const struct opts *opts, struct bloscfs *fs)
{
	const char *path = opts->words[0];
	struct far *far = NULL;
	struct bloscfs_file *file = far_is(opts, path) ?
				    open_far(opts, fs, path, &far) :
				    open_container(opts, fs, path);
	enum exit_code code = EXIT_OK;

	if (!file) {
		far_close(far);
		return EXIT_SOURCE;
	}
	for (size_t i = 1; i < opts->n_words && code == EXIT_OK; i++) {
		if (!cat_entry(file, opts->words[i]))
			code = EXIT_FAILED;
	}
	bloscfs_close(file);
	far_close(far);
	return code;
}

static enum exit_code print_all(const struct opts *opts, struct bloscfs *fs)
{
	enum exit_code code, worst = EXIT_OK;

	for (size_t i = 0; i < opts->n_words; i++) {
		code = print_one(opts, fs, opts->words[i]);
		if (code > worst)
			worst = code;
	}
	return worst;
}

/* With an instance of that many threads and those views. */
static enum exit_code
with_instance(const struct opts *opts, const char *views, unsigned threads,
	      enum exit_code (*work)(const struct opts *, struct bloscfs *))
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

enum exit_code info_print(const struct opts *opts)
{
	return with_instance(opts, "info", 1, print_all);
}

/* The names of all views of this build that a list may name, or NULL on no
 * memory. What a store holds is there without. */
static char *all_views(void)
{
	const char *name, *version;
	char *list = NULL;
	size_t len;
	bool built;
	FILE *out = open_memstream(&list, &len);

	if (!out)
		return NULL;
	for (size_t i = 0; bloscfs_table("view", i, &name, &version, &built);
	     i++) {
		if (strcmp(name, "members") != 0)
			fprintf(out, "%s%s", i ? "," : "", name);
	}
	return fclose(out) ? NULL : list;
}

enum exit_code info_cat(const struct opts *opts)
{
	char *all = opts->views ? NULL : all_views();
	enum exit_code code =
		with_instance(opts, opts->views ? opts->views : all,
			      (unsigned)opts->threads, cat_all);

	free(all);
	return code;
}

static void write_table(FILE *out, const char *table, const char *title)
{
	const char *name, *version;
	bool built;

	fprintf(out, "\n%s\n", title);
	for (size_t i = 0; bloscfs_table(table, i, &name, &version, &built);
	     i++)
		fprintf(out, "  %-20s %s\n", name,
			!built ? "not in this build" :
			version ? version : "own");
}

void info_write_version(FILE *out)
{
	fprintf(out, "bloscfs %s\nlibfuse %s\n", bloscfs_version(),
		fuse_pkgversion());
	sandbox_write_support(out);
	write_table(out, "codec", "codecs:");
	write_table(out, "filter", "filters:");
	write_table(out, "container", "containers:");
	write_table(out, "view", "views:");
}

enum exit_code info_version(void)
{
	info_write_version(stdout);
	return fflush(stdout) ? EXIT_FAILED : EXIT_OK;
}
