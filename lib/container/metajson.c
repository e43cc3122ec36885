/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metajson.c - metadata that decides how a container is shown: decoded,
 * turned into JSON, looked into with bounds.
 */
#include "container/metajson.h"

#include "bytes.h"
#include "dtype.h"
#include "json.h"
#include "mem.h"
#include "msgpack.h"

#include <inttypes.h>

#define MAX_META (UINT32_C(16) << 20)
#define MAX_TREE ((size_t)64 << 20)	/* as json-c will hold it */

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
static enum bfs_err decode(struct bfs_frame *f, const struct bfs_meta *m,
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

/* About what json-c takes for a text, which no budget counts: a map of two
 * characters becomes a table of many hundred bytes. */
static size_t tree_len(const char *text)
{
	bool quoted = false;
	size_t len = 0;

	for (; *text; text++) {
		if (*text == '"')
			quoted = !quoted;
		else if (quoted && *text == '\\' && text[1])
			text++;
		else if (!quoted)
			len += *text == '{' ? 800 : *text == '[' ? 400 :
			       *text == ',' ? 150 : 0;
	}
	return len;
}

static enum bfs_err parse(const uint8_t *buf, size_t len,
			  struct json_object **ret_root, struct bfs_diag *diag)
{
	struct bfs_json json;
	struct json_object *root;
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
	if (tree_len(text) > MAX_TREE) {
		bfs_free(text);
		return bfs_fail(diag, BFS_ERR_LIMIT, 0,
				"the metadata has too many parts");
	}
	root = json_tokener_parse(text);
	bfs_free(text);
	if (!root)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"the metadata is no MessagePack");
	*ret_root = root;
	return BFS_OK;
}

enum bfs_err bfs_meta_decode(struct bfs_frame *frame,
			     const struct bfs_meta *meta,
			     struct json_object **ret_root,
			     struct bfs_diag *diag)
{
	uint8_t *buf = NULL;
	enum bfs_err err;
	size_t len;

	BFS_TRY(decode(frame, meta, &buf, &len, diag));
	err = parse(buf, len, ret_root, diag);
	bfs_free(buf);
	return bfs_diag_shift(diag, err, meta->off);
}

bool bfs_meta_shape(struct json_object *list, struct bfs_array_meta *a)
{
	size_t n, i;

	if (!json_object_is_type(list, json_type_array))
		return false;
	n = json_object_array_length(list);
	if (n > BFS_MAX_DIM)
		return false;
	for (i = 0; i < n; i++) {
		struct json_object *v = json_object_array_get_idx(list, i);

		if (!json_object_is_type(v, json_type_int))
			return false;
		a->shape[i] = json_object_get_int64(v);
		if (a->shape[i] < 0)
			return false;
	}
	a->ndim = (unsigned)n;
	return true;
}

void bfs_meta_check_linear(struct bfs_frame *f)
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

/* (kind, shape, dtype), a tuple that became a plain list. What is something
 * else leaves the frame as it is. */
static enum bfs_err take_tensor(struct bfs_frame *f, struct json_object *root)
{
	struct bfs_array_meta a = { .linear = true };
	struct json_object *dtype;
	const char *text;

	if (!json_object_is_type(root, json_type_array) ||
	    json_object_array_length(root) != 3 ||
	    !bfs_meta_shape(json_object_array_get_idx(root, 1), &a))
		return BFS_OK;
	dtype = json_object_array_get_idx(root, 2);
	/* Of records it is the list of their fields. */
	if (json_object_is_type(dtype, json_type_array))
		text = json_object_to_json_string_ext(
			dtype, JSON_C_TO_STRING_PLAIN |
			JSON_C_TO_STRING_NOSLASHESCAPE);
	else if (json_object_is_type(dtype, json_type_string))
		text = json_object_get_string(dtype);
	else
		return BFS_OK;
	a.dtype_len = text ? strlen(text) : 0;
	a.dtype = text ? bfs_memdup0(text, a.dtype_len) : NULL;
	if (!a.dtype)
		return BFS_ERR_NOMEM;
	f->array = a;
	bfs_meta_check_linear(f);
	return BFS_OK;
}

enum bfs_err bfs_meta_tensor(struct bfs_frame *f, struct bfs_diag *diag)
{
	const struct bfs_meta *m = bfs_meta_find(f->vlmetas, f->n_vlmetas,
						 "__pack_tensor__");
	uint32_t typesize = f->typesize;
	struct json_object *root;
	enum bfs_err err;

	if (!m || f->array.present || f->array.dtype)
		return BFS_OK;
	/* Other programs may call a metalayer so: what is no tensor is left
	 * alone. */
	err = bfs_meta_decode(f, m, &root, NULL);
	if (err == BFS_OK) {
		err = take_tensor(f, root);
		json_object_put(root);
	}
	if (err == BFS_ERR_NOMEM)
		return bfs_fail(diag, err, 0, "no memory");
	if (!f->array.present)
		f->typesize = typesize;
	return BFS_OK;
}
