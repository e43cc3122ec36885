/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sample_rows.h - the rows of a MANIFEST.tsv grouped by sample: one row is
 * one thing to check, with the columns path, kind, what, length, sha256,
 * notes; and the way from its words to those of a mount.
 */
#ifndef BFS_TEST_SAMPLE_ROWS_H
#define BFS_TEST_SAMPLE_ROWS_H

#include <stdbool.h>
#include <stddef.h>

struct sample_row {
	char *path, *kind, *what, *length, *sha, *notes;
	size_t line;
};

/* Rows of one path are neighbours, in their order in the file. */
struct sample_rows {
	struct sample_row *rows;
	size_t n;
};

/* No rows where the file cannot be read. */
void sample_rows_load(const char *path, struct sample_rows *ret);
void sample_rows_free(struct sample_rows *rows);

/* The value of key=value in notes, up to ';'; false without it. */
bool sample_note(const char *notes, const char *key, char *value, size_t cap);

/* "a%20b" to the name under which a mount shows it; name holds 256 bytes. */
void sample_file_name(const char *quoted, char *name);

#endif
