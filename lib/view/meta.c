/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * meta.c - meta/, vlmeta/, meta.json and vlmeta.json: the metalayers as
 * bytes and as one JSON object each.
 *
 * The folders are always there. The JSON texts are bounded, whatever the
 * file holds, and never show what opens other people's doors.
 */
#include "base/bytes.h"
#include "chunk/plan.h"
#include "text/json.h"
#include "base/mem.h"
#include "text/msgpack.h"
#include "view/file.h"
#include "view/view.h"

#include <stdio.h>
#include <string.h>

enum kind {
	KIND_META_DIR,
	KIND_VLMETA_DIR,
	KIND_META_JSON,
	KIND_VLMETA_JSON,
	KIND_META,
	KIND_VLMETA,
};

#define MAX_CUT 65536			/* bytes of a variable one shown */
#define MAX_FIXED (4 << 20)		/* bytes of a fixed one shown */
#define MAX_VALUES (12 << 20)		/* text that values may take */
#define MAX_TEXT (16 << 20)		/* with the names of those left out */
#define MAX_DECODED (16 << 20)		/* bytes that all of it may decode */

/* Keys that hold credentials. */
static const char *const secret_keys[] = {
	"proxy-source", "auth_token", "token", "password", NULL
};

/* Those that may be looked for in bytes that have no structure. */
static const char *const secret_words[] = {
	"proxy-source", "auth_token", "password",
};

/* ---- the bytes of one metalayer -------------------------------------- */

/* A metalayer with what the views call it. */
struct layer {
	const struct bfs_meta *meta;
	bool fixed;
	size_t index;
};

static bool find_layer(const struct bfs_file *file, bool fixed, uint64_t index,
		       struct layer *ret_layer)
{
	const struct bfs_container *container = file->array->container;

	if (index >= (fixed ? container->n_metas : container->n_vlmetas))
		return false;
	ret_layer->meta =
		(fixed ? container->metas : container->vlmetas) + index;
	ret_layer->fixed = fixed;
	ret_layer->index = (size_t)index;
	return true;
}

static bool node_layer(const struct bfs_file *file,
		       const struct bfs_node *node, struct layer *ret_layer)
{
	if (node->kind != KIND_META && node->kind != KIND_VLMETA)
		return false;
	return find_layer(file, node->kind == KIND_META, node->index,
			  ret_layer);
}

/* The stream that gives the bytes of a metalayer, decoded. */
static struct bfs_stream layer_stream(const struct layer *layer)
{
	return (struct bfs_stream){
		layer->fixed ? BFS_STREAM_META : BFS_STREAM_VLMETA,
		layer->index,
	};
}

static enum bfs_err layer_len(struct bfs_file *file,
			      const struct layer *layer, uint64_t *ret_len,
			      struct bfs_diag *diag)
{
	struct bfs_stream stream = layer_stream(layer);

	return bfs_array_len(file->array, &stream, ret_len, diag);
}

static enum bfs_err read_layer(struct bfs_file *file,
			       const struct layer *layer, void *buf,
			       size_t len, struct bfs_diag *diag)
{
	struct bfs_stream stream = layer_stream(layer);

	return bfs_array_read(file->array, &stream, 0, buf, len, diag);
}

/* ---- JSON ------------------------------------------------------------ */

static bool has_bytes(const void *buf, size_t len, const char *word)
{
	return memmem(buf, len, word, strlen(word)) != NULL;
}

/* Whether bytes that cannot be taken apart may hold a credential. */
static bool may_hold_secret(const void *buf, size_t len)
{
	for (size_t i = 0; i < BFS_ARRAY_LEN(secret_words); i++)
		if (has_bytes(buf, len, secret_words[i]))
			return true;
	return false;
}

static bool is_secret(const struct bfs_meta *meta)
{
	for (size_t i = 0; secret_keys[i]; i++)
		if (strlen(secret_keys[i]) == meta->name_len &&
		    memcmp(meta->name, secret_keys[i], meta->name_len) == 0)
			return true;
	return false;
}

/* Writes base64 text as a string; the writer's own form is an object. */
static void put_base64(struct bfs_json *json, const uint8_t *p, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = bfs_alloc((len + 2) / 3 * 4);
	size_t n = 0;

	if (!text) {
		if (json->err == BFS_OK)
			json->err = BFS_ERR_NOMEM;
		return;
	}
	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		uint32_t v = (uint32_t)p[i] << 16;

		v |= left > 1 ? (uint32_t)p[i + 1] << 8 : 0;
		v |= left > 2 ? p[i + 2] : 0;
		text[n++] = digits[v >> 18];
		text[n++] = digits[v >> 12 & 63];
		text[n++] = left > 1 ? digits[v >> 6 & 63] : '=';
		text[n++] = left > 2 ? digits[v & 63] : '=';
	}
	bfs_json_string_n(json, text, n);
	bfs_free(text);
}

