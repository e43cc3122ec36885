/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.c - the columns of a table in a store against one another
 * (docs/formats/stores.md, tables): each has at least as many items as there
 * are marks of rows. Columns have room for more; marks may be of rows that are
 * not there yet, so that a column with less is noted.
 */
#include "check/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define VALID "_valid_rows"

/* Of an array of one dimension or more; -1: it is none, or cannot be read. */
static int64_t count_rows(struct bloscfs_file *file,
			  const struct bloscfs_node *node)
{
	struct bloscfs_facts facts = { .size = sizeof(facts) };
	struct bloscfs_diag why;

	if (bloscfs_facts(file, node, &facts, &why) != BLOSCFS_OK ||
	    facts.status != BLOSCFS_GOOD || !facts.is_array || facts.ndim == 0)
		return -1;
	return facts.shape[0];
}

/* Bytes of texts and values of dictionaries have lengths of their own. */
static bool is_of_rows(const char *name)
{
	size_t len = strcspn(name, ".");

	return (!name[len] || !strcmp(name + len, ".b2nd")) &&
	       (len < 5 || strncmp(name + len - 5, "_dict", 5) != 0);
}

static bool find_marks(struct bloscfs_file *file,
		       const struct bloscfs_node *dir, int64_t *ret_rows)
{
	struct bloscfs_node node;

	if (!bloscfs_lookup(file, dir, VALID, &node) &&
	    !bloscfs_lookup(file, dir, VALID ".b2nd", &node))
		return false;
	*ret_rows = node.child == dir->child ? -1 : count_rows(file, &node);
	return *ret_rows >= 0;
}

void check_table(struct bloscfs_file *file, const struct bloscfs_node *dir,
		 const struct bloscfs_node *columns, check_told *told,
		 void *arg)
{
	char name[BLOSCFS_NAME_MAX + 1];
	struct bloscfs_node node;
	int64_t marks, rows;

	if (!find_marks(file, dir, &marks))
		return;
	for (uint64_t pos = 0; bloscfs_list(file, columns, pos, name, &node);
	     pos++) {
		struct bloscfs_diag why = { .err = BLOSCFS_ERR_CORRUPT,
					    .chunk = -1 };

		if (node.child == dir->child || !is_of_rows(name))
			continue;
		rows = count_rows(file, &node);
		if (rows < 0 || rows >= marks)
			continue;
		snprintf(why.text, sizeof(why.text), "the column %.64s has %"
			 PRId64 " rows, " VALID " has %" PRId64, name, rows,
			 marks);
		told(arg, true, &why);
	}
}
