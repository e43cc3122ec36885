/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metajson.c - metadata that decides how a container is shown: decoded,
 * turned into JSON, looked into with bounds.
 */
#include "container/metajson.h"

#include "base/bytes.h"
#include "text/dtype.h"
#include "text/json.h"
#include "base/mem.h"
#include "text/msgpack.h"

#include <inttypes.h>

#define MAX_META (UINT32_C(16) << 20)

const struct bfs_meta *bfs_meta_find(const struct bfs_meta *metas, size_t n,
				     const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (metas[i].name_len == strlen(name) &&
		    !memcmp(metas[i].name, name, metas[i].name_len))
			return &metas[i];
	return NULL;
}

/* Decodes a variable-length metalayer whole; the caller frees. */
static enum bfs_err decode(struct bfs_container *f, const struct bfs_meta *m,
			   uint8_t **ret_buf, size_t *ret_len,
			   struct bfs_diag *diag)
{
	static const struct bfs_codec_env none;
	struct bfs_scratch *scratch = NULL;
	struct bfs_chunk *chunk;
	uint8_t *buf = NULL;
	enum bfs_err err = BFS_ERR_NOMEM;

	BFS_TRY(bfs_diag_shift(diag, bfs_chunk_open(f->source, m->off, m->len,
						    UINT32_MAX, &none, &chunk,
						    diag), m->off));
	if (chunk->head.nbytes > MAX_META) {
		err = bfs_fail(diag, BFS_ERR_LIMIT, m->off,
			       "metadata of %" PRIu32 " bytes",
			       chunk->head.nbytes);
	} else {
		buf = bfs_alloc(chunk->head.nbytes);
		scratch = bfs_scratch_new();
		if (buf && scratch)
			err = bfs_diag_shift(diag, bfs_chunk_read_all(
				chunk, f->source, m->off, buf, scratch, diag),
				m->off);
		else
			bfs_fail(diag, err, 0, "no memory");
	}
	*ret_len = chunk->head.nbytes;
	bfs_scratch_free(scratch);
	bfs_chunk_unref(chunk);
	if (err != BFS_OK) {
		bfs_free(buf);
		return err;
	}
	*ret_buf = buf;
	return BFS_OK;
}

static enum bfs_err parse(const uint8_t *buf, size_t len,
			  struct bfs_document **ret_document,
			  struct bfs_diag *diag)
{
	struct bfs_json json;
	size_t text_len;
	char *text;
	enum bfs_err err;

	bfs_json_init(&json, 4 * (size_t)MAX_META);
	err = bfs_msgpack_to_json(buf, len, NULL, &json);
	if (err == BFS_OK)
		err = bfs_json_finish(&json, &text, &text_len);
	bfs_json_release(&json);
	if (err != BFS_OK)
		return bfs_fail(diag, err, 0, "the metadata is too big");
	err = bfs_json_read(text, text_len, ret_document, diag);
	bfs_free(text);
	return err;
}

enum bfs_err bfs_meta_decode(struct bfs_container *container,
			     const struct bfs_meta *meta,
			     struct bfs_document **ret_document,
			     struct bfs_diag *diag)
{
	uint8_t *buf = NULL;
	enum bfs_err err;
	size_t len;

	BFS_TRY(decode(container, meta, &buf, &len, diag));
	err = parse(buf, len, ret_document, diag);
	bfs_free(buf);
	return bfs_diag_shift(diag, err, meta->off);
}

bool bfs_meta_shape(const struct bfs_value *list, struct bfs_array_meta *a)
{
	const struct bfs_value *v;
	unsigned n = 0;

	if (!bfs_value_is(list, BFS_VALUE_ARRAY) || list->n > BFS_MAX_DIM)
		return false;
	for (v = list->first; v; v = v->next) {
		if (v->kind != BFS_VALUE_INT || v->i < 0)
			return false;
		a->shape[n++] = v->i;
	}
	a->ndim = n;
	return true;
}

void bfs_meta_check_linear(struct bfs_container *f)
{
	struct bfs_array_meta *a = &f->array;
	struct bfs_dtype dtype;
	uint64_t len;
	unsigned i;

	a->present = false;
	if (!f->nbytes_known || !a->dtype ||
	    bfs_dtype_parse(a->dtype, a->dtype_len, &dtype, NULL) != BFS_OK)
		return;
	len = dtype.itemsize;
	bfs_dtype_release(&dtype);
	if (len == 0 || len > INT32_MAX)
		return;
	f->typesize = (uint32_t)len;
	for (i = 0; i < a->ndim; i++)
		if (!bfs_mul(len, (uint64_t)a->shape[i], &len))
			return;
	a->present = len == f->nbytes;
}

/* The root is (kind, shape, dtype), a tuple that has become a plain list. Where
 * it is anything else the container is left as it is. */
static enum bfs_err take_tensor(struct bfs_container *f,
				const struct bfs_value *root)
{
	struct bfs_array_meta a = { .linear = true };
	const struct bfs_value *dtype;

	if (!bfs_value_is(root, BFS_VALUE_ARRAY) || root->n != 3 ||
	    !bfs_meta_shape(bfs_value_at(root, 1), &a))
		return BFS_OK;
	dtype = bfs_value_at(root, 2);
	/* Of records it is the list of their fields. */
	if (bfs_value_is(dtype, BFS_VALUE_ARRAY)) {
		a.dtype = bfs_value_compact(dtype, &a.dtype_len);
	} else if (bfs_value_is(dtype, BFS_VALUE_STRING)) {
		a.dtype_len = strlen(dtype->s.text);
		a.dtype = bfs_memdup0(dtype->s.text, a.dtype_len);
	} else {
		return BFS_OK;
	}
	if (!a.dtype)
		return BFS_ERR_NOMEM;
	f->array = a;
	bfs_meta_check_linear(f);
	return BFS_OK;
}

enum bfs_err bfs_meta_tensor(struct bfs_container *f, struct bfs_diag *diag)
{
	const struct bfs_meta *m = bfs_meta_find(f->vlmetas, f->n_vlmetas,
						 "__pack_tensor__");
	uint32_t typesize = f->typesize;
	struct bfs_document *doc;
	enum bfs_err err;

	if (!m || f->array.present || f->array.dtype)
		return BFS_OK;
	/* Other programs may use the name for metalayers of their own: what is
	 * no tensor is left alone. */
	err = bfs_meta_decode(f, m, &doc, NULL);
	if (err == BFS_OK) {
		err = take_tensor(f, bfs_document_root(doc));
		bfs_document_free(doc);
	}
	if (err == BFS_ERR_NOMEM)
		return bfs_fail(diag, err, 0, "no memory");
	if (!f->array.present)
		f->typesize = typesize;
	return BFS_OK;
}
