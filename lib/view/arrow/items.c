/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * items.c - the items of an array as columns.
 */
#include "view/arrow/items.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

#define MOST_NAME 200		/* bytes told of a name */

/* ---- those left out -------------------------------------------------- */

void bfs_arrow_lefts_release(struct bfs_arrow_lefts *lefts)
{
	for (size_t i = 0; i < bfs_min(lefts->n, BFS_ARROW_LEFT); i++)
		bfs_free(lefts->list[i].name);
	bfs_free(lefts->list);
	*lefts = (struct bfs_arrow_lefts){ 0 };
}

static bool has_name(const struct bfs_arrow_lefts *lefts, const char *name)
{
	for (size_t i = 0; i < lefts->n; i++)
		if (strcmp(lefts->list[i].name, name) == 0)
			return true;
	return false;
}

/* What is told of a name: its beginning, and of equal ones which it is, since
 * names are keys. NULL on no memory; to be freed. */
static char *name_told(const struct bfs_arrow_lefts *lefts, const char *name,
		       size_t len)
{
	char *told = bfs_alloc(MOST_NAME + 8);

	if (!told)
		return NULL;
	len = (size_t)bfs_min(len, MOST_NAME);
	while (len && !bfs_json_is_utf8(name, len))
		len--;
	memcpy(told, name, len);
	told[len] = '\0';
	for (unsigned nth = 2; has_name(lefts, told); nth++)
		snprintf(told + len, 8, "%%~%u", nth);
	return told;
}

enum bfs_err bfs_arrow_leave(struct bfs_arrow_lefts *lefts, const char *name,
			     size_t name_len, const struct bfs_diag *why,
			     struct bfs_diag *diag)
{
	struct bfs_arrow_left *left;

	if (bfs_err_passes(why->err)) {
		if (diag)
			*diag = *why;
		return why->err;
	}
	if (!lefts->list)
		lefts->list = bfs_zalloc(BFS_ARROW_LEFT, sizeof(*left));
	if (!lefts->list)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for names");
	if (lefts->n < BFS_ARROW_LEFT) {
		left = &lefts->list[lefts->n];
		left->name = name_told(lefts, name, name_len);
		if (!left->name)
			return bfs_fail(diag, BFS_ERR_NOMEM, 0,
					"no memory for names");
		memcpy(left->why, why->text, sizeof(left->why));
	}
	lefts->n++;
	return BFS_OK;
}

void bfs_arrow_lefts_put(const struct bfs_arrow_lefts *lefts,
			 struct bfs_json *json)
{
	size_t n = (size_t)bfs_min(lefts->n, BFS_ARROW_LEFT);

	if (!lefts->n) {
		bfs_json_bool(json, true);
		return;
	}
	bfs_json_object(json);
	bfs_json_key(json, "left_out");
	bfs_json_object(json);
	for (size_t i = 0; i < n; i++) {
		bfs_json_key(json, lefts->list[i].name);
		bfs_json_string(json, lefts->list[i].why);
	}
	bfs_json_object_end(json);
	if (lefts->n > n) {
		bfs_json_key(json, "more_left_out");
		bfs_json_u64(json, lefts->n - n);
	}
	bfs_json_object_end(json);
}

/* ---- fields ---------------------------------------------------------- */

/* Where items lie, and the table that takes their columns. */
struct items {
	struct bfs_arrow_table *table;
	struct bfs_arrow_lefts *lefts;
	size_t store;
	uint64_t step;			/* bytes from row to row */
	const uint64_t *dims;		/* of a row, without the dtype's */
	unsigned n_dims;
};

static enum bfs_err add_column(const struct items *items, const char *name,
			       size_t name_len, const struct bfs_dtype *type,
			       uint64_t off, struct bfs_diag *diag)
{
	struct bfs_arrow_column *column;
	struct bfs_arrow_type arrow;
	enum bfs_err err = BFS_OK;

	BFS_TRY(bfs_arrow_type_get(type, &arrow, diag));
	BFS_TRY(bfs_arrow_add(items->table, name, name_len, &arrow, &column,
			      diag));
	column->store = items->store;
	column->off = off;
	column->step = items->step;
	for (unsigned i = 0; i < items->n_dims && err == BFS_OK; i++)
		err = bfs_arrow_nest(column, items->dims[i], diag);
	for (unsigned i = 0; i < type->n_dims && err == BFS_OK; i++)
		err = bfs_arrow_nest(column, type->dims[i], diag);
	if (arrow.pairs && err == BFS_OK)
		err = bfs_arrow_nest(column, 2, diag);
	if (err != BFS_OK)
		bfs_arrow_drop(items->table);
	return err;
}

