/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * manifest.h - for tests: the answers of a directory's MANIFEST.tsv (see
 * tests/data/README.md). What cannot be read ends the test program.
 */
#ifndef MANIFEST_H
#define MANIFEST_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns as text; all strings belong to the manifest. */
struct manifest_row {
	char *path, *kind, *what, *len, *sha, *notes;
};

struct manifest {
	const char *dir;	/* borrowed */
	char *text;
	struct manifest_row *rows;
	size_t n_rows;
};

/* A whole file, with no byte behind its end. Free with free. */
static inline uint8_t *manifest_file(const char *dir, const char *name,
				     size_t *ret_len)
{
	char path[4096];
	uint8_t *buf;
	FILE *file;
	long len = -1;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "rb");
	if (file && fseek(file, 0, SEEK_END) == 0)
		len = ftell(file);
	buf = len < 0 ? NULL : malloc(len ? (size_t)len : 1);
	if (buf)
		rewind(file);
	if (!buf || fread(buf, 1, (size_t)len, file) != (size_t)len) {
		printf("Bail out! %s cannot be read\n", path);
		exit(1);
	}
	fclose(file);
	*ret_len = (size_t)len;
	return buf;
}

static inline void manifest_add(struct manifest *m, char *line)
{
	struct manifest_row row = { 0 };
	char **field[] = { &row.path, &row.kind, &row.what,
			   &row.len, &row.sha, &row.notes };

	for (size_t i = 0; i < 6; i++)
		*field[i] = line ? strsep(&line, "\t") : (char *)"";
	m->rows = realloc(m->rows, (m->n_rows + 1) * sizeof(row));
	if (!m->rows)
		abort();
	m->rows[m->n_rows++] = row;
}

static inline void manifest_load(const char *dir, struct manifest *ret)
{
	size_t len;
	uint8_t *raw = manifest_file(dir, "MANIFEST.tsv", &len);
	char *rest, *line;

	memset(ret, 0, sizeof(*ret));
	ret->dir = dir;
	ret->text = malloc(len + 1);
	if (!ret->text)
		abort();
	memcpy(ret->text, raw, len);
	ret->text[len] = '\0';
	free(raw);
	for (rest = ret->text; (line = strsep(&rest, "\n"));)
		if (*line && *line != '#')
			manifest_add(ret, line);
}

static inline void manifest_release(struct manifest *m)
{
	free(m->rows);
	free(m->text);
	memset(m, 0, sizeof(*m));
}

#endif
