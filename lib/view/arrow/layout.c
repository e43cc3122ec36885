/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout.c - where each part of an Arrow file lies.
 */
#include "view/arrow/layout.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "view/arrow/message.h"
#include "view/arrow/text.h"

/* Whether a whole column fits into a file, as bytes of whatever it has. */
static bool is_bounded(const struct bfs_arrow_table *table,
		       const struct bfs_arrow_column *column, uint64_t *sum)
{
	uint64_t n, len;

	return bfs_mul(table->n_rows, column->per_row, &n) &&
	       bfs_mul(n, (uint64_t)column->type.width + 2 +
		       bfs_arrow_slot_len(&column->type), &len) &&
	       bfs_add(*sum, len, sum) && *sum <= INT64_MAX / 4;
}

/* Of two batches with the same number of buffers the metadata are as long. */
static enum bfs_err measure_meta(struct bfs_arrow_table *table, size_t i,
				 struct bfs_diag *diag)
{
	struct bfs_arrow_run *run = &table->runs[i];
	uint8_t *meta;

	if (i && bfs_arrow_n_slots(table, run) ==
		 bfs_arrow_n_slots(table, run - 1)) {
		run->meta_len = run[-1].meta_len;
		return BFS_OK;
	}
	BFS_TRY(bfs_arrow_make_batch(table, i, NULL, &meta, &run->meta_len,
				     diag));
	bfs_free(meta);
	return BFS_OK;
}

enum bfs_err bfs_arrow_lay(struct bfs_arrow_table *table,
			   struct bfs_diag *diag)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < table->n_columns; i++)
		if (!is_bounded(table, &table->columns[i], &sum))
			return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
					"the file would be too long");
	BFS_TRY(bfs_arrow_make_head(table, &table->head, &table->head_len,
				    diag));
	table->tail_off = table->head_len;
	for (size_t i = 0; i < table->n_runs; i++) {
		struct bfs_arrow_run *run = &table->runs[i];

		BFS_TRY(measure_meta(table, i, diag));
		run->off = table->tail_off;
		table->tail_off += run->meta_len +
				   bfs_arrow_body_len(table, run);
	}
	BFS_TRY(bfs_arrow_make_tail(table, &table->tail, &table->tail_len,
				    diag));
	table->len = table->tail_off + table->tail_len;
	return BFS_OK;
}

size_t bfs_arrow_batch_at(const struct bfs_arrow_table *table, uint64_t off,
			  uint64_t *ret_off)
{
	size_t low = 0, high = table->n_runs;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (table->runs[middle].off <= off)
			low = middle;
		else
			high = middle;
	}
	*ret_off = off - table->runs[low].off;
	return low;
}
