/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * batches.c - see batches.h.
 */
#include "view/arrow/batches.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/moment.h"
#include "view/arrow/fill.h"

#include <string.h>

/* Rows of a batch are a multiple of this, but for those of the last: so bits
 * of marks and blocks are seldom cut. */
#define ROWS 4096
/* Runs times columns, and runs times texts, of which each is looked for. */
#define MOST_PARTS 65536
#define MOST_ENDS 1024

/* Bytes that counting goes through for a row, at most. */
static uint64_t cost_of(const struct bfs_arrow_table *table)
{
	uint64_t cost = 0;

	for (size_t i = 0; i < table->n_columns; i++) {
		const struct bfs_arrow_column *column = &table->columns[i];
		uint64_t len = column->step;

		if (column->nulls.rule == BFS_ARROW_ALL)
			continue;
		if (column->nulls.rule == BFS_ARROW_MARKED)
			len = 1;
		/* Texts as long as the one that stands for none. */
		else if (column->type.way == BFS_ARROW_OFFSETS)
			len += column->nulls.same_len;
		if (!bfs_add(cost, len, &cost))
			return UINT64_MAX;
	}
	return cost;
}

static uint64_t count_runs(const struct bfs_arrow_table *table, uint64_t rows)
{
	uint64_t n = 0;

	for (size_t i = 0; i < table->n_runs; i++)
		n += bfs_div_up(table->runs[i].n, rows);
	return n;
}

size_t bfs_arrow_most_runs(size_t n_columns, size_t n_texts)
{
	uint64_t most = bfs_min(BFS_ARROW_RUNS, MOST_PARTS / (n_columns + 1));

	most = bfs_min(most, MOST_ENDS / (n_texts + 1));
	return (size_t)bfs_max(most, 1);
}

enum bfs_err bfs_arrow_cut_runs(struct bfs_arrow_table *table, uint64_t bytes,
				struct bfs_diag *diag)
{
	uint64_t cost = cost_of(table), rows, most;
	struct bfs_arrow_table cut = { 0 };
	enum bfs_err err = BFS_OK;

	if (!cost)
		return BFS_OK;
	most = bfs_arrow_most_runs(table->n_columns, table->n_texts);
	rows = bfs_max(bytes / cost / ROWS, 1) * ROWS;
	while (count_runs(table, rows) > bfs_max(most, table->n_runs) &&
	       rows < UINT64_MAX / 2)
		rows *= 2;
	for (size_t i = 0; i < table->n_runs && err == BFS_OK; i++) {
		const struct bfs_arrow_run *run = &table->runs[i];

		for (uint64_t at = 0; at < run->n && err == BFS_OK; at += rows)
			err = bfs_arrow_add_run(&cut, run->first + at,
						bfs_min(rows, run->n - at),
						diag);
	}
	if (err != BFS_OK) {
		bfs_arrow_release(&cut);
		return err;
	}
	/* None has texts yet. */
	bfs_free(table->runs);
	table->runs = cut.runs;
	table->n_runs = cut.n_runs;
	return BFS_OK;
}

/* ---- counts ---------------------------------------------------------- */

enum bfs_err bfs_arrow_counts_new(const struct bfs_arrow_table *table,
				  struct bfs_arrow_counts *ret_counts,
				  struct bfs_diag *diag)
{
	size_t n = table->n_columns * table->n_runs;

	ret_counts->list = bfs_zalloc(n ? n : 1, sizeof(*ret_counts->list));
	if (!ret_counts->list)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for counts");
	for (size_t i = 0; i < n; i++)
		atomic_init(&ret_counts->list[i], -1);
	return BFS_OK;
}

void bfs_arrow_counts_release(struct bfs_arrow_counts *counts)
{
	bfs_free((void *)counts->list);
	counts->list = NULL;
}

static enum bfs_err count(const struct bfs_arrow_table *table,
			  const struct bfs_arrow_reader *reader, size_t column,
			  const struct bfs_arrow_run *run, int64_t *ret_n,
			  struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	enum bfs_err err;

	*ret_n = 0;
	if (table->columns[column].nulls.rule == BFS_ARROW_ALL)
		return BFS_OK;
	err = bfs_moment_settle(mark, bfs_arrow_count_nulls(
			table, reader, column, run, ret_n, diag), diag);
	if (err == BFS_OK || bfs_err_passes(err))
		return err;
	*ret_n = 1;
	return BFS_OK;
}

enum bfs_err bfs_arrow_count_batch(const struct bfs_arrow_table *table,
				   const struct bfs_arrow_reader *reader,
				   const struct bfs_arrow_counts *counts,
				   size_t i, int64_t *ret_n,
				   struct bfs_diag *diag)
{
	size_t first = i * table->n_columns;

	/* Threads may count the same at once, and find the same. */
	for (size_t k = 0; k < table->n_columns; k++) {
		ret_n[k] = atomic_load_explicit(&counts->list[first + k],
						memory_order_relaxed);
		if (ret_n[k] >= 0)
			continue;
		BFS_TRY(count(table, reader, k, &table->runs[i], &ret_n[k],
			      diag));
		atomic_store_explicit(&counts->list[first + k], ret_n[k],
				      memory_order_relaxed);
	}
	return BFS_OK;
}
