/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types.c - NumPy dtypes as data types of Zarr, and the verdict whether a
 * version of Zarr has one.
 */
#include "view/zarr/types.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "<i4": of a type without fields. */
static void name_simple(const struct bfs_dtype *type, char *text, size_t size)
{
	snprintf(text, size, "%c%c%" PRIu64 "%s", type->order, type->kind,
		 type->unit_size / (type->kind == 'U' ? 4 : 1), type->unit);
}

static void name_pad(uint64_t off, char name[32])
{
	snprintf(name, 32, "_pad%" PRIu64, off);
}

static bool has_field(const struct bfs_dtype *type, const char *name)
{
	for (size_t i = 0; i < type->n_fields; i++)
		if (!strcmp(type->fields[i].name, name))
			return true;
	return false;
}

/* Whether the fields can be listed, gaps among them by a name. */
static bool can_list(const struct bfs_dtype *type)
{
	uint64_t at = 0;
	char pad[32];

	if (type->kind != 'T' || !bfs_dtype_is_listable(type))
		return true;	/* as plain text */
	for (size_t i = 0; i < type->n_fields; i++) {
		name_pad(at, pad);
		if (!can_list(&type->fields[i].type) ||
		    (at < type->fields[i].off && has_field(type, pad)))
			return false;
		at = type->fields[i].off + type->fields[i].type.itemsize;
	}
	name_pad(at, pad);
	return at == type->unit_size || !has_field(type, pad);
}

static void put_gap(struct bfs_json *json, uint64_t at, uint64_t end)
{
	char pad[32], type[32];

	if (at == end)
		return;
	name_pad(at, pad);
	snprintf(type, sizeof(type), "|V%" PRIu64, end - at);
	bfs_json_array_inline(json);
	bfs_json_string(json, pad);
	bfs_json_string(json, type);
	bfs_json_array_end(json);
}

void bfs_zarr_put_type2(struct bfs_json *json, const struct bfs_dtype *type)
{
	char text[64];
	uint64_t at = 0;

	if (type->kind != 'T') {
		name_simple(type, text, sizeof(text));
		bfs_json_string(json, text);
		return;
	}
	if (!bfs_dtype_is_listable(type)) {
		snprintf(text, sizeof(text), "|V%" PRIu64, type->unit_size);
		bfs_json_string(json, text);
		return;
	}
	bfs_json_array_inline(json);
	for (size_t i = 0; i < type->n_fields; i++) {
		const struct bfs_dtype_field *field = &type->fields[i];

		put_gap(json, at, field->off);
		bfs_json_array_inline(json);
		bfs_json_string(json, field->name);
		bfs_zarr_put_type2(json, &field->type);
		if (field->type.n_dims) {
			bfs_json_array_inline(json);
			for (unsigned d = 0; d < field->type.n_dims; d++)
				bfs_json_u64(json, field->type.dims[d]);
			bfs_json_array_end(json);
		}
		bfs_json_array_end(json);
		at = field->off + field->type.itemsize;
	}
	put_gap(json, at, type->unit_size);
	bfs_json_array_end(json);
}

bool bfs_zarr_name_type3(const struct bfs_dtype *type, char name[32])
{
	unsigned bits = (unsigned)type->unit_size * 8;

	switch (type->kind) {
	case 'b':
		strcpy(name, "bool");
		return true;
	case 'i':
	case 'u':
		snprintf(name, 32, "%sint%u", type->kind == 'u' ? "u" : "",
			 bits);
		return true;
	case 'f':
		snprintf(name, 32, "float%u", bits);
		return bits <= 64;
	case 'c':
		snprintf(name, 32, "complex%u", bits);
		return bits <= 128;
	case 'V':
		snprintf(name, 32, "r%u", bits);
		return type->unit_size <= BFS_ZARR_MAX_RAW;
	default:
		return false;
	}
}

void bfs_zarr_judge(const struct bfs_dtype *type, char v2_why[BFS_ZARR_WHY],
		    char v3_why[BFS_ZARR_WHY])
{
	char name[64];

	if (!can_list(type))
		snprintf(v2_why, BFS_ZARR_WHY,
			 "these fields cannot be listed");
	if (bfs_zarr_name_type3(type, name))
		return;
	if (type->kind == 'T')
		strcpy(name, "of fields");
	else
		name_simple(type, name, sizeof(name));
	snprintf(v3_why, BFS_ZARR_WHY, "dtype %s has no v3 data type", name);
}