static void put_flag(struct bfs_json *json, const char *key)
{
	bfs_json_object(json);
	bfs_json_key(json, key);
	bfs_json_bool(json, true);
	bfs_json_object_end(json);
}

static void put_error(struct bfs_json *json, const struct bfs_diag *why)
{
	bfs_json_object(json);
	bfs_json_key(json, "error");
	bfs_json_string(json, why->text[0] ? why->text
					   : bfs_err_name(why->err));
	bfs_json_object_end(json);
}

static void put_cut(struct bfs_json *json, const uint8_t *buf, size_t shown,
		    uint64_t len)
{
	bfs_json_object(json);
	bfs_json_key(json, "truncated");
	bfs_json_u64(json, len);
	if (may_hold_secret(buf, shown)) {
		bfs_json_key(json, "redacted");
		bfs_json_bool(json, true);
	} else {
		bfs_json_key(json, "base64");
		put_base64(json, buf, shown);
	}
	bfs_json_object_end(json);
}

/* The length of what is not shown, where it is known. */
static void put_omitted(struct bfs_json *json, const uint64_t *len)
{
	bfs_json_object(json);
	bfs_json_key(json, "omitted");
	if (len)
		bfs_json_u64(json, *len);
	else
		bfs_json_null(json);
	bfs_json_object_end(json);
}

/* Pays for decoding the first `shown` bytes; false where `left` does not
 * reach. */
static enum bfs_err pay(struct bfs_file *file, const struct layer *layer,
			size_t shown, uint64_t *left, bool *ret_paid,
			struct bfs_diag *diag)
{
	struct bfs_stream stream = layer_stream(layer);
	uint64_t cost;

	BFS_TRY(bfs_array_meta_cost(file->array, &stream, shown, &cost,
				    diag));
	*ret_paid = cost <= *left;
	if (*ret_paid)
		*left -= cost;
	return BFS_OK;
}

static enum bfs_err put_whole(struct bfs_json *json, const uint8_t *buf,
			      size_t len)
{
	size_t taken = 0;
	enum bfs_err err = bfs_msgpack_walk(buf, len, &taken, NULL);

	if (err == BFS_ERR_NOMEM)
		return err;
	if ((err != BFS_OK || taken != len) && may_hold_secret(buf, len)) {
		put_flag(json, "redacted");
		return BFS_OK;
	}
	return bfs_msgpack_to_json(buf, len, secret_keys, json);
}

/* The value of one metalayer. Fails for errors of the moment; what is wrong
 * with the metalayer itself becomes its value. */
static enum bfs_err put_value(struct bfs_file *file,
			      const struct layer *layer, struct bfs_json *json,
			      uint64_t *left, struct bfs_diag *diag)
{
	BFS_CLEANUP(bfs_freep) uint8_t *buf = NULL;
	struct bfs_diag why = { .chunk = -1 };
	size_t shown = layer->fixed ? MAX_FIXED : MAX_CUT;
	enum bfs_err err;
	uint64_t len = 0;
	bool paid = true;

	if (is_secret(layer->meta)) {
		bfs_json_string(json, "(redacted)");
		return BFS_OK;
	}
	err = layer_len(file, layer, &len, &why);
	shown = (size_t)bfs_min(len, shown);
	if (err == BFS_OK)
		err = pay(file, layer, shown, left, &paid, &why);
	if (err == BFS_OK && !paid) {
		put_omitted(json, &len);
		return BFS_OK;
	}
	if (err == BFS_OK) {
		buf = bfs_alloc(shown);
		err = buf ? read_layer(file, layer, buf, shown, &why)
			  : bfs_fail(&why, BFS_ERR_NOMEM, 0,
				     "no memory for a metalayer");
	}
	if (bfs_err_passes(err)) {
		*diag = why;
		return err;
	}
	if (err != BFS_OK)
		put_error(json, &why);
	else if (shown < len)
		put_cut(json, buf, shown, len);
	else if (layer->meta->is_json)
		return bfs_json_embed(buf, shown, secret_keys, json);
	else
		return put_whole(json, buf, shown);
	return BFS_OK;
}

static bool is_hex(char c)
{
	return c && strchr("0123456789ABCDEF", c);
}

/* Whether a name has what file names are escaped with. */
static bool looks_escaped(const char *name, size_t len)
{
	for (size_t i = 0; i + 1 < len; i++)
		if (name[i] == '%' &&
		    (name[i + 1] == '~' ||
		     (i + 2 < len && is_hex(name[i + 1]) &&
		      is_hex(name[i + 2]))))
			return true;
	return false;
}

