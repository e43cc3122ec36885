/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * choice.c - names of formats and globs, held against formats and paths.
 */
#include "tree/choice.h"

#include "bloscfs.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_ABOVE 4096		/* folders above SOURCE that are looked at */

/* The one format that files of anybody may look like. */
#define CHUNK "chunk"

/* ---- formats --------------------------------------------------------- */

/* What info.json calls frames by what they hold, which their bytes at the
 * beginning do not tell. */
static const struct { const char *name, *rows[2]; } held[] = {
	{ "b2nd", { "b2frame", "sparse b2frame" } },
	{ "b2e", { "b2frame", NULL } },
};

/* The row of a format, or -1. */
static int find_format(const char *name, size_t len)
{
	const char *found, *version;
	bool built;

	for (int row = 0; bloscfs_table("container", (size_t)row, &found,
					&version, &built); row++) {
		size_t i = 0;

		while (i < len && found[i] &&
		       (name[i] == found[i] ||
			(found[i] == ' ' && strchr("-_ ", name[i]))))
			i++;
		if (i == len && !found[i])
			return row;
	}
	return -1;
}

/* The rows that a word names, a bit each; 0 for none. */
static uint32_t find_rows(const char *word, size_t len)
{
	int row = find_format(word, len);
	uint32_t rows = row >= 0 && row < 32 ? UINT32_C(1) << row : 0;

	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++) {
		if (strlen(held[i].name) != len ||
		    memcmp(held[i].name, word, len))
			continue;
		for (int k = 0; k < 2 && held[i].rows[k]; k++)
			rows |= find_rows(held[i].rows[k],
					  strlen(held[i].rows[k]));
	}
	return rows;
}

/* One word of the list. What is taken away first leaves all the others. */
static bool set_format(struct choice *choice, const char *word, size_t len,
		       bool first)
{
	bool away = len && *word == '-';
	bool all;
	uint32_t rows;

	word += away;
	len -= away;
	all = len == 3 && memcmp(word, "all", 3) == 0;
	rows = all ? UINT32_MAX : find_rows(word, len);
	if (!rows)
		return false;
	if (!away && first)
		choice->left_out = UINT32_MAX;
	choice->named = choice->named || !away;
	if (away)
		choice->left_out |= rows;
	else
		choice->left_out &= ~rows;
	if (rows & find_rows(CHUNK, strlen(CHUNK)))
		choice->any_chunk = !away;
	return true;
}

bool choice_set_formats(struct choice *choice, const char *list)
{
	bool first = true;
	char *copy = strdup(list);
	size_t len;

	if (!copy)
		return false;
	free(choice->formats);
	choice->formats = copy;
	choice->left_out = 0;
	choice->named = choice->any_chunk = false;
	for (;; list += len + 1) {
		len = strcspn(list, ":");
		if (!set_format(choice, list, len, first))
			return false;
		if (!list[len])
			return true;
		first = false;
	}
}

bool choice_takes(const struct choice *choice, const char *format,
		  const char *path)
{
	const char *slash = strrchr(path, '/'), *claimed;
	int row = find_format(format, strlen(format));

	if (row < 0 || row >= 32)
		return true;
	if (choice->left_out >> row & 1)
		return false;
	if (strcmp(format, CHUNK) || choice->any_chunk)
		return true;
	claimed = bloscfs_claimed(slash ? slash + 1 : path);
	return claimed && strcmp(claimed, CHUNK) == 0;
}

/* ---- globs ----------------------------------------------------------- */

bool choice_add_rule(struct choice *choice, bool exclude, const char *glob)
{
	size_t n = choice->n_rules;
	struct choice_rule *rules;
	char *copy = strdup(glob);

	if (!copy)
		return false;
	rules = realloc(choice->rules, (n + 1) * sizeof(*rules));
	if (!rules) {
		free(copy);
		return false;
	}
	rules[n] = (struct choice_rule){ .exclude = exclude, .glob = copy };
	choice->rules = rules;
	choice->n_rules = n + 1;
	return true;
}

void choice_release(struct choice *choice)
{
	for (size_t i = 0; i < choice->n_rules; i++)
		free(choice->rules[i].glob);
	free(choice->rules);
	free(choice->formats);
	*choice = (struct choice){ 0 };
}

/* Whether a glob fits a path, or a folder on the way to it. */
static bool fits(const char *glob, char *path)
{
	char *slash = path;
	bool found = fnmatch(glob, path, 0) == 0;

	while (!found && (slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		found = fnmatch(glob, path, 0) == 0;
		*slash = '/';
	}
	return found;
}

bool choice_excludes(const struct choice *choice, const char *path)
{
	char *copy;
	bool excluded = false;

	if (!choice->n_rules || !*path)
		return false;
	copy = strdup(path);
	/* Rather a file as it is than one shown against the rules. */
	if (!copy)
		return true;
	for (size_t i = choice->n_rules; i-- > 0;)
		if (fits(choice->rules[i].glob, copy)) {
			excluded = choice->rules[i].exclude;
			break;
		}
	free(copy);
	return excluded;
}

/* ---- stores ---------------------------------------------------------- */

int choice_leaves(int dirfd, bool stores, bool *ret_leaves)
{
	enum bloscfs_err err = BLOSCFS_OK;
	const char *format;
	bool leaves = false;

	if (stores)
		err = bloscfs_is_foreign(dirfd, &leaves);
	if (err == BLOSCFS_OK && !leaves) {
		err = bloscfs_probe_dir(dirfd, &format);
		leaves = err == BLOSCFS_OK;
	}
	if (err != BLOSCFS_OK && err != BLOSCFS_ERR_NOT_FORMAT)
		return -bloscfs_err_errno(err);
	*ret_leaves = leaves;
	return 0;
}

int choice_in_store(int fd, bool *ret_is)
{
	struct stat here = { 0 }, above;
	enum bloscfs_err err = BLOSCFS_OK;
	bool is = false;
	int up;

	fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	for (int i = 0; fd >= 0 && i < MAX_ABOVE; i++) {
		err = bloscfs_is_foreign(fd, &is);
		if (err != BLOSCFS_OK || is)
			break;
		up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (up < 0 || fstat(fd, &here) || fstat(up, &above) ||
		    here.st_dev != above.st_dev ||
		    here.st_ino == above.st_ino) {
			if (up >= 0)
				close(up);
			break;
		}
		close(fd);
		fd = up;
	}
	if (fd < 0)
		return -errno;
	close(fd);
	*ret_is = is;
	return -bloscfs_err_errno(err);
}
