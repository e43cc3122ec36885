/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plain.c - an opened container as an array of plain numbers.
 */
#include "view/image/plain.h"

#include "base/bytes.h"
#include "text/json.h"
#include "view/payload.h"

static bool is_number(const struct bfs_dtype *type)
{
	uint64_t size = type->unit_size;

	switch (type->kind) {
	case 'b':
		return size == 1;
	case 'u':
	case 'i':
		return size == 1 || size == 2 || size == 4 || size == 8;
	case 'f':
		return size == 2 || size == 4 || size == 8;
	case 'c':
		return size == 8 || size == 16;
	default:
		return false;
	}
}

static enum bfs_err fill_shape(struct bfs_plain *plain,
			       const struct bfs_array_meta *meta,
			       const struct bfs_dtype *type,
			       struct bfs_diag *diag)
{
	uint64_t n_items = 1;

	for (unsigned d = 0; d < meta->ndim; d++)
		plain->shape[plain->n++] =
			meta->shape[d] > 0 ? (uint64_t)meta->shape[d] : 0;
	for (unsigned d = 0; d < type->n_dims; d++)
		plain->shape[plain->n++] = type->dims[d];
	for (unsigned d = 0; d < plain->n; d++)
		if (!plain->shape[d])
			return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
					"the array has no items");
	for (unsigned d = 0; d < plain->n; d++)
		if (!bfs_mul(n_items, plain->shape[d], &n_items))
			return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
					"the array has too many items");
	if (!bfs_mul(n_items, plain->size, &plain->len) ||
	    plain->len > INT64_MAX)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"the array has too many items");
	plain->n_items = n_items;
	return BFS_OK;
}

enum bfs_err bfs_plain_get(const struct bfs_file *file,
			   struct bfs_plain *ret_plain, struct bfs_diag *diag)
{
	const struct bfs_container *container = file->array->container;
	const struct bfs_array_meta *meta = &container->array;
	struct bfs_plain plain = { .fortran = meta->fortran };
	struct bfs_dtype type;
	enum bfs_err err;

	if (!bfs_payload_is_array(file))
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"the container is no sound array");
	BFS_TRY(bfs_dtype_of_items(meta->dtype, meta->dtype_len,
				   container->typesize, meta->ndim,
				   &plain.fortran, &type, diag));
	if (!is_number(&type)) {
		bfs_dtype_release(&type);
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"the items are no numbers that it has");
	}
	plain.kind = type.kind == 'b' ? 'u' : type.kind;
	plain.size = (unsigned)type.unit_size;
	plain.big = type.order == '>';
	err = fill_shape(&plain, meta, &type, diag);
	bfs_dtype_release(&type);
	BFS_TRY(err);
	*ret_plain = plain;
	return BFS_OK;
}

void bfs_plain_stat(struct bfs_file *file, const struct bfs_plain *plain,
		    uint64_t head_len, struct bfs_attr *ret_attr)
{
	bfs_payload_stat(file, (size_t)head_len, ret_attr);
	if (ret_attr->len != head_len + plain->len)
		ret_attr->len = ret_attr->stored_len = 0;
}

enum bfs_err bfs_plain_ready(struct bfs_file *file,
			     const struct bfs_plain *plain,
			     struct bfs_diag *diag)
{
	const struct bfs_stream data = { BFS_STREAM_DATA, 0 };
	uint64_t len;

	BFS_TRY(bfs_payload_ready(file, diag));
	BFS_TRY(bfs_array_len(file->array, &data, &len, diag));
	if (len != plain->len)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"the data has not the length of its shape");
	return BFS_OK;
}

void bfs_plain_put(struct bfs_json *json, const char *key, const char *why)
{
	bfs_json_key(json, key);
	if (why[0])
		bfs_json_string(json, why);
	else
		bfs_json_bool(json, true);
}

void bfs_plain_store(uint8_t *p, uint64_t v, unsigned n, bool big)
{
	for (unsigned i = 0; i < n; i++)
		p[big ? n - 1 - i : i] = (uint8_t)(v >> 8 * i);
}
