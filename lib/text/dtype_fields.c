/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtype_fields.c - the fields of a struct, gathered and released.
 */
#include "text/dtype_priv.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void bfs_dt_release_field(struct bfs_dtype_field *field)
{
	bfs_free(field->name);
	bfs_free(field->title);
	bfs_dtype_release(&field->type);
}

void bfs_dt_release_fields(struct fields *fields)
{
	size_t i;

	for (i = 0; i < fields->n; i++)
		bfs_dt_release_field(&fields->at[i]);
	bfs_free(fields->at);
}

enum bfs_err bfs_dt_reach_field(struct bfs_dt *ps, struct fields *fields,
				size_t i)
{
	struct bfs_dtype_field *at;
	size_t cap;

	if (i < fields->n)
		return BFS_OK;
	if (ps->n_fields == BFS_DTYPE_FIELDS)
		return bfs_dt_break(ps, "too many fields");
	if (fields->n == fields->cap) {
		cap = fields->cap ? fields->cap * 2 : 4;
		at = bfs_realloc(fields->at, cap * sizeof(*at));
		if (!at)
			return bfs_dt_no_memory(ps);
		fields->at = at;
		fields->cap = cap;
	}
	memset(&fields->at[fields->n++], 0, sizeof(*at));
	ps->n_fields++;
	return BFS_OK;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names and titles are one namespace, and each is there once. */
static enum bfs_err check_names(struct bfs_dt *ps, const struct fields *fields)
{
	BFS_CLEANUP(bfs_freep) char **names = NULL;
	size_t i, n = 0;

	names = bfs_zalloc(fields->n * 2, sizeof(*names));
	if (!names)
		return bfs_dt_no_memory(ps);
	for (i = 0; i < fields->n; i++) {
		names[n++] = fields->at[i].name;
		if (fields->at[i].title)
			names[n++] = fields->at[i].title;
	}
	qsort(names, n, sizeof(*names), compare_names);
	for (i = 1; i < n; i++)
		if (!strcmp(names[i - 1], names[i]))
			return bfs_dt_refuse(ps, "two fields have one name");
	return BFS_OK;
}

uint64_t bfs_dt_round_up(uint64_t v, uint64_t to)
{
	return bfs_div_up(v, to) * to;
}

unsigned bfs_dt_join_aligns(const struct bfs_dt *ps,
			    const struct fields *fields)
{
	unsigned align = 1;
	size_t i;

	for (i = 0; ps->align && i < fields->n; i++)
		if (fields->at[i].type.align > align)
			align = fields->at[i].type.align;
	return align;
}

enum bfs_err bfs_dt_make_struct(struct bfs_dt *ps, struct fields *fields,
				uint64_t size, struct bfs_dtype *ret_type)
{
	struct bfs_dtype type = { 0 };

	BFS_TRY(check_names(ps, fields));
	if (size > BFS_DT_MAX_SIZE)
		return bfs_dt_break(ps, "an item is too big");
	type.align = bfs_dt_join_aligns(ps, fields);
	type.kind = 'T';
	type.order = '|';
	type.itemsize = size;
	type.unit_size = size;
	type.fields = fields->at;
	type.n_fields = fields->n;
	memset(fields, 0, sizeof(*fields));
	*ret_type = type;
	return BFS_OK;
}

void bfs_dtype_release(struct bfs_dtype *dtype)
{
	struct fields fields = { dtype->fields, dtype->n_fields, 0 };

	bfs_dt_release_fields(&fields);
	memset(dtype, 0, sizeof(*dtype));
}