/* A file name as a key: bytes that are no UTF-8 escaped like the others. */
static void put_file_name(struct bfs_json *json, const char *name)
{
	static const char hex[] = "0123456789ABCDEF";
	char key[3 * BFS_NAME_MAX];
	size_t len = strnlen(name, BFS_NAME_MAX), at = 0, n;

	for (size_t i = 0; i < len; i += n) {
		for (n = 1; n < 4 && i + n < len; n++)
			if (bfs_json_is_utf8(name + i, n))
				break;
		if (bfs_json_is_utf8(name + i, n)) {
			memcpy(key + at, name + i, n);
			at += n;
			continue;
		}
		n = 1;
		key[at++] = '%';
		key[at++] = hex[(uint8_t)name[i] >> 4];
		key[at++] = hex[(uint8_t)name[i] & 15];
	}
	bfs_json_key_n(json, key, at);
}

/* Names are keys as they are; only the later ones of equal names, those that
 * are no UTF-8, and what could be taken for one of those, go by their file
 * name. */
static void put_name(struct bfs_json *json, const struct layer *layer,
		     const char *file_name)
{
	const struct bfs_meta *meta = layer->meta;

	if (has_bytes(file_name, strlen(file_name), "%~") ||
	    looks_escaped(meta->name, meta->name_len) ||
	    !bfs_json_is_utf8(meta->name, meta->name_len))
		put_file_name(json, file_name);
	else
		bfs_json_key_n(json, meta->name, meta->name_len);
}

/* Forgets what was written behind `mark`, the writer's state back then. */
static void go_back(struct bfs_json *json, const struct bfs_json *mark)
{
	struct bfs_json now = *json;

	*json = *mark;
	json->buf = now.buf;
	json->cap = now.cap;
}

/* One entry, or where the text is full, that it was left out. False when
 * not even that fits. */
static enum bfs_err put_layer(struct bfs_file *file, const struct layer *layer,
			      struct bfs_json *json, uint64_t *left,
			      bool *ret_fits, struct bfs_diag *diag)
{
	struct bfs_json mark = *json;
	uint64_t len;
	bool has_len;
	char *const *names = layer->fixed ? file->meta_names
					  : file->vlmeta_names;
	enum bfs_err err = BFS_ERR_LIMIT;

	if (json->len < MAX_VALUES) {
		json->max_len = MAX_VALUES;
		put_name(json, layer, names[layer->index]);
		err = put_value(file, layer, json, left, diag);
		if (err == BFS_OK)
			err = json->err;
		mark.max_len = json->max_len = MAX_TEXT;
	}
	if (err == BFS_ERR_LIMIT) {
		go_back(json, &mark);
		put_name(json, layer, names[layer->index]);
		has_len = layer_len(file, layer, &len, NULL) == BFS_OK;
		put_omitted(json, has_len ? &len : NULL);
		err = json->err;
	}
	*ret_fits = err != BFS_ERR_LIMIT;
	if (err != BFS_ERR_LIMIT)
		return err;
	go_back(json, &mark);
	return BFS_OK;
}

static enum bfs_err put_layers(struct bfs_file *file, bool fixed,
			       struct bfs_json *json, struct bfs_diag *diag)
{
	uint64_t left = MAX_DECODED;
	struct layer layer;

	bfs_json_object(json);
	for (uint64_t i = 0; find_layer(file, fixed, i, &layer); i++) {
		bool fits;

		BFS_TRY(put_layer(file, &layer, json, &left, &fits, diag));
		if (!fits)
			break;
	}
	json->max_len = MAX_TEXT + 64;	/* the end always fits */
	bfs_json_object_end(json);
	return json->err;
}

static enum bfs_err make_json(struct bfs_file *file, bool fixed,
			      char **ret_text, size_t *ret_len,
			      struct bfs_diag *diag)
{
	struct bfs_json json;
	enum bfs_err err;

	bfs_json_init(&json, MAX_TEXT);
	err = put_layers(file, fixed, &json, diag);
	if (err == BFS_OK)
		err = bfs_json_finish(&json, ret_text, ret_len);
	bfs_json_release(&json);
	if (err != BFS_OK && diag->err == BFS_OK)
		return bfs_fail(diag, err, 0, "metalayers cannot be shown");
	return err;
}

static enum bfs_err make_meta(struct bfs_file *file, char **ret_text,
			      size_t *ret_len, struct bfs_diag *diag)
{
	return make_json(file, true, ret_text, ret_len, diag);
}

static enum bfs_err make_vlmeta(struct bfs_file *file, char **ret_text,
				size_t *ret_len, struct bfs_diag *diag)
{
	return make_json(file, false, ret_text, ret_len, diag);
}

static enum bfs_err get_json(struct bfs_file *file,
			     const struct bfs_node *node,
			     const char **ret_text, size_t *ret_len,
			     struct bfs_diag *diag)
{
	if (node->kind == KIND_META_JSON)
		return bfs_file_text(file, BFS_TEXT_META, make_meta, ret_text,
				     ret_len, diag);
	return bfs_file_text(file, BFS_TEXT_VLMETA, make_vlmeta, ret_text,
			     ret_len, diag);
}

