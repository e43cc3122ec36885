/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * guess.c - which option, or form of the command line, somebody meant.
 */
#include "opts/value.h"

#include <string.h>

#define MAX_NAME 32
#define MAX_EDITS 2

static size_t least(size_t a, size_t b, size_t c)
{
	if (b < a)
		a = b;
	return c < a ? c : a;
}

/* How many letters have to be put in, left out or changed to make one of the
 * other. Both have at most MAX_NAME. */
static size_t n_edits(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t row[MAX_NAME + 1], diagonal, above;

	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			above = row[j];
			row[j] = least(row[j] + 1, row[j - 1] + 1,
				       diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[b_len];
}

/* Whether it is nearer than all before. Of short names almost everything is
 * almost the same. */
static bool is_nearer(const char *name, size_t len, const char *other,
		      size_t *least_edits)
{
	size_t edits = n_edits(name, len, other, strlen(other));

	if (edits >= *least_edits || 3 * edits > len)
		return false;
	*least_edits = edits;
	return true;
}

const char *opts_guess(const char *name, size_t len)
{
	const char *best = NULL;
	size_t least_edits = MAX_EDITS + 1;

	if (len > MAX_NAME)
		return NULL;
	for (const struct form_name *form = opts_forms; form->name; form++) {
		if (is_nearer(name, len, form->name + 2, &least_edits))
			best = form->name;
	}
	for (const struct opt *opt = opts_table; opt < opts_table + n_opts;
	     opt++) {
		if (opt->help && opt->kind != OPT_GROUP &&
		    is_nearer(name, len, opt->name, &least_edits))
			best = opt->name;
	}
	return best;
}
