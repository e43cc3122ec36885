/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msgpack_json.c - from MessagePack to JSON.
 *
 * Only bytes that the walk has passed are unpacked by msgpack-c, whose memory
 * is then bounded by the number of nodes. A map inside an extension is walked
 * with what is left of the same limits.
 */
#include "text/msgpack.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By its parts: <msgpack.h> would find our own header. */
#include <msgpack/object.h>
#include <msgpack/unpack.h>

#define EXT_CFRAME 42		/* a whole frame */
#define EXT_MAP 43		/* a map that describes another object */
#define TUPLE_MARK "__tuple__"
#define REDACTED "(redacted)"

struct render {
	struct bfs_json *json;
	const char *const *redact;
	uint64_t nodes_left;
	bool in_key;		/* writing JSON that becomes a key */
	enum bfs_err err;
};

/* A key's text. owned: to be freed; NULL where text points into the input. */
struct key {
	const char *text;
	size_t len;
	char *owned;
	unsigned suffix;	/* 0, or the n of "~n" */
};

static void render_value(struct render *r, const msgpack_object *obj,
			 unsigned depth);

static bool is_redacted(const struct render *r, const msgpack_object *key)
{
	const char *const *name;
	const char *text;
	size_t len;

	if (key->type == MSGPACK_OBJECT_STR) {
		text = key->via.str.ptr;
		len = key->via.str.size;
	} else if (key->type == MSGPACK_OBJECT_BIN) {
		text = key->via.bin.ptr;
		len = key->via.bin.size;
	} else {
		return false;
	}
	for (name = r->redact; name && *name; name++)
		if (strlen(*name) == len && !memcmp(*name, text, len))
			return true;
	return false;
}

static const char *name_type(msgpack_object_type type)
{
	switch (type) {
	case MSGPACK_OBJECT_NIL:
		return "null";
	case MSGPACK_OBJECT_BOOLEAN:
		return "boolean";
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		return "integer";
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		return "float";
	case MSGPACK_OBJECT_STR:
		return "string";
	case MSGPACK_OBJECT_ARRAY:
		return "array";
	case MSGPACK_OBJECT_MAP:
		return "map";
	case MSGPACK_OBJECT_BIN:
		return "bytes";
	case MSGPACK_OBJECT_EXT:
		return "extension";
	}
	return "unknown";
}

/* A key that is no text becomes the JSON of its value, on one line. */
static bool render_key(struct render *r, const msgpack_object *obj,
		       unsigned depth, struct key *ret_key)
{
	struct bfs_json json, *outer = r->json;

	bfs_json_init(&json, outer->max_len);
	bfs_json_array_inline(&json);
	r->json = &json;
	r->in_key = true;
	render_value(r, obj, depth);
	r->in_key = false;
	r->json = outer;
	bfs_json_array_end(&json);
	if (r->err == BFS_OK && json.err == BFS_OK) {
		/* Without the brackets. */
		ret_key->len = json.len - 2;
		ret_key->owned = bfs_memdup0(json.buf + 1, ret_key->len);
		ret_key->text = ret_key->owned;
		if (!ret_key->owned)
			r->err = BFS_ERR_NOMEM;
	} else if (r->err == BFS_OK) {
		r->err = json.err;
	}
	bfs_json_release(&json);
	return r->err == BFS_OK;
}

static bool make_key(struct render *r, const msgpack_object *obj,
		     unsigned depth, struct key *ret_key)
{
	if (obj->type == MSGPACK_OBJECT_STR &&
	    bfs_json_is_utf8(obj->via.str.ptr, obj->via.str.size)) {
		ret_key->text = obj->via.str.size ? obj->via.str.ptr : "";
		ret_key->len = obj->via.str.size;
		return true;
	}
	/* A key inside a key is only named by its type: escaping it again at
	 * every level would make it grow without bound. */
	if (r->in_key) {
		ret_key->text = name_type(obj->type);
		ret_key->len = strlen(ret_key->text);
		return true;
	}
	return render_key(r, obj, depth, ret_key);
}

static int compare_text(const struct key *a, const struct key *b)
{
	size_t len = a->len < b->len ? a->len : b->len;
	int order = len ? memcmp(a->text, b->text, len) : 0;

	return order ? order : (a->len > b->len) - (a->len < b->len);
}

static int compare_keys(const void *pa, const void *pb)
{
	const struct key *a = *(struct key *const *)pa;
	const struct key *b = *(struct key *const *)pb;
	int order = compare_text(a, b);

	return order ? order : (a > b) - (a < b);
}

