/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attrs.c - metalayers as attributes of a Zarr array.
 *
 * The text, and what is decoded for it, are bounded whatever the container
 * holds: what goes beyond is left out, and stays in meta/ and vlmeta/.
 */
#include "view/zarr/attrs.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "text/msgpack.h"
#include "view/kept.h"
#include "view/secrets.h"

#include <stdio.h>
#include <string.h>

#define MAX_VALUE 65536			/* bytes of one, decoded */
#define MAX_TEXT (1 << 20)		/* of all, as JSON */
#define MAX_DECODED (UINT64_C(4) << 20)	/* for all of them */
#define MAX_DIM_NAME 255

/* Attributes that name dimensions; the first that fits counts. xarray writes
 * the first of them into stores of version 2, where it means nothing else. */
static const char *const dim_keys[] = {
	"_ARRAY_DIMENSIONS", "dimension_names", "dims",
};

/* What formats and python-blosc2 keep for themselves. */
static const char *const own_names[] = {
	"b2nd", "caterva", "b2embed", "b2dict", "b2tree", "b2o", "LazyArray",
	"proxy-source", "vlarray", "batcharray", "listarray",
	"ctable_varlen_scalar", "_b2o_user_vlmeta", "_LazyArray",
	"_batch_array_metadata", "proxy-fetched", "proxy-fetched-blocks",
	"proxy-fetched-bpc", "proxy-stamp", "proxy-index", "__pack_tensor__",
	"blosc2_indexes", "_blosc2_query_cache", "estore_metadata",
	"_object_registry", "dstore_tick",
};

static bool is_own(const struct bfs_meta *meta)
{
	for (size_t i = 0; i < BFS_ARRAY_LEN(own_names); i++)
		if (strlen(own_names[i]) == meta->name_len &&
		    !memcmp(own_names[i], meta->name, meta->name_len))
			return true;
	return false;
}

/* Of files that are text, only those of a bcolz column are attributes. */
static bool is_taken(const struct bfs_meta *meta)
{
	if (meta->is_json)
		return meta->name_len == 9 &&
		       !memcmp(meta->name, "__attrs__", 9);
	return meta->name_len && !is_own(meta) && !bfs_secret_is_name(meta) &&
	       bfs_json_is_utf8(meta->name, meta->name_len);
}

/* ---- reading --------------------------------------------------------- */

/* The decoded bytes (bfs_free), or NULL for what is left out. */
static enum bfs_err read_layer(struct bfs_file *file,
			       const struct bfs_stream *stream, uint64_t *left,
			       uint8_t **ret_buf, size_t *ret_len,
			       struct bfs_diag *diag)
{
	uint64_t len = 0, cost = 0;
	uint8_t *buf;
	enum bfs_err err = bfs_array_len(file->array, stream, &len, diag);

	*ret_buf = NULL;
	if (err == BFS_OK && len <= MAX_VALUE)
		err = bfs_array_meta_cost(file->array, stream, (size_t)len,
					  &cost, diag);
	if (err != BFS_OK || len > MAX_VALUE || cost > *left)
		return bfs_err_passes(err) ? err : BFS_OK;
	*left -= cost;
	buf = bfs_alloc((size_t)bfs_max(len, 1));
	if (!buf)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a metalayer");
	err = bfs_array_read(file->array, stream, 0, buf, (size_t)len, diag);
	if (err != BFS_OK) {
		bfs_free(buf);
		return bfs_err_passes(err) ? err : BFS_OK;
	}
	*ret_buf = buf;
	*ret_len = (size_t)len;
	return BFS_OK;
}

/* {NAME: VALUE} of one value of MessagePack; NULL where it is none. */
static enum bfs_err wrap(const struct bfs_meta *meta, const uint8_t *buf,
			 size_t len, struct bfs_document **ret_doc)
{
	struct bfs_json json;
	size_t taken = 0, text_len;
	char *text = NULL;
	enum bfs_err err = bfs_msgpack_walk(buf, len, &taken, NULL);

	*ret_doc = NULL;
	if (err != BFS_OK || taken != len)
		return err == BFS_ERR_NOMEM ? err : BFS_OK;
	bfs_json_init(&json, MAX_TEXT);
	bfs_json_object(&json);
	bfs_json_key_n(&json, meta->name, meta->name_len);
	err = bfs_msgpack_to_json(buf, len, bfs_secret_keys, &json);
	bfs_json_object_end(&json);
	if (err == BFS_OK)
		err = bfs_json_finish(&json, &text, &text_len);
	bfs_json_release(&json);
	if (err == BFS_OK)
		err = bfs_json_read(text, text_len, ret_doc, NULL);
	bfs_free(text);
	return err == BFS_ERR_NOMEM ? err : BFS_OK;
}

/* Appends a member, or leaves the text as it was where it does not fit. */
static enum bfs_err append(struct bfs_json *json, const struct bfs_value *v)
{
	struct bfs_json mark = *json;
	enum bfs_err err;

	bfs_json_key_n(json, v->key, v->key_len);
	err = bfs_json_embed(v->raw, v->raw_len, bfs_secret_keys, json);
	if (err != BFS_ERR_LIMIT)
		return err;
	mark.buf = json->buf;
	mark.cap = json->cap;
	*json = mark;
	return BFS_OK;
}

static bool is_secret(const struct bfs_value *v)
{
	const struct bfs_meta meta = { .name = (char *)v->key,
				       .name_len = v->key_len };

	return bfs_secret_is_name(&meta);
}

static enum bfs_err take(struct bfs_file *file, const struct bfs_meta *meta,
			 const struct bfs_stream *stream,
			 struct bfs_json *json, uint64_t *left,
			 struct bfs_diag *diag)
{
	struct bfs_document *doc = NULL;
	const struct bfs_value *root, *v;
	uint8_t *buf;
	size_t len = 0;
	enum bfs_err err;

