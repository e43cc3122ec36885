/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arrow.c - data.arrow: an array of one dimension as a table in an Arrow IPC
 * file: the fields of its records as columns, or one column `data`.
 * table.arrow: a table of a store or a directory, all columns that Arrow has.
 */
#include "base/bytes.h"
#include "base/mem.h"
#include "text/json.h"
#include "view/arrow/batches.h"
#include "view/arrow/ctable.h"
#include "view/arrow/fill.h"
#include "view/arrow/items.h"
#include "view/arrow/layout.h"
#include "view/arrow/rootdir.h"
#include "view/parts.h"
#include "view/payload.h"
#include "view/view.h"

#include <stdio.h>

static const struct bfs_stream data_stream = { BFS_STREAM_DATA, 0 };

enum kind { KIND_DATA, KIND_TABLE, KIND_ROOTDIR };

struct arrow {
	enum kind kind;
	char why[BFS_ARROW_WHY];	/* why there is none; "" */
	struct bfs_arrow_table table;
	struct bfs_arrow_lefts lefts;
	struct bfs_arrow_stores stores;
	struct bfs_arrow_counts counts;
	uint64_t data_len;		/* bytes that the array must have */
};

/* ---- what is found out once ------------------------------------------ */

static void arrow_release(void *state)
{
	struct arrow *arrow = state;

	bfs_arrow_counts_release(&arrow->counts);
	bfs_arrow_release(&arrow->table);
	bfs_arrow_lefts_release(&arrow->lefts);
	bfs_arrow_stores_release(&arrow->stores);
	bfs_free(arrow);
}

static enum bfs_err lay_out_array(const struct bfs_file *file,
				  struct arrow *arrow, struct bfs_diag *diag)
{
	const struct bfs_container *container = file->array->container;
	struct bfs_arrow_table *table = &arrow->table;

	if (!bfs_payload_is_array(file))
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"the container is no sound array");
	if (container->array.ndim != 1)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"only an array of one dimension is a table");
	BFS_TRY(bfs_arrow_store_own(&arrow->stores, file->array, diag));
	BFS_TRY(bfs_arrow_add_items(table, &arrow->lefts, &container->array,
				    container->typesize, "data", 4, 0,
				    &table->n_rows, diag));
	if (!table->n_columns)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0, arrow->lefts.n ?
				"Arrow has none of its columns" :
				"it has no columns");
	if (!bfs_mul(table->n_rows, container->typesize, &arrow->data_len) ||
	    arrow->data_len > INT64_MAX)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"the array has too many items");
	if (table->n_rows)
		BFS_TRY(bfs_arrow_add_run(table, 0, table->n_rows, diag));
	return bfs_arrow_cut_runs(table, BFS_ARROW_COUNTED, diag);
}

static enum bfs_err lay_out(struct bfs_file *file, struct arrow *arrow,
			    struct bfs_diag *diag)
{
	if (arrow->kind == KIND_TABLE)
		BFS_TRY(bfs_arrow_add_ctable(file, &arrow->table,
					     &arrow->lefts, &arrow->stores,
					     diag));
	else if (arrow->kind == KIND_ROOTDIR)
		BFS_TRY(bfs_arrow_add_rootdir(file, &arrow->table,
					      &arrow->lefts, &arrow->stores,
					      diag));
	else
		BFS_TRY(lay_out_array(file, arrow, diag));
	BFS_TRY(bfs_arrow_lay(&arrow->table, diag));
	return bfs_arrow_counts_new(&arrow->table, &arrow->counts, diag);
}

static enum bfs_err find_arrow(struct bfs_file *file, void **ret_state,
			       struct bfs_diag *diag)
{
	struct arrow *arrow = bfs_zalloc(1, sizeof(*arrow));
	struct bfs_diag why = { .chunk = -1 };
	enum bfs_err err;

	if (!arrow)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for Arrow");
	arrow->kind = bfs_arrow_is_ctable(file) ? KIND_TABLE :
		      bfs_arrow_is_rootdir(file) ? KIND_ROOTDIR : KIND_DATA;
	err = lay_out(file, arrow, &why);
	if (bfs_err_passes(err)) {
		arrow_release(arrow);
		if (diag)
			*diag = why;
		return err;
	}
	if (err != BFS_OK)
		snprintf(arrow->why, sizeof(arrow->why), "%s", why.text);
	*ret_state = arrow;
	return BFS_OK;
}

