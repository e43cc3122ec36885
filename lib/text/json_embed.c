/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json_embed.c - JSON from a file as a value of our own JSON: parsed, and
 * written anew by the strict writer.
 */
#include "text/json.h"
#include "text/json_read.h"

#include <string.h>

#define REDACTED "(redacted)"

static bool is_listed(const char *const *list, const char *key)
{
	for (; list && *list; list++)
		if (!strcmp(*list, key))
			return true;
	return false;
}

static void put(struct bfs_json *json, const struct bfs_value *v,
		const char *const *redact);

static void put_object(struct bfs_json *json, const struct bfs_value *v,
		       const char *const *redact)
{
	const struct bfs_value *m;

	bfs_json_object(json);
	for (m = v->first; m; m = m->next) {
		if (m->shadowed)
			continue;
		bfs_json_key_n(json, m->key, m->key_len);
		if (is_listed(redact, m->key))
			bfs_json_string(json, REDACTED);
		else
			put(json, m, redact);
	}
	bfs_json_object_end(json);
}

static void put_array(struct bfs_json *json, const struct bfs_value *v,
		      const char *const *redact)
{
	const struct bfs_value *item;

	bfs_json_array(json);
	for (item = v->first; item; item = item->next)
		put(json, item, redact);
	bfs_json_array_end(json);
}

/* The depth was bounded when it was read. */
static void put(struct bfs_json *json, const struct bfs_value *v,
		const char *const *redact)
{
	switch (v->kind) {
	case BFS_VALUE_NULL:
		bfs_json_null(json);
		break;
	case BFS_VALUE_BOOL:
		bfs_json_bool(json, v->truth);
		break;
	case BFS_VALUE_DOUBLE:
		bfs_json_double(json, v->d);
		break;
	case BFS_VALUE_INT:
		bfs_json_i64(json, v->i);
		break;
	case BFS_VALUE_UINT:
		bfs_json_u64(json, v->u);
		break;
	case BFS_VALUE_OBJECT:
		put_object(json, v, redact);
		break;
	case BFS_VALUE_ARRAY:
		put_array(json, v, redact);
		break;
	case BFS_VALUE_STRING:
		bfs_json_string_n(json, v->s.text, v->s.len);
		break;
	}
}

enum bfs_err bfs_json_embed(const void *text, size_t len,
			    const char *const *redact, struct bfs_json *json)
{
	struct bfs_document *doc = NULL;
	enum bfs_err err = bfs_json_read(text, len, &doc, NULL);

	if (err == BFS_ERR_NOMEM)
		return err;
	if (err == BFS_OK)
		put(json, bfs_document_root(doc), redact);
	else
		bfs_json_base64(json, text, len);
	bfs_document_free(doc);
	return json->err;
}