	BFS_TRY(read_layer(file, stream, left, &buf, &len, diag));
	if (!buf)
		return BFS_OK;
	if (meta->is_json)
		err = bfs_json_read(buf, len, &doc, NULL);
	else
		err = wrap(meta, buf, len, &doc);
	bfs_free(buf);
	if (err != BFS_OK || !doc)
		return err == BFS_ERR_NOMEM ?
		       bfs_fail(diag, err, 0, "no memory for attributes") :
		       BFS_OK;
	root = bfs_document_root(doc);
	if (bfs_value_is(root, BFS_VALUE_OBJECT))
		for (v = root->first; v && err == BFS_OK; v = v->next)
			if (!v->shadowed && !is_secret(v))
				err = append(json, v);
	bfs_document_free(doc);
	return err == BFS_OK ? BFS_OK :
	       bfs_fail(diag, err, 0, "no memory for attributes");
}

static enum bfs_err take_all(struct bfs_file *file, bool fixed,
			     struct bfs_json *json, uint64_t *left,
			     struct bfs_diag *diag)
{
	const struct bfs_container *f = file->array->container;
	size_t n = fixed ? f->n_metas : f->n_vlmetas;

	for (size_t i = 0; i < n; i++) {
		const struct bfs_meta *meta = fixed ? &f->metas[i] :
						      &f->vlmetas[i];
		struct bfs_stream stream = {
			fixed ? BFS_STREAM_META : BFS_STREAM_VLMETA, i };

		if (is_taken(meta))
			BFS_TRY(take(file, meta, &stream, json, left, diag));
	}
	return BFS_OK;
}

enum bfs_err bfs_zarr_make_attrs(struct bfs_file *file, unsigned key,
				 char **ret_text, size_t *ret_len,
				 struct bfs_diag *diag)
{
	uint64_t left = MAX_DECODED;
	struct bfs_json json;
	enum bfs_err err;

	(void)key;
	bfs_json_init(&json, MAX_TEXT);
	bfs_json_object(&json);
	/* Of two members of one name the later one counts. */
	err = take_all(file, true, &json, &left, diag);
	if (err == BFS_OK)
		err = take_all(file, false, &json, &left, diag);
	json.max_len = MAX_TEXT + 64;	/* the end always fits */
	bfs_json_object_end(&json);
	if (err == BFS_OK)
		err = bfs_json_finish(&json, ret_text, ret_len);
	bfs_json_release(&json);
	if (err != BFS_OK && diag && diag->err == BFS_OK)
		return bfs_fail(diag, err, 0, "attributes cannot be shown");
	return err;
}

/* ---- dimensions ------------------------------------------------------ */

static bool is_dim_name(const struct bfs_value *v)
{
	return v->kind == BFS_VALUE_STRING && v->s.len > 0 &&
	       v->s.len <= MAX_DIM_NAME && !memchr(v->s.text, 0, v->s.len);
}

/* The name of dimension d: that of the list, or its number. */
static const char *name_dim(const struct bfs_value *list, unsigned d,
			    char buf[16])
{
	const struct bfs_value *v = bfs_value_at(list, d);

	if (bfs_value_is(v, BFS_VALUE_STRING))
		return v->s.text;
	snprintf(buf, 16, "dim_%u", d);
	return buf;
}

/* A name for each dimension, no two of them equal; null is a dimension without
 * a name, and those that come from the items themselves need none. */
static bool names_dims(const struct bfs_value *list, const struct bfs_zarr *z)
{
	char a[16], b[16];

	if (!bfs_value_is(list, BFS_VALUE_ARRAY) ||
	    (list->n != z->n && list->n + z->dtype.n_dims != z->n))
		return false;
	for (const struct bfs_value *v = list->first; v; v = v->next)
		if (v->kind != BFS_VALUE_NULL && !is_dim_name(v))
			return false;
	for (unsigned d = 0; d < z->n; d++)
		for (unsigned e = 0; e < d; e++)
			if (!strcmp(name_dim(list, d, a),
				    name_dim(list, e, b)))
				return false;
	return true;
}

static const struct bfs_value *find_dims(const struct bfs_zarr *z,
					 const struct bfs_value *attrs)
{
	for (size_t i = 0; i < BFS_ARRAY_LEN(dim_keys); i++) {
		const struct bfs_value *v = bfs_value_get(attrs, dim_keys[i]);

		if (names_dims(v, z))
			return v;
	}
	return NULL;
}

void bfs_zarr_put_dim_names(struct bfs_json *json, const struct bfs_zarr *z,
			    const struct bfs_value *attrs)
{
	const struct bfs_value *list = find_dims(z, attrs);
	char buf[16];

	bfs_json_array_inline(json);
	for (unsigned d = 0; d < z->n; d++)
		bfs_json_string(json, name_dim(list, d, buf));
	bfs_json_array_end(json);
}

void bfs_zarr_put_attrs(struct bfs_json *json, const struct bfs_zarr *z,
			const struct bfs_value *attrs)
{
	const struct bfs_value *list = find_dims(z, attrs), *v;

	if (!bfs_value_is(attrs, BFS_VALUE_OBJECT))
		return;
	for (v = attrs->first; v; v = v->next) {
		if (v->shadowed || v == list ||
		    (v->key_len == strlen(dim_keys[0]) &&
		     !strcmp(v->key, dim_keys[0])))
			continue;
		bfs_json_key_n(json, v->key, v->key_len);
		if (bfs_json_embed(v->raw, v->raw_len, NULL, json) != BFS_OK &&
		    json->err == BFS_OK)
			json->err = BFS_ERR_NOMEM;
	}
}
