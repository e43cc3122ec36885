/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text.c - the metadata of a Zarr array, as versions 2 and 3 want it.
 *
 * All that is written comes from a checked array and a parsed dtype. The fill
 * value is always zero: that is what stands in padding and in holes. In a
 * group it is null, because readers of data sets (xarray) would take every
 * item of that value for a missing one; there no key is left out of listings,
 * so that it is never needed.
 */
#include "view/zarr/text.h"

#include "text/json.h"
#include "view/kept.h"
#include "view/zarr/attrs.h"
#include "view/zarr/grid.h"
#include "view/zarr/types.h"

#include <string.h>

static void put_text(struct bfs_json *json, const char *key, const char *text)
{
	bfs_json_key(json, key);
	bfs_json_string(json, text);
}

static void put_dims(struct bfs_json *json, const char *key,
		     const uint64_t *dims, unsigned n)
{
	bfs_json_key(json, key);
	bfs_json_array_inline(json);
	for (unsigned d = 0; d < n; d++)
		bfs_json_u64(json, dims[d]);
	bfs_json_array_end(json);
}

/* ---- fill values ----------------------------------------------------- */

static void put_raw_fill(struct bfs_json *json, uint64_t len)
{
	static const uint8_t zeros[BFS_ZARR_MAX_RAW];

	if (len > BFS_ZARR_MAX_RAW)
		bfs_json_null(json);
	else
		bfs_json_base64_text(json, zeros, (size_t)len);
}

/* The fill value of a number, which both versions write alike; false for what
 * is no number. */
static bool put_number_fill(struct bfs_json *json, char kind)
{
	switch (kind) {
	case 'b':
		bfs_json_bool(json, false);
		return true;
	case 'i':
	case 'u':
	case 'M':
	case 'm':
		bfs_json_u64(json, 0);
		return true;
	case 'f':
		bfs_json_double(json, 0);
		return true;
	case 'c':
		bfs_json_array_inline(json);
		bfs_json_double(json, 0);
		bfs_json_double(json, 0);
		bfs_json_array_end(json);
		return true;
	default:
		return false;
	}
}

static void put_fill2(struct bfs_json *json, const struct bfs_dtype *type)
{
	if (put_number_fill(json, type->kind))
		return;
	if (strchr("SU", type->kind))
		bfs_json_string(json, "");
	else
		put_raw_fill(json, type->unit_size);
}

static void put_fill3(struct bfs_json *json, const struct bfs_dtype *type)
{
	if (put_number_fill(json, type->kind))
		return;
	bfs_json_array_inline(json);
	for (uint64_t i = 0; i < type->unit_size; i++)
		bfs_json_u64(json, 0);
	bfs_json_array_end(json);
}

/* ---- an array -------------------------------------------------------- */

static void put_array2(struct bfs_json *json, const struct bfs_zarr *z,
		       bool in_group)
{
	bfs_json_object(json);
	bfs_json_key(json, "zarr_format");
	bfs_json_u64(json, 2);
	put_dims(json, "shape", z->shape, z->n);
	put_dims(json, "chunks", z->chunk, z->n);
	bfs_json_key(json, "dtype");
	bfs_zarr_put_type2(json, &z->dtype);
	bfs_json_key(json, "compressor");
	bfs_json_null(json);
	bfs_json_key(json, "fill_value");
	if (in_group)
		bfs_json_null(json);
	else
		put_fill2(json, &z->dtype);
	put_text(json, "order", z->fortran ? "F" : "C");
	bfs_json_key(json, "filters");
	bfs_json_null(json);
	put_text(json, "dimension_separator", ".");
	bfs_json_object_end(json);
}

static void put_attrs2(struct bfs_json *json, const struct bfs_zarr *z,
		       const struct bfs_value *attrs)
{
	bfs_json_object(json);
	bfs_json_key(json, "_ARRAY_DIMENSIONS");
	bfs_zarr_put_dim_names(json, z, attrs);
	bfs_zarr_put_attrs(json, z, attrs);
	bfs_json_object_end(json);
}

/* {"name": name, "configuration": {, to be closed by end_named. */
static void begin_named(struct bfs_json *json, const char *name)
{
	bfs_json_object(json);
	put_text(json, "name", name);
	bfs_json_key(json, "configuration");
	bfs_json_object(json);
}

static void end_named(struct bfs_json *json)
{
	bfs_json_object_end(json);
	bfs_json_object_end(json);
}

static void put_codecs3(struct bfs_json *json, const struct bfs_zarr *z)
{
	bfs_json_key(json, "codecs");
	bfs_json_array(json);
	if (z->fortran) {
		begin_named(json, "transpose");
		bfs_json_key(json, "order");
		bfs_json_array_inline(json);
		for (unsigned d = z->n; d-- > 0;)
			bfs_json_u64(json, d);
		bfs_json_array_end(json);
		end_named(json);
	}
	begin_named(json, "bytes");
	put_text(json, "endian", z->dtype.order == '>' ? "big" : "little");
	end_named(json);
	bfs_json_array_end(json);
}