/* Whether "text~n", text being that of key, is a key of the map already. */
static bool has_suffixed(struct key *const *sorted, size_t n_keys,
			 const struct key *key, unsigned n)
{
	size_t lo = 0, hi = n_keys;
	char tail[16];
	size_t tail_len = (size_t)snprintf(tail, sizeof(tail), "~%u", n);

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		struct key head = *sorted[mid];
		int order;

		/* Compare the part before the tail, then the tail. */
		if (head.len > key->len)
			head.len = key->len;
		order = compare_text(&head, key);
		if (!order) {
			struct key rest = { sorted[mid]->text + head.len,
				sorted[mid]->len - head.len, NULL, 0 };
			struct key want = { tail, tail_len, NULL, 0 };

			order = compare_text(&rest, &want);
		}
		if (!order)
			return true;
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

/* Gives the second and later of equal keys a suffix that no key has. */
static bool number_keys(struct key *keys, size_t n_keys)
{
	BFS_CLEANUP(bfs_freep) struct key **sorted = NULL;
	unsigned n = 2;
	size_t i;

	sorted = bfs_zalloc(n_keys, sizeof(*sorted));
	if (!sorted)
		return false;
	for (i = 0; i < n_keys; i++)
		sorted[i] = &keys[i];
	qsort(sorted, n_keys, sizeof(*sorted), compare_keys);
	for (i = 1; i < n_keys; i++) {
		if (compare_text(sorted[i - 1], sorted[i]) != 0) {
			n = 2;
			continue;
		}
		while (has_suffixed(sorted, n_keys, sorted[i], n))
			n++;
		sorted[i]->suffix = n++;
	}
	return true;
}

static bool write_key(struct render *r, const struct key *key)
{
	BFS_CLEANUP(bfs_freep) char *text = NULL;

	if (!key->suffix) {
		bfs_json_key_n(r->json, key->text, key->len);
		return true;
	}
	text = bfs_alloc(key->len + 16);
	if (!text) {
		r->err = BFS_ERR_NOMEM;
		return false;
	}
	if (key->len)
		memcpy(text, key->text, key->len);
	snprintf(text + key->len, 16, "~%u", key->suffix);
	bfs_json_key_n(r->json, text, strlen(text + key->len) + key->len);
	return true;
}

/* The keys of a map in its order, or NULL (r->err says why). */
static struct key *collect_keys(struct render *r, const msgpack_object_map *map,
				unsigned depth)
{
	struct key *keys = bfs_zalloc(map->size, sizeof(*keys));
	bool good = keys != NULL;
	size_t i;

	for (i = 0; good && i < map->size; i++)
		good = make_key(r, &map->ptr[i].key, depth, &keys[i]);
	if (good && map->size > 1)
		good = number_keys(keys, map->size);
	if (good)
		return keys;
	if (r->err == BFS_OK)
		r->err = BFS_ERR_NOMEM;
	for (i = 0; keys && i < map->size; i++)
		bfs_free(keys[i].owned);
	bfs_free(keys);
	return NULL;
}

static void render_map(struct render *r, const msgpack_object_map *map,
		       unsigned depth)
{
	struct key *keys;
	size_t i;

	bfs_json_object(r->json);
	keys = collect_keys(r, map, depth);
	for (i = 0; keys && i < map->size; i++) {
		/* After a failure further down a key may have no value yet. */
		if (r->err != BFS_OK || !write_key(r, &keys[i]))
			break;
		if (is_redacted(r, &map->ptr[i].key))
			bfs_json_string(r->json, REDACTED);
		else
			render_value(r, &map->ptr[i].val, depth);
	}
	for (i = 0; keys && i < map->size; i++)
		bfs_free(keys[i].owned);
	bfs_free(keys);
	bfs_json_object_end(r->json);
}

static void render_array(struct render *r, const msgpack_object_array *array,
			 unsigned depth)
{
	size_t mark_len = strlen(TUPLE_MARK);
	size_t i = 0;

	/* Tuples are arrays that say so in their first item. */
	if (array->size && array->ptr[0].type == MSGPACK_OBJECT_STR &&
	    array->ptr[0].via.str.size == mark_len &&
	    !memcmp(array->ptr[0].via.str.ptr, TUPLE_MARK, mark_len))
		i = 1;
	bfs_json_array(r->json);
	for (; i < array->size && r->err == BFS_OK; i++)
		render_value(r, &array->ptr[i], depth);
	bfs_json_array_end(r->json);
}

/* Whether the bytes are exactly one value within what is left of the limits,
 * which then goes down. */
static bool is_one_value(struct render *r, const void *buf, size_t len,
			 unsigned depth)
{
	uint64_t left = r->nodes_left;
	size_t value_len;

	if (bfs_msgpack_walk_within(buf, len, BFS_MSGPACK_DEPTH - depth, &left,
				    &value_len, NULL) != BFS_OK ||
	    value_len != len)
		return false;
	r->nodes_left = left;
	return true;
}

/* Unpacks and renders bytes that is_one_value() has let through. False when
 * msgpack-c does not take them; then nothing was written. */
static bool render_bytes(struct render *r, const char *buf, size_t len,
			 unsigned depth)
{
	msgpack_unpacked unpacked;
	msgpack_unpack_return result;
	size_t off = 0;
	bool written = false;

	msgpack_unpacked_init(&unpacked);
	result = msgpack_unpack_next(&unpacked, buf, len, &off);
	if (result == MSGPACK_UNPACK_NOMEM_ERROR) {
		r->err = BFS_ERR_NOMEM;
		written = true;
	} else if (result == MSGPACK_UNPACK_SUCCESS) {
		render_value(r, &unpacked.data, depth);
		written = true;
	}
	msgpack_unpacked_destroy(&unpacked);
	return written;
}

static bool begins_map(const char *buf, size_t len)
{
	uint8_t tag = len ? (uint8_t)buf[0] : 0xc1;

	return tag >> 4 == 8 || tag == 0xde || tag == 0xdf;
}

static void render_ext(struct render *r, const msgpack_object_ext *ext,
		       unsigned depth)
{
	if (ext->type == EXT_MAP && begins_map(ext->ptr, ext->size) &&
	    is_one_value(r, ext->ptr, ext->size, depth) &&
	    render_bytes(r, ext->ptr, ext->size, depth))
		return;
	if (ext->type == EXT_CFRAME) {
		bfs_json_object(r->json);
		bfs_json_key(r->json, "cframe");
		bfs_json_u64(r->json, ext->size);
		bfs_json_object_end(r->json);
		return;
	}
	bfs_json_object(r->json);
	bfs_json_key(r->json, "ext");
	bfs_json_i64(r->json, ext->type);
	bfs_json_key(r->json, "base64");
	bfs_json_base64_text(r->json, ext->ptr, ext->size);
	bfs_json_object_end(r->json);
}

/* depth: containers around obj. */
static void render_value(struct render *r, const msgpack_object *obj,
			 unsigned depth)
{
	if (r->err != BFS_OK || r->json->err != BFS_OK)
		return;
	switch (obj->type) {
	case MSGPACK_OBJECT_NIL:
		bfs_json_null(r->json);
		return;
	case MSGPACK_OBJECT_BOOLEAN:
		bfs_json_bool(r->json, obj->via.boolean);
		return;
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		bfs_json_u64(r->json, obj->via.u64);
		return;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		bfs_json_i64(r->json, obj->via.i64);
		return;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		bfs_json_double(r->json, obj->via.f64);
		return;
	case MSGPACK_OBJECT_STR:
		bfs_json_string_n(r->json, obj->via.str.ptr, obj->via.str.size);
		return;
	case MSGPACK_OBJECT_BIN:
		bfs_json_base64(r->json, obj->via.bin.ptr, obj->via.bin.size);
		return;
	case MSGPACK_OBJECT_EXT:
		render_ext(r, &obj->via.ext, depth);
		return;
	case MSGPACK_OBJECT_ARRAY:
		render_array(r, &obj->via.array, depth + 1);
		return;
	case MSGPACK_OBJECT_MAP:
		render_map(r, &obj->via.map, depth + 1);
		return;
	}
}

enum bfs_err bfs_msgpack_to_json(const void *buf, size_t len,
				 const char *const *redact,
				 struct bfs_json *json)
{
	struct render r = { json, redact, BFS_MSGPACK_NODES, false, BFS_OK };

	if (json->err != BFS_OK)
		return json->err;
	if (!is_one_value(&r, buf, len, 0) ||
	    !render_bytes(&r, buf, len, 0))
		bfs_json_base64(json, buf, len);
	/* The writer must not go on: a value may lack its end. */
	if (r.err != BFS_OK)
		json->err = r.err;
	return json->err;
}
