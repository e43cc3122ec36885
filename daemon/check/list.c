/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * list.c - --info: what info.json holds, of containers that are named and of
 * those in folders that are.
 *
 * One container alone is printed as the file is. Else its path comes first;
 * with --json each is one line.
 */
#include "check/info.h"
#include "check/opened.h"
#include "check/parts.h"
#include "check/words.h"
#include "tree/far.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_INFO (1u << 16)	/* bytes; the library holds to it */

struct printing {
	const struct opts *opts;
	struct bloscfs *fs;
	bool with_path;
	enum exit_code code;
};

static void worsen(struct printing *p, enum exit_code code)
{
	if (code > p->code)
		p->code = code;
}

/* ---- one container --------------------------------------------------- */

/* An object over lines of their own, without what stands before its first
 * member. A line end stands between members alone: in texts it is spelt. */
static void print_members(const char *text, bool one_line)
{
	char last = '\0';

	text += strspn(text, "{");
	if (!one_line) {
		fputs(text, stdout);
		return;
	}
	for (; *text; text++) {
		if (*text != '\n') {
			last = *text;
			putchar(last);
			continue;
		}
		/* As what is written on one line by itself. */
		if (last == ',')
			putchar(' ');
		if (text[1])
			text += strspn(text + 1, " ");
	}
	putchar('\n');
}

static void print_text(const struct printing *p, const char *path,
		       const char *text)
{
	if (p->opts->json) {
		putchar('{');
		words_json_path(stdout, path);
		fputs(", ", stdout);
		print_members(text, true);
	} else if (p->with_path) {
		fputs("{\n  ", stdout);
		words_json_path(stdout, path);
		putchar(',');
		print_members(text, false);
	} else {
		fputs(text, stdout);
	}
}

static void print_opened(struct printing *p, const char *path,
			 struct bloscfs_file *file)
{
	struct bloscfs_node root = bloscfs_root(), node;
	struct bloscfs_diag why = { .chunk = -1 };
	char *text = malloc(MAX_INFO + 1);
	size_t len = 0;

	snprintf(why.text, sizeof(why.text), "no memory");
	if (!text || !bloscfs_lookup(file, &root, "info.json", &node) ||
	    bloscfs_read(file, &node, 0, text, MAX_INFO, &len, &why) !=
		    BLOSCFS_OK) {
		fprintf(stderr, "bloscfs: reading info.json of '%s' failed: "
			"%s\n", path, why.text);
		worsen(p, EXIT_FAILED);
	} else {
		text[len] = '\0';
		print_text(p, path, text);
	}
	free(text);
	if (bloscfs_file_status(file, &why) != BLOSCFS_GOOD)
		worsen(p, EXIT_FAILED);
}

/* ---- folders --------------------------------------------------------- */

static struct bloscfs_file *open_found(struct printing *p,
				       const struct check_job *job,
				       struct check_finding *finding)
{
	const char *slash = strrchr(job->path, '/');
	struct bloscfs_diag why = { .chunk = -1 };
	struct bloscfs_file *file = NULL;
	enum bloscfs_err err;
	int fd;

	if (job->far && !job->error)
		return check_open_far(p->fs, job, finding);
	fd = job->error ? -job->error : check_open(job->path, false);
	if (fd < 0) {
		check_note_words(finding, CHECK_UNREADABLE, "%s",
				 job->reason ? job->reason : strerror(-fd));
		return NULL;
	}
	err = job->is_dir ? bloscfs_open_dir(p->fs, fd, &file, &why) :
	      bloscfs_open(p->fs, fd, slash ? slash + 1 : job->path, 0, 0,
			   &file, &why);
	if (job->is_dir || err != BLOSCFS_OK)
		close(fd);
	if (err == BLOSCFS_OK)
		return file;
	check_note(finding, 0, err, "", &why);
	return NULL;
}

static void print_found(struct printing *p, const struct check_job *job)
{
	struct check_finding finding = { 0 };
	struct bloscfs_file *file;
	char text[640];

	/* What only bears a name has no facts, and a table no others than its
	 * columns. */
	if (job->unrecognised || job->is_table)
		return;
	file = open_found(p, job, &finding);
	if (file) {
		print_opened(p, job->path, file);
		bloscfs_close(file);
	} else {
		check_word(&finding.first, text, sizeof(text));
		fprintf(stderr, "bloscfs: cannot open '%s': %s\n", job->path,
			text);
		worsen(p, job->named ? EXIT_SOURCE : EXIT_FAILED);
	}
	check_finding_release(&finding);
}

static void print_folder(struct printing *p, char *path)
{
	struct opts one = *p->opts;
	struct check_jobs jobs = { 0 };

	one.words = &path;
	one.n_words = 1;
	p->with_path = true;
	if (check_find(&jobs, &one)) {
		fprintf(stderr, "bloscfs: no memory for what is in '%s'; free "
			"some\n", path);
		worsen(p, EXIT_FAILED);
	} else if (jobs.wrong_source) {
		worsen(p, EXIT_SOURCE);
	}
	for (size_t i = 0; i < jobs.n; i++)
		print_found(p, &jobs.list[i]);
	check_jobs_release(&jobs);
}

static void print_named(struct printing *p, char *path)
{
	bool is_folder = false;
	struct far *far = NULL;
	struct bloscfs_file *file = info_open(p->opts, p->fs, path, &far,
					      &is_folder);
	/* Secrets may follow in an address. */
	char *shown = strndup(path, far ? strcspn(path, "?") : strlen(path));

	if (file) {
		print_opened(p, shown ? shown : "", file);
		bloscfs_close(file);
	}
	far_close(far);
	free(shown);
	if (is_folder)
		print_folder(p, path);
	else if (!file)
		worsen(p, EXIT_SOURCE);
}

static enum exit_code print_all(const struct opts *opts, struct bloscfs *fs)
{
	struct printing p = { .opts = opts, .fs = fs,
			      .with_path = opts->n_words > 1 };

	for (size_t i = 0; i < opts->n_words; i++)
		print_named(&p, opts->words[i]);
	return p.code;
}

enum exit_code info_print(const struct opts *opts)
{
	return info_with_instance(opts, "info", 1, print_all);
}