static const struct arrow *get_arrow(struct bfs_file *file)
{
	const void *arrow;

	return bfs_kept_state(file, BFS_ROW_arrow, find_arrow, &arrow, NULL) ==
	       BFS_OK ? arrow : NULL;
}

/* NULL where there is no such file. */
static const struct arrow *find_entry(struct bfs_file *file)
{
	const struct arrow *arrow = get_arrow(file);

	return arrow && !arrow->why[0] ? arrow : NULL;
}

/* ---- the view -------------------------------------------------------- */

static enum bfs_err count_nulls(const void *arg, size_t i, int64_t *ret_n,
				struct bfs_diag *diag)
{
	const struct arrow *arrow = arg;
	const struct bfs_arrow_reader reader = bfs_arrow_reader(&arrow->stores);

	return bfs_arrow_count_batch(&arrow->table, &reader, &arrow->counts, i,
				     ret_n, diag);
}

static size_t arrow_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	const struct arrow *arrow = find_entry(file);

	if (!arrow)
		return 0;
	ret_roots[0] = (struct bfs_root){
		arrow->kind == KIND_DATA ? "data.arrow" : "table.arrow", 0
	};
	return 1;
}

static void arrow_stat(struct bfs_file *file, const struct bfs_node *node,
		       struct bfs_attr *ret_attr)
{
	const struct arrow *arrow = find_entry(file);
	uint64_t len;

	(void)node;
	if (!arrow)
		return;
	ret_attr->blksize = bfs_file_blksize(file);
	ret_attr->claim = arrow->table.len;
	if (arrow->kind == KIND_DATA &&
	    (bfs_array_len(file->array, &data_stream, &len, NULL) != BFS_OK ||
	     len != arrow->data_len))
		return;
	ret_attr->len = ret_attr->stored_len = arrow->table.len;
}

static enum bfs_err arrow_open(struct bfs_file *file,
			       const struct bfs_node *node,
			       struct bfs_diag *diag)
{
	const struct arrow *arrow = find_entry(file);
	uint64_t len;

	(void)node;
	if (!arrow)
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	if (arrow->kind != KIND_DATA)
		return BFS_OK;
	BFS_TRY(bfs_payload_ready(file, diag));
	BFS_TRY(bfs_array_len(file->array, &data_stream, &len, diag));
	if (len != arrow->data_len)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"the data has not the length of its shape");
	return BFS_OK;
}

static enum bfs_err arrow_fill(struct bfs_file *file,
			       const struct bfs_node *node, uint64_t off,
			       uint8_t *buf, size_t len, struct bfs_diag *diag)
{
	const struct arrow *arrow = find_entry(file);
	const struct bfs_arrow_counter counter = { count_nulls, arrow };
	struct bfs_arrow_reader reader;

	(void)node;
	if (!arrow)
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	reader = bfs_arrow_reader(&arrow->stores);
	return bfs_arrow_fill(&arrow->table, &reader, &counter, off, buf, len,
			      diag);
}

static enum bfs_err arrow_part(struct bfs_file *file,
			       const struct bfs_node *node, uint64_t off,
			       uint64_t len, struct bfs_part *ret_part,
			       struct bfs_diag *diag)
{
	const struct arrow *arrow = find_entry(file);
	uint64_t at, stored;
	size_t store;

	(void)node;
	if (!arrow)
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	ret_part->made = true;
	ret_part->len = len;
	if (arrow->kind != KIND_DATA ||
	    !bfs_arrow_is_stored(&arrow->table, off, &store, &at, &stored))
		return BFS_OK;
	ret_part->made = false;
	bfs_payload_part(NULL, 0, at, bfs_min(len, stored), ret_part);
	return BFS_OK;
}

static void arrow_note(struct bfs_file *file, struct bfs_json *json)
{
	const struct arrow *arrow;

	arrow = get_arrow(file);
	if (!arrow || (arrow->kind == KIND_DATA && !bfs_payload_is_array(file)))
		return;
	bfs_json_key(json, "arrow");
	if (arrow->why[0])
		bfs_json_string(json, arrow->why);
	else
		bfs_arrow_lefts_put(&arrow->lefts, json);
}

const struct bfs_view bfs_view_arrow = {
	.name = "arrow",
	.groups = " tables ",
	.in_stores = true,
	.roots = arrow_roots,
	.stat = arrow_stat,
	.open = arrow_open,
	.fill = arrow_fill,
	.part = arrow_part,
	.note = arrow_note,
	.release = arrow_release,
};
