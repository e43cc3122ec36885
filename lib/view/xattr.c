/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xattr.c - user.bloscfs.* attributes: of a frame's directory what info.json
 * says, of a chunk's file one JSON object.
 */
#include "view/xattr.h"

#include "bytes.h"
#include "json.h"
#include "mem.h"
#include "view/chunkfacts.h"
#include "view/file.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>

#define PREFIX "user.bloscfs."

/* Attributes of a frame, which are keys of info.json. */
static const char *const frame_names[] = {
	PREFIX "format", PREFIX "codec", PREFIX "filters", PREFIX "shape",
	PREFIX "dtype", PREFIX "ratio",
};

/* A list as "a,b", other values as they are; "" for what is not there. */
static size_t spell(struct json_object *v, char *value)
{
	size_t len = 0, n, i;

	if (!v)
		return 0;
	if (json_object_is_type(v, json_type_double))
		return (size_t)snprintf(value, BFS_XATTR_MAX, "%.2f",
					json_object_get_double(v));
	if (!json_object_is_type(v, json_type_array)) {
		const char *text = json_object_get_string(v);

		len = strlen(text);
		if (len >= BFS_XATTR_MAX)
			return 0;
		memcpy(value, text, len);
		return len;
	}
	n = json_object_array_length(v);
	for (i = 0; i < n && len < BFS_XATTR_MAX; i++)
		len += (size_t)snprintf(value + len, BFS_XATTR_MAX - len,
					"%s%s", i ? "," : "",
					json_object_get_string(
						json_object_array_get_idx(v,
									  i)));
	return len < BFS_XATTR_MAX ? len : 0;
}

static size_t frame_value(struct bfs_file *file, const char *key, char *value)
{
	struct json_object *root, *v = NULL;
	const char *text;
	size_t text_len, len;

	if (bfs_info_text(file, &text, &text_len, NULL) != BFS_OK)
		return 0;
	root = json_tokener_parse(text);
	json_object_object_get_ex(root, key, &v);
	len = spell(v, value);
	json_object_put(root);
	return len;
}

static void put_filters(struct bfs_json *json, const struct bfs_chunk_head *h)
{
	char name[24];

	bfs_json_key(json, "filters");
	bfs_json_array_inline(json);
	for (size_t i = 0; i < BFS_N_FILTER_SLOTS; i++)
		if (h->filters[i])
			bfs_json_string(json, bfs_filter_name(h->filters[i],
							      name));
	bfs_json_array_end(json);
}

static void put_u64(struct bfs_json *json, const char *key, uint64_t v)
{
	bfs_json_key(json, key);
	bfs_json_u64(json, v);
}

/* Without an offset and without stored bytes where only the index knows the
 * chunk. */
static void put_chunk(struct bfs_json *json,
		      const struct bfs_chunk_facts *facts)
{
	const struct bfs_chunk_head *h = &facts->head;
	const char *special = bfs_special_name(facts->kind);
	char name[24];

	bfs_json_object(json);
	if (facts->stored)
		put_u64(json, "offset", facts->span.off);
	put_u64(json, "cbytes", facts->stored ? h->cbytes : 0);
	put_u64(json, "nbytes", facts->nbytes);
	if (facts->stored) {
		bfs_json_key(json, "codec");
		bfs_json_string(json, bfs_codec_format_name(
			h->codec_format, h->codec_id, name));
		put_filters(json, h);
	}
	bfs_json_key(json, "special");
	if (special)
		bfs_json_string(json, special);
	else
		bfs_json_null(json);
	if (facts->stored)
		put_u64(json, "blocks", h->n_blocks);
	bfs_json_object_end(json);
}

static size_t chunk_value(struct bfs_file *file, uint64_t n, char *value)
{
	struct bfs_chunk_facts facts;
	struct bfs_json json;
	size_t len = 0;
	char *text;

	if (bfs_chunk_find_facts(file->array->frame, n, &facts, NULL) !=
	    BFS_OK || !facts.placed || !facts.has_len ||
	    (facts.stored && !facts.has_head))
		return 0;
	bfs_json_init(&json, BFS_XATTR_MAX);
	put_chunk(&json, &facts);
	if (bfs_json_finish(&json, &text, &len) == BFS_OK) {
		len--;	/* without the newline */
		memcpy(value, text, len);
		bfs_free(text);
	} else {
		len = 0;
	}
	bfs_json_release(&json);
	return len;
}

bool bfs_file_xattr(struct bfs_file *file, const struct bfs_node *node,
		    size_t i, const char **ret_name, char *value,
		    size_t *ret_len)
{
	if (node->view == BFS_VIEW_ROOT) {
		if (i >= BFS_ARRAY_LEN(frame_names))
			return false;
		*ret_name = frame_names[i];
		if (value)
			*ret_len = frame_value(file, frame_names[i] +
					       strlen(PREFIX), value);
		return true;
	}
	if (i > 0 || node->view >= bfs_n_views ||
	    bfs_views[node->view] != &bfs_view_chunks || node->kind == 0)
		return false;
	*ret_name = PREFIX "chunk";
	if (value)
		*ret_len = chunk_value(file, node->index, value);
	return true;
}
