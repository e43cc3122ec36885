/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rootdir.c - a table of bcolz. Its columns have as many rows as one another;
 * where they have not, it is not known which rows are the table's.
 */
#include "view/arrow/rootdir.h"

#include "container/rootdirs.h"
#include "view/arrow/batches.h"

bool bfs_arrow_is_rootdir(struct bfs_file *file)
{
	const struct bfs_container *container = file->array->container;
	uint64_t len;

	return container->dir && container->ops == &bfs_container_table &&
	       bfs_dir_has(container->dir, BFS_ROOTDIRS, &len);
}

/* Opens a column, and tells its rows; its items are added later, when the
 * table's rows are known. */
static enum bfs_err open_column(struct bfs_file *file,
				struct bfs_arrow_stores *stores,
				const char *name, uint64_t *ret_n_rows,
				struct bfs_diag *diag)
{
	const struct bfs_container *container;
	enum bfs_err err;
	size_t store;

	BFS_TRY(bfs_arrow_open_folder(file, stores, name, &store, diag));
	container = stores->list[store]->container;
	err = bfs_arrow_need_rows(stores, store, 0, diag);
	if (err == BFS_OK)
		*ret_n_rows = (uint64_t)container->array.shape[0];
	else
		bfs_arrow_close_last(stores);
	return err;
}

static enum bfs_err add_column(struct bfs_file *file,
			       struct bfs_arrow_table *table,
			       struct bfs_arrow_lefts *lefts,
			       struct bfs_arrow_stores *stores,
			       const struct bfs_value *name,
			       struct bfs_diag *diag)
{
	const struct bfs_container *container;
	size_t store = stores->n;
	uint64_t n_rows;

	BFS_TRY(open_column(file, stores, name->s.text, &n_rows, diag));
	if (store && n_rows != table->n_rows) {
		bfs_arrow_close_last(stores);
		return bfs_fail(diag, BFS_ERR_RANGE, 0,
				"its columns have different numbers of rows");
	}
	table->n_rows = n_rows;
	container = stores->list[store]->container;
	return bfs_arrow_add_items(table, lefts, &container->array,
				   container->typesize, name->s.text,
				   name->s.len, store, &n_rows, diag);
}

/* One that cannot be had is left out; but a table whose rows are in doubt is
 * none. */
static enum bfs_err try_column(struct bfs_file *file,
			       struct bfs_arrow_table *table,
			       struct bfs_arrow_lefts *lefts,
			       struct bfs_arrow_stores *stores,
			       const struct bfs_value *name,
			       struct bfs_diag *diag)
{
	struct bfs_diag why = { .chunk = -1 };
	enum bfs_err err;

	if (!bfs_rootdirs_is_name(name))
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"a column has a name that no folder has");
	err = add_column(file, table, lefts, stores, name, &why);
	if (err == BFS_OK)
		return BFS_OK;
	if (err == BFS_ERR_LIMIT || err == BFS_ERR_RANGE) {
		if (diag)
			*diag = why;
		return err;
	}
	return bfs_arrow_leave(lefts, name->s.text, name->s.len, &why, diag);
}

enum bfs_err bfs_arrow_add_rootdir(struct bfs_file *file,
				   struct bfs_arrow_table *table,
				   struct bfs_arrow_lefts *lefts,
				   struct bfs_arrow_stores *stores,
				   struct bfs_diag *diag)
{
	const struct bfs_container *container = file->array->container;
	const struct bfs_value *name;
	struct bfs_rootdirs list;
	enum bfs_err err = BFS_OK;

	BFS_TRY(bfs_rootdirs_read(container->dir, &container->guard, &list,
				  diag));
	if (list.names->n > BFS_ARROW_COLUMNS)
		err = bfs_fail(diag, BFS_ERR_LIMIT, 0, "more than %d columns",
			       BFS_ARROW_COLUMNS);
	for (name = list.names->first; name && err == BFS_OK; name = name->next)
		err = try_column(file, table, lefts, stores, name, diag);
	bfs_rootdirs_release(&list);
	if (err == BFS_OK && !table->n_columns)
		err = bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0, lefts->n ?
			       "Arrow has none of its columns" :
			       "it has no columns");
	if (err == BFS_OK && table->n_rows)
		err = bfs_arrow_add_run(table, 0, table->n_rows, diag);
	if (err == BFS_OK)
		err = bfs_arrow_cut_runs(table, BFS_ARROW_COUNTED, diag);
	return err;
}