static void put_array3(struct bfs_json *json, const struct bfs_zarr *z,
		       const struct bfs_value *attrs)
{
	char type[32];

	(void)bfs_zarr_name_type3(&z->dtype, type);
	bfs_json_object(json);
	bfs_json_key(json, "zarr_format");
	bfs_json_u64(json, 3);
	put_text(json, "node_type", "array");
	put_dims(json, "shape", z->shape, z->n);
	put_text(json, "data_type", type);
	bfs_json_key(json, "chunk_grid");
	begin_named(json, "regular");
	put_dims(json, "chunk_shape", z->chunk, z->n);
	end_named(json);
	bfs_json_key(json, "chunk_key_encoding");
	begin_named(json, "default");
	put_text(json, "separator", "/");
	end_named(json);
	bfs_json_key(json, "fill_value");
	put_fill3(json, &z->dtype);
	put_codecs3(json, z);
	bfs_json_key(json, "attributes");
	bfs_json_object(json);
	bfs_zarr_put_attrs(json, z, attrs);
	bfs_json_object_end(json);
	bfs_json_key(json, "dimension_names");
	bfs_zarr_put_dim_names(json, z, attrs);
	bfs_json_object_end(json);
}

/* ---- a group --------------------------------------------------------- */

static void put_all2(struct bfs_json *json, const struct bfs_zarr *z,
		     const struct bfs_value *attrs)
{
	bfs_json_object(json);
	bfs_json_key(json, "metadata");
	bfs_json_object(json);
	bfs_json_key(json, ".zattrs");
	bfs_json_object(json);
	bfs_json_object_end(json);
	bfs_json_key(json, ".zgroup");
	bfs_json_object(json);
	bfs_json_key(json, "zarr_format");
	bfs_json_u64(json, 2);
	bfs_json_object_end(json);
	bfs_json_key(json, "data/.zarray");
	put_array2(json, z, true);
	bfs_json_key(json, "data/.zattrs");
	put_attrs2(json, z, attrs);
	bfs_json_object_end(json);
	bfs_json_key(json, "zarr_consolidated_format");
	bfs_json_u64(json, 1);
	bfs_json_object_end(json);
}

static void put_group3(struct bfs_json *json, const struct bfs_zarr *z,
		       const struct bfs_value *attrs)
{
	bfs_json_object(json);
	bfs_json_key(json, "zarr_format");
	bfs_json_u64(json, 3);
	put_text(json, "node_type", "group");
	bfs_json_key(json, "attributes");
	bfs_json_object(json);
	bfs_json_object_end(json);
	bfs_json_key(json, "consolidated_metadata");
	bfs_json_object(json);
	put_text(json, "kind", "inline");
	bfs_json_key(json, "must_understand");
	bfs_json_bool(json, false);
	bfs_json_key(json, "metadata");
	bfs_json_object(json);
	bfs_json_key(json, "data");
	put_array3(json, z, attrs);
	bfs_json_object_end(json);
	bfs_json_object_end(json);
	bfs_json_object_end(json);
}

/* ---- the texts ------------------------------------------------------- */

static void put_one(struct bfs_json *json, const struct bfs_zarr *z,
		    enum bfs_zarr_text which, const struct bfs_value *attrs)
{
	switch (which) {
	case BFS_ZARR_ARRAY2:
	case BFS_ZARR_MEMBER2:
		put_array2(json, z, which == BFS_ZARR_MEMBER2);
		break;
	case BFS_ZARR_ATTRS2:
		put_attrs2(json, z, attrs);
		break;
	case BFS_ZARR_ARRAY3:
		put_array3(json, z, attrs);
		break;
	case BFS_ZARR_ALL2:
		put_all2(json, z, attrs);
		break;
	case BFS_ZARR_GROUP3:
		put_group3(json, z, attrs);
		break;
	case BFS_ZARR_ATTRS:
	case BFS_ZARR_N_TEXTS:
		break;
	}
}

/* The attributes as they were found; NULL for a text that has none. */
static enum bfs_err get_attrs(struct bfs_file *file, unsigned which,
			      struct bfs_document **ret_doc,
			      struct bfs_diag *diag)
{
	const char *text;
	size_t len;

	*ret_doc = NULL;
	if (which == BFS_ZARR_ARRAY2 || which == BFS_ZARR_MEMBER2)
		return BFS_OK;
	BFS_TRY(bfs_kept_text(file, BFS_ROW_zarr, BFS_ZARR_ATTRS,
			      bfs_zarr_make_attrs, &text, &len, diag));
	return bfs_json_read(text, len, ret_doc, diag);
}

static enum bfs_err make_text(struct bfs_file *file, unsigned which,
			      char **ret_text, size_t *ret_len,
			      struct bfs_diag *diag)
{
	const struct bfs_zarr *z = bfs_zarr_get(file);
	struct bfs_document *doc;
	struct bfs_json json;
	enum bfs_err err;

	if (!z)
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	BFS_TRY(get_attrs(file, which, &doc, diag));
	bfs_json_init(&json, 0);
	/* zarr-python up to 2.13 reads nothing else. */
	json.ascii = true;
	put_one(&json, z, which, doc ? bfs_document_root(doc) : NULL);
	err = bfs_json_finish(&json, ret_text, ret_len);
	bfs_json_release(&json);
	bfs_document_free(doc);
	if (err != BFS_OK)
		return bfs_fail(diag, err, 0, "no room for Zarr's metadata");
	return BFS_OK;
}

enum bfs_err bfs_zarr_text(struct bfs_file *file, enum bfs_zarr_text which,
			   const char **ret_text, size_t *ret_len,
			   struct bfs_diag *diag)
{
	return bfs_kept_text(file, BFS_ROW_zarr, which, make_text, ret_text,
			     ret_len, diag);
}