/* ---- the view -------------------------------------------------------- */

static bool is_json(const struct bfs_node *node)
{
	return node->kind == KIND_META_JSON || node->kind == KIND_VLMETA_JSON;
}

static bool is_folder(const struct bfs_node *node)
{
	return node->kind == KIND_META_DIR || node->kind == KIND_VLMETA_DIR;
}

static size_t meta_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	(void)file;
	ret_roots[0] = (struct bfs_root){ "meta", KIND_META_DIR };
	ret_roots[1] = (struct bfs_root){ "vlmeta", KIND_VLMETA_DIR };
	ret_roots[2] = (struct bfs_root){ "meta.json", KIND_META_JSON };
	ret_roots[3] = (struct bfs_root){ "vlmeta.json", KIND_VLMETA_JSON };
	return 4;
}

static struct bfs_node child(const struct bfs_node *dir, uint64_t index)
{
	return (struct bfs_node){
		dir->view,
		dir->kind == KIND_META_DIR ? KIND_META : KIND_VLMETA,
		index,
	};
}

static bool meta_lookup(struct bfs_file *file, const struct bfs_node *dir,
			const char *name, size_t name_len,
			struct bfs_node *ret_node)
{
	const struct bfs_file_state *state = bfs_file_state(file);
	const struct bfs_container *container = file->array->container;
	bool fixed = dir->kind == KIND_META_DIR;
	size_t index;

	if (!is_folder(dir) ||
	    !bfs_name_find(fixed ? state->meta_order : state->vlmeta_order,
			   fixed ? container->n_metas : container->n_vlmetas,
			   name, name_len, &index))
		return false;
	*ret_node = child(dir, index);
	return true;
}

static bool meta_list(struct bfs_file *file, const struct bfs_node *dir,
		      uint64_t pos, char *name, struct bfs_node *ret_node)
{
	bool fixed = dir->kind == KIND_META_DIR;
	struct layer layer;

	if (!is_folder(dir) || !find_layer(file, fixed, pos, &layer))
		return false;
	snprintf(name, BFS_NAME_MAX + 1, "%s",
		 (fixed ? file->meta_names : file->vlmeta_names)[pos]);
	*ret_node = child(dir, pos);
	return true;
}

static void meta_stat(struct bfs_file *file, const struct bfs_node *node,
		      struct bfs_attr *ret_attr)
{
	struct layer layer;
	const char *text;
	uint64_t len;
	size_t text_len;

	if (is_folder(node)) {
		ret_attr->is_dir = true;
	} else if (is_json(node)) {
		if (get_json(file, node, &text, &text_len, NULL) == BFS_OK)
			bfs_text_stat(text_len, ret_attr);
	} else if (node_layer(file, node, &layer) &&
		   layer_len(file, &layer, &len, NULL) == BFS_OK) {
		ret_attr->len = len;
		ret_attr->stored_len = len;
		ret_attr->blksize = bfs_file_blksize(file);
	}
}

static enum bfs_err meta_open(struct bfs_file *file,
			      const struct bfs_node *node,
			      struct bfs_diag *diag)
{
	struct bfs_stream stream = { BFS_STREAM_VLMETA, node->index };
	struct layer layer;
	const char *text;
	uint64_t len;
	size_t text_len;

	if (is_folder(node))
		return BFS_OK;
	if (is_json(node))
		return get_json(file, node, &text, &text_len, diag);
	if (!node_layer(file, node, &layer))
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	if (!layer.fixed)
		return bfs_array_ready(file->array, &stream, diag);
	return layer_len(file, &layer, &len, diag);
}

static enum bfs_err meta_part(struct bfs_file *file,
			      const struct bfs_node *node, uint64_t off,
			      uint64_t len, struct bfs_part *ret_part,
			      struct bfs_diag *diag)
{
	struct layer layer;
	const char *text;
	size_t text_len;

	if (is_json(node)) {
		BFS_TRY(get_json(file, node, &text, &text_len, diag));
		if (!bfs_inside(off, len, text_len))
			return bfs_fail(diag, BFS_ERR_RANGE, off,
					"beyond the end of a text");
		ret_part->bytes = text + off;
		ret_part->len = len;
		return BFS_OK;
	}
	if (!node_layer(file, node, &layer))
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	(void)diag;
	ret_part->stream = layer_stream(&layer);
	ret_part->off = off;
	ret_part->len = len;
	return BFS_OK;
}

const struct bfs_view bfs_view_meta = {
	.name = "meta",
	.on = true,
	.roots = meta_roots,
	.lookup = meta_lookup,
	.list = meta_list,
	.stat = meta_stat,
	.open = meta_open,
	.part = meta_part,
};
