/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.c - columns of equal length, and where an Arrow IPC file has them.
 */
#include "view/arrow/table.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "view/arrow/text.h"

#include <stdio.h>
#include <string.h>

#define MOST_TWINS 10		/* columns of one name, and one more */

static void free_column(struct bfs_arrow_column *column)
{
	bfs_free(column->name);
	bfs_free(column->zone);
	bfs_free(column->nulls.same);
}

void bfs_arrow_release(struct bfs_arrow_table *table)
{
	for (size_t i = 0; i < table->n_columns; i++)
		free_column(&table->columns[i]);
	bfs_free(table->columns);
	for (size_t i = 0; i < table->n_runs; i++)
		bfs_free(table->runs[i].texts);
	for (size_t i = 0; i < table->n_words; i++)
		bfs_free(table->words[i].bytes);
	bfs_free(table->words);
	bfs_free(table->runs);
	bfs_free(table->head);
	bfs_free(table->tail);
	*table = (struct bfs_arrow_table){ 0 };
}

/* ---- columns --------------------------------------------------------- */

static bool has_name(const struct bfs_arrow_table *table, const char *name,
		     size_t len)
{
	for (size_t i = 0; i < table->n_columns; i++)
		if (table->columns[i].name_len == len &&
		    !memcmp(table->columns[i].name, name, len))
			return true;
	return false;
}

/* A copy of the name, with a number behind where it is there already: programs
 * refuse tables with two columns of one name. Few numbers are tried, so that
 * thousands of such columns cost no more than others. */
static enum bfs_err copy_name(const struct bfs_arrow_table *table,
			      const char *name, size_t len, char **ret_copy,
			      size_t *ret_len, struct bfs_diag *diag)
{
	char *copy = bfs_alloc(len + 8);
	size_t copy_len = len;
	unsigned n = 1;

	if (!copy)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a column");
	if (len)
		memcpy(copy, name, len);
	while (has_name(table, copy, copy_len)) {
		if (++n == MOST_TWINS) {
			bfs_free(copy);
			return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
					"too many columns have its name");
		}
		copy_len = len + (size_t)snprintf(copy + len, 8, "%%~%u", n);
	}
	*ret_copy = copy;
	*ret_len = copy_len;
	return BFS_OK;
}

static enum bfs_err make_room(struct bfs_arrow_table *table,
			      struct bfs_diag *diag)
{
	size_t cap = table->cap ? 2 * table->cap : 16;
	struct bfs_arrow_column *columns;

	if (table->n_columns == BFS_ARROW_COLUMNS)
		return bfs_fail(diag, BFS_ERR_LIMIT, 0,
				"more than %d columns", BFS_ARROW_COLUMNS);
	if (table->n_columns < table->cap)
		return BFS_OK;
	columns = bfs_realloc(table->columns, cap * sizeof(*columns));
	if (!columns)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a column");
	table->columns = columns;
	table->cap = cap;
	return BFS_OK;
}

enum bfs_err bfs_arrow_add(struct bfs_arrow_table *table, const char *name,
			   size_t name_len, const struct bfs_arrow_type *type,
			   struct bfs_arrow_column **ret_column,
			   struct bfs_diag *diag)
{
	struct bfs_arrow_column column = { .type = *type, .per_row = 1,
					   .row_len = type->src,
					   .dictionary = -1 };

	if (type->has_nat)
		column.nulls.rule = BFS_ARROW_NAT;
	BFS_TRY(make_room(table, diag));
	BFS_TRY(copy_name(table, name, name_len, &column.name,
			  &column.name_len, diag));
	table->columns[table->n_columns] = column;
	*ret_column = &table->columns[table->n_columns++];
	return BFS_OK;
}

void bfs_arrow_drop(struct bfs_arrow_table *table)
{
	free_column(&table->columns[--table->n_columns]);
}

enum bfs_err bfs_arrow_nest(struct bfs_arrow_column *column, uint64_t n,
			    struct bfs_diag *diag)
{
	uint64_t per_row, len;

	if (column->n_lists == BFS_ARROW_LISTS || !n || n > INT32_MAX ||
	    !bfs_mul(column->per_row, n, &per_row) ||
	    !bfs_mul(column->row_len, n, &len) || len > INT64_MAX)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"a row of it has no values, or too many");
	column->lists[column->n_lists++] = (uint32_t)n;
	column->per_row = per_row;
	column->row_len = len;
	return BFS_OK;
}

/* ---- rows ------------------------------------------------------------ */

enum bfs_err bfs_arrow_add_run(struct bfs_arrow_table *table, uint64_t first,
			       uint64_t n, struct bfs_diag *diag)
{
	size_t cap = 1, used = table->n_runs;
	struct bfs_arrow_run *runs;

	if (used == BFS_ARROW_RUNS)
		return bfs_fail(diag, BFS_ERR_LIMIT, 0, "more than %d runs",
				BFS_ARROW_RUNS);
	while (cap < used + 1)
		cap *= 2;
	/* Those before filled their room where their number is a power of 2. */
	if (!used || (used & (used - 1)) == 0) {
		runs = bfs_realloc(table->runs, cap * sizeof(*runs));
		if (!runs)
			return bfs_fail(diag, BFS_ERR_NOMEM, 0,
					"no memory for runs of rows");
		table->runs = runs;
	}
	table->runs[table->n_runs++] =
		(struct bfs_arrow_run){ .first = first, .n = n };
	return BFS_OK;
}

/* ---- places ---------------------------------------------------------- */

uint64_t bfs_arrow_n_bits(const struct bfs_arrow_column *column,
			  const struct bfs_arrow_run *run)
{
	return column->nulls.by_row ? run->n : run->n * column->per_row;
}

static uint64_t packed(uint64_t n)
{
	return n / 8 + (n % 8 != 0);
}

struct bfs_arrow_lens bfs_arrow_lens(const struct bfs_arrow_column *column,
				     const struct bfs_arrow_run *run)
{
	const struct bfs_arrow_type *type = &column->type;
	uint64_t n = run->n * column->per_row;
	struct bfs_arrow_lens lens = {
		.data = type->width ? n * type->width : packed(n),
	};
	uint32_t slot_len = bfs_arrow_slot_len(type);

	if (column->nulls.rule != BFS_ARROW_ALL)
		lens.bits = packed(bfs_arrow_n_bits(column, run));
	if (slot_len) {
		lens.more = n * slot_len;
		lens.more_each = bfs_arrow_slots(slot_len) * slot_len;
	} else if (type->way == BFS_ARROW_OFFSETS) {
		lens.data += 8;
		lens.more = run->texts[column->text].end -
			    run->texts[column->text].start;
		lens.more_each = INT64_MAX;
	}
	return lens;
}
