/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sample_rows.c - reads the tables of what sample files must hold.
 */
#include "support/sample_rows.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_rows(const void *pa, const void *pb)
{
	const struct sample_row *a = pa, *b = pb;
	int c = strcmp(a->path, b->path);

	return c ? c : (a->line > b->line) - (a->line < b->line);
}

void sample_rows_load(const char *path, struct sample_rows *m)
{
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t cap = 0, n_line = 0;

	*m = (struct sample_rows){ 0 };
	while (f && getline(&line, &cap, f) > 0) {
		char *rest = line, *field[6];

		n_line++;
		line[strcspn(line, "\r\n")] = 0;
		if (line[0] == '#' || !line[0] || !strncmp(line, "path\t", 5))
			continue;
		for (int i = 0; i < 6; i++) {
			char *at = i < 5 ? strsep(&rest, "\t") : rest;

			field[i] = strdup(at ? at : "");
		}
		m->rows = realloc(m->rows, (m->n + 1) * sizeof(*m->rows));
		m->rows[m->n++] = (struct sample_row){
			field[0], field[1], field[2], field[3], field[4],
			field[5], n_line,
		};
	}
	free(line);
	if (f)
		fclose(f);
	if (m->n)
		qsort(m->rows, m->n, sizeof(*m->rows), compare_rows);
}

void sample_rows_free(struct sample_rows *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->rows[i].path);
		free(m->rows[i].kind);
		free(m->rows[i].what);
		free(m->rows[i].length);
		free(m->rows[i].sha);
		free(m->rows[i].notes);
	}
	free(m->rows);
}

bool sample_note(const char *notes, const char *key, char *value, size_t cap)
{
	size_t len = strlen(key);

	for (const char *at = notes; at; at = strchr(at, ';')) {
		at += strspn(at, "; ");
		if (strncmp(at, key, len) || at[len] != '=')
			continue;
		snprintf(value, cap, "%.*s", (int)strcspn(at + len + 1, ";"),
			 at + len + 1);
		return true;
	}
	return false;
}

void sample_file_name(const char *quoted, char *name)
{
	uint8_t raw[256];
	size_t n = 0;

	for (const char *at = quoted; *at && n < 80; at++) {
		unsigned c = (uint8_t)*at;

		if (c == '%' && sscanf(at + 1, "%2x", &c) == 1)
			at += 2;
		raw[n++] = (uint8_t)c;
	}
	*name = 0;
	if (n == 0)
		strcpy(name, "%");
	for (size_t i = 0; i < n; i++) {
		bool dots = raw[0] == '.' && raw[n - 1] == '.' && n <= 2;

		if (dots || raw[i] < 0x20 || strchr("%/\x7f", raw[i]))
			sprintf(name, "%%%02X", raw[i]);
		else
			sprintf(name, "%c", raw[i]);
		name += strlen(name);
	}
}
