/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * far.c - containers on servers, for --check: found by their names, as in a
 * mount, and opened where they are.
 */
#include "check/parts.h"

#include "tree/far.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	char *name;
	enum src_kind kind;
	uint64_t size;
};

struct entries {
	struct entry *list;
	size_t n, cap;
};

struct walk {
	struct check_jobs *jobs;
	const struct opts *opts;
	struct far *far;
	const char *source;
	int source_len;		/* without a "/" at its end, and secrets */
};

static int add_entry(struct entries *to, const char *name,
		     enum src_kind kind, uint64_t size)
{
	size_t cap = to->cap ? 2 * to->cap : 64;
	struct entry *list;

	if (to->n == to->cap) {
		list = realloc(to->list, cap * sizeof(*list));
		if (!list)
			return -ENOMEM;
		to->list = list;
		to->cap = cap;
	}
	to->list[to->n] = (struct entry){ strdup(name), kind, size };
	return to->list[to->n++].name ? 0 : -ENOMEM;
}

static void release_entries(struct entries *entries)
{
	for (size_t i = 0; i < entries->n; i++)
		free(entries->list[i].name);
	free(entries->list);
}

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name,
		      ((const struct entry *)b)->name);
}

/* How a place is called in what is printed; to be freed. */
static char *shown(const struct walk *walk, const char *inner)
{
	char *text;

	return asprintf(&text, "%.*s%s%s", walk->source_len, walk->source,
			*inner ? "/" : "", inner) < 0 ? NULL : text;
}

static int add_at(const struct walk *walk, const char *inner, bool named,
		  uint64_t size, int error, const char *reason)
{
	struct check_job job = {
		.path = named ? strndup(walk->source,
					(size_t)walk->source_len) :
				shown(walk, inner),
		.named = named, .size = size, .error = error,
		.far = walk->far, .inner = strdup(inner),
		.reason = reason ? strdup(reason) : NULL,
	};
	int status = -ENOMEM;

	if (job.path && job.inner)
		status = check_add(walk->jobs, &job);
	if (status) {
		free(job.inner);
		free(job.reason);
	}
	free(job.path);
	return status;
}

/* Depth is bounded by the length of a key. */
static int visit_folder(const struct walk *walk, const char *folder)
{
	struct entries entries = { 0 };
	char name[NAME_MAX + 1];
	enum src_kind kind;
	struct src_stat st;
	int status = 0;

	for (uint64_t i = 0; status >= 0; i++) {
		status = far_list(walk->far, &walk->opts->choice, folder, i,
				  name, &kind, &st);
		if (status >= 0 && add_entry(&entries, name, kind, st.size))
			status = -ENOMEM;
	}
	if (status == -ENOENT)
		status = 0;
	else if (status != -ENOMEM)
		status = add_at(walk, folder, false, 0, -status, NULL);
	if (entries.n)
		qsort(entries.list, entries.n, sizeof(*entries.list),
		      compare_entries);
	for (size_t i = 0; i < entries.n && !status; i++) {
		const struct entry *e = &entries.list[i];
		char *inner;

		if (asprintf(&inner, "%s%s%s", folder, *folder ? "/" : "",
			     e->name) < 0) {
			status = -ENOMEM;
			break;
		}
		if (e->kind == SRC_DIR)
			status = visit_folder(walk, inner);
		else if (e->kind == SRC_CONTAINER)
			status = add_at(walk, inner, false, e->size, 0, NULL);
		free(inner);
	}
	release_entries(&entries);
	return status;
}

int check_find_far(struct check_jobs *jobs, const struct opts *opts,
		   const char *source)
{
	struct walk walk = { .jobs = jobs, .opts = opts, .source = source,
			     .source_len = (int)strcspn(source, "?") };
	char error[1024];
	const char *single;
	int status;

	if (opts->offset || opts->length)
		return add_at(&walk, "", true, 0, EINVAL, "offset and length "
			      "are for files of this machine");
	status = far_reach(source, opts, &walk.far, error, sizeof(error));
	if (status == -ENOMEM)
		return status;
	if (status)
		return add_at(&walk, "", true, 0, -status, error);
	if (check_add_far(jobs, walk.far)) {
		far_close(walk.far);
		return -ENOMEM;
	}
	single = shelf_single(far_shelf(walk.far));
	if (single)
		return add_at(&walk, single, true, 0, 0, NULL);
	while (walk.source_len > 0 && source[walk.source_len - 1] == '/')
		walk.source_len--;
	return visit_folder(&walk, "");
}

struct bloscfs_file *check_open_far(struct bloscfs *fs,
				    const struct check_job *job,
				    struct check_finding *finding)
{
	const char *slash = strrchr(job->inner, '/');
	const char *claimed =
		bloscfs_claimed(slash ? slash + 1 : job->inner);
	struct bloscfs_file *file = NULL;
	struct bloscfs_diag why;
	struct src_stat st;
	int status = far_open_container(job->far, NULL, fs, job->inner, &st,
					&file, &why);

	if (!status)
		return file;
	if (why.err == BLOSCFS_ERR_NOT_FORMAT) {
		check_note_words(finding, CHECK_UNRECOGNISED, "%s%s%s",
				 claimed ? "has the name of a " : "",
				 claimed ? claimed :
					   "is no container that bloscfs ",
				 claimed ? " and is none" : "knows");
	} else if (why.err != BLOSCFS_OK) {
		check_note(finding, 0, why.err, "", &why);
	} else {
		check_note_words(finding, CHECK_UNREADABLE, "%s",
				 strerror(-status));
	}
	return NULL;
}