static enum bfs_err add_fields(const struct items *items, const char *prefix,
			       size_t prefix_len, const struct bfs_dtype *type,
			       uint64_t off, struct bfs_diag *diag);

/* A field of no fields is a column, or left out. */
static enum bfs_err add_field(const struct items *items, const char *name,
			      size_t name_len, const struct bfs_dtype *type,
			      uint64_t off, struct bfs_diag *diag)
{
	struct bfs_diag why = { .chunk = -1 };
	enum bfs_err err;

	if (type->kind == 'T' && !type->n_dims && !items->n_dims)
		return add_fields(items, name, name_len, type, off, diag);
	if (type->kind == 'T')
		err = bfs_fail(&why, BFS_ERR_UNSUPPORTED, 0,
			       "a row of it has several records");
	else
		err = add_column(items, name, name_len, type, off, &why);
	if (err == BFS_OK)
		return BFS_OK;
	if (err == BFS_ERR_LIMIT) {	/* of the table, not of this column */
		if (diag)
			*diag = why;
		return err;
	}
	return bfs_arrow_leave(items->lefts, name, name_len, &why, diag);
}

static enum bfs_err add_fields(const struct items *items, const char *prefix,
			       size_t prefix_len, const struct bfs_dtype *type,
			       uint64_t off, struct bfs_diag *diag)
{
	enum bfs_err err = BFS_OK;

	for (size_t i = 0; i < type->n_fields && err == BFS_OK; i++) {
		const struct bfs_dtype_field *field = &type->fields[i];
		size_t len = strlen(field->name), at = prefix_len;
		char *name = bfs_alloc(prefix_len + 1 + len);

		if (!name)
			return bfs_fail(diag, BFS_ERR_NOMEM, 0,
					"no memory for names");
		if (prefix_len) {
			memcpy(name, prefix, prefix_len);
			name[at++] = '.';
		}
		memcpy(name + at, field->name, len);
		err = add_field(items, name, at + len, &field->type,
				off + field->off, diag);
		bfs_free(name);
	}
	return err;
}

enum bfs_err bfs_arrow_add_items(struct bfs_arrow_table *table,
				 struct bfs_arrow_lefts *lefts,
				 const struct bfs_array_meta *meta,
				 uint64_t typesize, const char *name,
				 size_t name_len, size_t store,
				 uint64_t *ret_n_rows,
				 struct bfs_diag *diag)
{
	uint64_t dims[BFS_MAX_DIM], row_len;
	bool fortran = meta->fortran;
	struct items items = { .table = table, .lefts = lefts, .store = store,
			       .dims = dims };
	struct bfs_dtype type;
	enum bfs_err err;

	if (meta->ndim < 1)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"an array without dimensions has no rows");
	BFS_TRY(bfs_dtype_of_items(meta->dtype, meta->dtype_len, typesize,
				   meta->ndim, &fortran, &type, diag));
	row_len = type.itemsize;
	for (unsigned d = 1; d < meta->ndim; d++) {
		dims[items.n_dims] = meta->shape[d] > 0 ?
				     (uint64_t)meta->shape[d] : 0;
		if (!bfs_mul(row_len, dims[items.n_dims++], &row_len))
			row_len = UINT64_MAX;
	}
	items.step = row_len;
	*ret_n_rows = meta->shape[0] > 0 ? (uint64_t)meta->shape[0] : 0;
	if (fortran && meta->ndim > 1)
		err = bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
			       "its items are in order F");
	else if (type.kind == 'T' && !type.n_dims && !items.n_dims)
		err = add_fields(&items, "", 0, &type, 0, diag);
	else if (type.kind == 'T')
		err = bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
			       "a row of it has several records");
	else
		err = add_column(&items, name, name_len, &type, 0, diag);
	bfs_dtype_release(&type);
	return err;
}
