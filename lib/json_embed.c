/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json_embed.c - JSON from a file as a value of our own JSON: taken apart by
 * json-c, written anew by the strict writer.
 */
#include "json.h"

#include <json-c/json.h>
#include <string.h>

#define REDACTED "(redacted)"

static bool is_listed(const char *const *list, const char *key)
{
	for (; list && *list; list++)
		if (!strcmp(*list, key))
			return true;
	return false;
}

static void put(struct bfs_json *json, struct json_object *v,
		const char *const *redact);

static void put_object(struct bfs_json *json, struct json_object *v,
		       const char *const *redact)
{
	bfs_json_object(json);
	json_object_object_foreach(v, key, member) {
		bfs_json_key(json, key);
		if (is_listed(redact, key))
			bfs_json_string(json, REDACTED);
		else
			put(json, member, redact);
	}
	bfs_json_object_end(json);
}

static void put_array(struct bfs_json *json, struct json_object *v,
		      const char *const *redact)
{
	size_t n = json_object_array_length(v), i;

	bfs_json_array(json);
	for (i = 0; i < n; i++)
		put(json, json_object_array_get_idx(v, i), redact);
	bfs_json_array_end(json);
}

/* json-c bounds the depth when it parses. */
static void put(struct bfs_json *json, struct json_object *v,
		const char *const *redact)
{
	switch (json_object_get_type(v)) {
	case json_type_null:
		bfs_json_null(json);
		break;
	case json_type_boolean:
		bfs_json_bool(json, json_object_get_boolean(v));
		break;
	case json_type_double:
		bfs_json_double(json, json_object_get_double(v));
		break;
	case json_type_int:
		if (json_object_get_int64(v) == INT64_MAX)
			bfs_json_u64(json, json_object_get_uint64(v));
		else
			bfs_json_i64(json, json_object_get_int64(v));
		break;
	case json_type_object:
		put_object(json, v, redact);
		break;
	case json_type_array:
		put_array(json, v, redact);
		break;
	case json_type_string:
		bfs_json_string_n(json, json_object_get_string(v),
				  (size_t)json_object_get_string_len(v));
		break;
	}
}

enum bfs_err bfs_json_embed(const void *text, size_t len,
			    const char *const *redact, struct bfs_json *json)
{
	struct json_tokener *tok = json_tokener_new_ex(32);
	struct json_object *root;

	if (!tok)
		return BFS_ERR_NOMEM;
	root = len <= INT32_MAX ?
		json_tokener_parse_ex(tok, text, (int)len) : NULL;
	if (json_tokener_get_error(tok) == json_tokener_success)
		put(json, root, redact);
	else
		bfs_json_base64(json, text, len);
	json_object_put(root);
	json_tokener_free(tok);
	return json->err;
}
