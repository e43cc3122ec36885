/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info.c - --cat and --version.
 */
#include "check/info.h"

#include "bloscfs.h"
#include "check/opened.h"
#include "sandbox/sandbox.h"
#include "tree/far.h"

#define FUSE_USE_VERSION 35
#include <fuse_lowlevel.h>
#include <string.h>
#include <unistd.h>

static bool is_control(unsigned char c)
{
	return (c < 0x20 && !memchr("\t\n\f\r", c, 4)) || c == 0x7f;
}

/* How many bytes the character takes that begins here; 0 where it is none that
 * a terminal shows. One that is cut off is. */
static size_t shown_len(const unsigned char *s, size_t len)
{
	size_t n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 :
		   *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;

	/* Terminals know controls above ASCII as well. */
	if (is_control(*s) || (*s == 0xc2 && len > 1 && s[1] < 0xa0))
		return 0;
	for (size_t i = 1; i < n && i < len; i++)
		if (s[i] >> 6 != 2)
			return 0;
	return n < len ? n : len;
}

/* goes_on: it may begin within a character. */
static bool is_text(const char *bytes, size_t len, bool goes_on)
{
	const unsigned char *s = (const unsigned char *)bytes;
	size_t n = 1;

	for (int i = 0; goes_on && i < 3 && len > 0 && *s >> 6 == 2; i++) {
		s++;
		len--;
	}
	for (; len > 0 && n > 0; s += n, len -= n)
		n = shown_len(s, len);
	return n > 0;
}

/* name: of the entry, for who reads of a failure. guards: a terminal, which
 * what is no text could change for good. */
static bool print_file(struct bloscfs_file *file,
		       const struct bloscfs_node *node, const char *name,
		       bool guards)
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
		if (guards && !is_text(buf, len, off > 0)) {
			fprintf(stderr, "bloscfs: '%s' is no text, and "
				"standard output is a terminal; send it to a "
				"file or a program, or give --force\n", name);
			return false;
		}
		if (fwrite(buf, 1, len, stdout) != len)
			return true;	/* told at the end */
		off += len;
	} while (len == sizeof(buf));
	return true;
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

static bool cat_entry(struct bloscfs_file *file, const char *path,
		      bool guards)
{
	struct bloscfs_diag why = { .chunk = -1 };
	struct bloscfs_node node;

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
	return print_file(file, &node, path, guards);
}

static enum exit_code cat_all(const struct opts *opts, struct bloscfs *fs)
{
	const char *path = opts->words[0];
	struct far *far = NULL;
	struct bloscfs_file *file = info_open(opts, fs, path, &far, NULL);
	bool guards = !opts->force && isatty(STDOUT_FILENO);
	enum exit_code code = EXIT_OK;

	if (!file) {
		far_close(far);
		return EXIT_SOURCE;
	}
	for (size_t i = 1; i < opts->n_words && code == EXIT_OK; i++) {
		if (!cat_entry(file, opts->words[i], guards))
			code = EXIT_FAILED;
	}
	bloscfs_close(file);
	far_close(far);
	return code;
}

enum exit_code info_cat(const struct opts *opts)
{
	return info_with_instance(opts, opts->views ? opts->views : "all",
				  (unsigned)opts->threads, cat_all);
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
