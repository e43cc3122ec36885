/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * catalog.c - the catalog's lines, checked and sorted.
 */
#include "remote/catalog.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LINES 10000000
#define MOST_LINE 65536

__attribute__((format(printf, 4, 5)))
static int refuse(char *error, size_t cap, size_t line, const char *fmt, ...)
{
	int len = snprintf(error, cap, "line %zu of the catalog: ", line);
	va_list args;

	va_start(args, fmt);
	if (len > 0 && (size_t)len < cap)
		vsnprintf(error + len, cap - (size_t)len, fmt, args);
	va_end(args);
	return -EINVAL;
}

/* Components that name a file each, none that leads elsewhere. */
static bool is_path(const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (!len || len > NAME_MAX || strncmp(path, ".", len) == 0 ||
		    (len == 2 && memcmp(path, "..", 2) == 0))
			return false;
		path += len;
		if (*path == '/' && !*++path)
			return false;
	}
	return true;
}

static int add_line(struct catalog *c, const char *url, const char *path,
		    size_t number)
{
	struct catalog_line *grown;

	if (c->n == c->cap) {
		c->cap = c->cap ? 2 * c->cap : 64;
		grown = realloc(c->lines, c->cap * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		c->lines = grown;
	}
	grown = &c->lines[c->n];
	*grown = (struct catalog_line){ strdup(path), strdup(url), number };
	c->n++;
	return grown->path && grown->url ? 0 : -ENOMEM;
}

static int take_line(struct catalog *c, char *line, size_t number,
		     char *error, size_t cap)
{
	char *tab = strchr(line, '\t');

	line[strcspn(line, "\r\n")] = '\0';
	if (!tab)
		return !*line || *line == '#' ? 0 :
		       refuse(error, cap, number, "an address, a tab and a "
			      "path are needed");
	*tab = '\0';
	if (!url_is(line))
		return refuse(error, cap, number, "it begins with no address "
			      "of https://, http:// or s3://");
	if (!tab[1] || !is_path(tab + 1))
		return refuse(error, cap, number, "'%s' is no path below a "
			      "folder", tab + 1);
	return add_line(c, line, tab + 1, number);
}

int catalog_compare(const void *a, const void *b)
{
	return strcmp(((const struct catalog_line *)a)->path,
		      ((const struct catalog_line *)b)->path);
}

/* No path twice, and none that is a file and a folder. Sorted, a folder's
 * files may lie behind other names that begin like it. */
static int check(const struct catalog *c, char *error, size_t cap)
{
	for (size_t i = 1; i < c->n; i++) {
		if (strcmp(c->lines[i - 1].path, c->lines[i].path) == 0)
			return refuse(error, cap, c->lines[i].number,
				      "'%s' is there twice",
				      c->lines[i].path);
	}
	for (size_t i = 0; i < c->n; i++) {
		char *path = c->lines[i].path;

		for (char *s = strchr(path, '/'); s; s = strchr(s + 1, '/')) {
			struct catalog_line key;
			bool both;

			key.path = strndup(path, (size_t)(s - path));
			if (!key.path)
				return -ENOMEM;
			both = bsearch(&key, c->lines, c->n, sizeof(key),
				       catalog_compare);
			free(key.path);
			if (both)
				return refuse(error, cap, c->lines[i].number,
					      "'%s' lies in what is a file in "
					      "another line", path);
		}
	}
	return 0;
}

int catalog_read(const char *file, struct catalog *ret_catalog, char *error,
		 size_t error_cap)
{
	struct catalog c = { 0 };
	FILE *in = fopen(file, "re");
	char *line = NULL;
	size_t cap = 0, number = 0;
	ssize_t len;
	int status = 0;

	if (!in) {
		status = -errno;
		snprintf(error, error_cap, "the catalog '%s' cannot be read: "
			 "%s", file, strerror(errno));
		return status;
	}
	while (!status && (len = getline(&line, &cap, in)) >= 0) {
		if (++number > MOST_LINES || len > MOST_LINE ||
		    strlen(line) != (size_t)len)
			status = refuse(error, error_cap, number,
					"it is too long, or holds a NUL");
		else
			status = take_line(&c, line, number, error,
					   error_cap);
	}
	if (!status && ferror(in))
		status = -EIO;
	free(line);
	fclose(in);
	if (!status && c.n) {
		qsort(c.lines, c.n, sizeof(*c.lines), catalog_compare);
		status = check(&c, error, error_cap);
	}
	if (status)
		catalog_release(&c);
	else
		*ret_catalog = c;
	return status;
}

void catalog_release(struct catalog *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->lines[i].path);
		free(c->lines[i].url);
	}
	free(c->lines);
	*c = (struct catalog){ 0 };
}

/* The first line whose path is not below text. */
static size_t lower_bound(const struct catalog *c, const char *text)
{
	size_t low = 0, high = c->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(c->lines[middle].path, text) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* As file names already, which folder_add would escape again. */
static int add_name(struct folder *folder, const char *name, size_t len,
		    const char *url)
{
	char *text = strndup(name, len), *plain;
	int status = -ENOMEM;

	plain = text ? folder_unescape(text) : NULL;
	if (plain)
		status = folder_add(folder, plain, &(struct folder_entry){
			.url = (char *)(uintptr_t)url, .is_folder = !url });
	free(plain);
	free(text);
	return status;
}

int catalog_list(const struct catalog *c, const char *path,
		 struct folder *folder)
{
	size_t len = strlen(path), i, last = 0;
	const char *name, *before = "";
	char *start;
	int status = 0;

	if (asprintf(&start, "%s%s", path, len ? "/" : "") < 0)
		return -ENOMEM;
	len = strlen(start);
	i = lower_bound(c, start);
	if (len && (i == c->n || strncmp(c->lines[i].path, start, len) != 0))
		status = -ENOENT;
	for (; !status && i < c->n &&
	       strncmp(c->lines[i].path, start, len) == 0; i++) {
		size_t part;

		name = c->lines[i].path + len;
		part = strcspn(name, "/");
		if (name[part] && part == last &&
		    strncmp(name, before, part) == 0)
			continue;
		status = add_name(folder, name, part,
				  name[part] ? NULL : c->lines[i].url);
		before = name;
		last = name[part] ? part : 0;
	}
	free(start);
	return status;
}
