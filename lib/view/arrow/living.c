/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * living.c - which rows of a table live.
 */
#include "view/arrow/living.h"

#include "base/bytes.h"
#include "base/mem.h"

#define PIECE ((size_t)64 << 10)

/* The run that is being read, if any, and all before it. */
struct living {
	struct bfs_arrow_table *table;
	size_t most;
	bool in_run, too_many;
	uint64_t first;			/* of the run */
	uint64_t end;			/* behind the last row that lives */
};

static enum bfs_err end_run(struct living *living, struct bfs_diag *diag)
{
	if (!living->in_run)
		return BFS_OK;
	living->in_run = false;
	if (living->table->n_runs == living->most)
		living->too_many = true;
	if (living->too_many)
		return BFS_OK;
	return bfs_arrow_add_run(living->table, living->first,
				 living->end - living->first, diag);
}

static enum bfs_err go_through(struct living *living, const uint8_t *marks,
			       uint64_t row, size_t n, struct bfs_diag *diag)
{
	for (size_t i = 0; i < n; i++) {
		if (!marks[i]) {
			BFS_TRY(end_run(living, diag));
			continue;
		}
		if (!living->in_run)
			living->first = row + i;
		living->in_run = true;
		living->end = row + i + 1;
	}
	return BFS_OK;
}

static enum bfs_err read_marks(struct living *living,
			       const struct bfs_arrow_reader *reader,
			       size_t store, uint64_t n, struct bfs_diag *diag)
{
	uint8_t *marks = bfs_alloc(PIECE);
	enum bfs_err err = BFS_OK;

	if (!marks)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for marks");
	for (uint64_t row = 0; row < n && err == BFS_OK;) {
		size_t some = (size_t)bfs_min(n - row, PIECE);

		err = reader->read(reader->arg, store, row, marks, some, diag);
		if (err == BFS_OK)
			err = go_through(living, marks, row, some, diag);
		row += some;
	}
	bfs_free(marks);
	if (err == BFS_OK)
		err = end_run(living, diag);
	return err;
}

enum bfs_err bfs_arrow_find_living(struct bfs_arrow_table *table,
				   const struct bfs_arrow_reader *reader,
				   size_t store, uint64_t n, size_t most,
				   bool *ret_all, struct bfs_diag *diag)
{
	struct living living = { .table = table, .most = most, .end = n };

	if (n <= BFS_ARROW_MARKS) {
		living.end = 0;
		BFS_TRY(read_marks(&living, reader, store, n, diag));
	}
	*ret_all = living.too_many || n > BFS_ARROW_MARKS;
	table->n_rows = living.end;
	if (!*ret_all)
		return BFS_OK;
	table->n_runs = 0;
	return bfs_arrow_add_run(table, 0, living.end, diag);
}
