/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.c - the metalayers of a container as one JSON object.
 *
 * The text is bounded, whatever the container holds, and so is what is
 * decoded for it. Credentials (secrets.h) are never shown.
 */
#include "view/meta/json.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "text/json.h"
#include "text/msgpack.h"
#include "view/meta/layers.h"
#include "view/meta/names.h"
#include "view/secrets.h"

#include <string.h>

#define MAX_CUT 65536			/* bytes of a variable one shown */
#define MAX_FIXED (4 << 20)		/* bytes of a fixed one shown */
#define MAX_VALUES (12 << 20)		/* text that values may take */
#define MAX_TEXT (16 << 20)		/* with the names of those left out */
#define MAX_DECODED (16 << 20)		/* bytes that all of it may decode */

static bool has_bytes(const void *buf, size_t len, const char *word)
{
	return memmem(buf, len, word, strlen(word)) != NULL;
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
	if (bfs_secret_is_in(buf, shown)) {
		bfs_json_key(json, "redacted");
		bfs_json_bool(json, true);
	} else {
		bfs_json_key(json, "base64");
		bfs_json_base64_text(json, buf, shown);
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
static enum bfs_err pay(struct bfs_file *file, const struct bfs_layer *layer,
			size_t shown, uint64_t *left, bool *ret_paid,
			struct bfs_diag *diag)
{
	struct bfs_stream stream = bfs_layer_stream(layer);
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
	if ((err != BFS_OK || taken != len) && bfs_secret_is_in(buf, len)) {
		put_flag(json, "redacted");
		return BFS_OK;
	}
	return bfs_msgpack_to_json(buf, len, bfs_secret_keys, json);
}

enum bfs_err bfs_meta_put_value(struct bfs_file *file,
				const struct bfs_layer *layer,
				struct bfs_json *json, uint64_t *left,
				struct bfs_diag *diag)
{
	BFS_CLEANUP(bfs_freep) uint8_t *buf = NULL;
	struct bfs_diag why = { .chunk = -1 };
	size_t shown = layer->fixed ? MAX_FIXED : MAX_CUT;
	enum bfs_err err;
	uint64_t len = 0;
	bool paid = true;

	if (bfs_secret_is_name(layer->meta)) {
		bfs_json_string(json, "(redacted)");
		return BFS_OK;
	}
	err = bfs_layer_len(file, layer, &len, &why);
	shown = (size_t)bfs_min(len, shown);
	if (err == BFS_OK)
		err = pay(file, layer, shown, left, &paid, &why);
	if (err == BFS_OK && !paid) {
		put_omitted(json, &len);
		return BFS_OK;
	}
	if (err == BFS_OK) {
		buf = bfs_alloc(shown);
		err = buf ? bfs_layer_read(file, layer, buf, shown, &why)
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
		return bfs_json_embed(buf, shown, bfs_secret_keys, json);
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
static void put_name(struct bfs_json *json, const struct bfs_layer *layer,
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
static enum bfs_err put_layer(struct bfs_file *file,
			      const struct bfs_layer *layer,
			      struct bfs_json *json, uint64_t *left,
			      bool *ret_fits, struct bfs_diag *diag)
{
	struct bfs_json mark = *json;
	enum bfs_err err = BFS_ERR_LIMIT;
	const char *name;
	uint64_t len;
	bool has_len;

	BFS_TRY(bfs_meta_name(file, layer, &name, diag));
	if (json->len < MAX_VALUES) {
		json->max_len = MAX_VALUES;
		put_name(json, layer, name);
		err = bfs_meta_put_value(file, layer, json, left, diag);
		if (err == BFS_OK)
			err = json->err;
		mark.max_len = json->max_len = MAX_TEXT;
	}
	if (err == BFS_ERR_LIMIT) {
		go_back(json, &mark);
		put_name(json, layer, name);
		has_len = bfs_layer_len(file, layer, &len, NULL) == BFS_OK;
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
	struct bfs_layer layer;

	bfs_json_object(json);
	for (uint64_t i = 0; bfs_layer_find(file, fixed, i, &layer); i++) {
		bool fits;

		BFS_TRY(put_layer(file, &layer, json, &left, &fits, diag));
		if (!fits)
			break;
	}
	json->max_len = MAX_TEXT + 64;	/* the end always fits */
	bfs_json_object_end(json);
	return json->err;
}

enum bfs_err bfs_meta_make_json(struct bfs_file *file, unsigned fixed,
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
