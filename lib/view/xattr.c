/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xattr.c - user.bloscfs.* attributes: of a frame's directory what info.json
 * says, of a chunk's file one JSON object.
 */
#include "view/xattr.h"

#include "base/bytes.h"
#include "text/json.h"
#include "text/json_read.h"
#include "base/mem.h"
#include "view/chunkfacts.h"
#include "view/file.h"

#include <inttypes.h>
#include <stdio.h>

#define PREFIX "user.bloscfs."

/* Attributes of a frame, which are keys of info.json. */
static const char *const frame_names[] = {
	PREFIX "format", PREFIX "codec", PREFIX "filters", PREFIX "shape",
	PREFIX "dtype", PREFIX "ratio",
};

/* One value, as it is written in info.json, strings without quotes. */
static size_t spell_one(const struct bfs_value *v, char *value, size_t cap)
{
	bool quoted = v->kind == BFS_VALUE_STRING;

	return (size_t)snprintf(value, cap, "%.*s",
				(int)(quoted ? v->s.len : v->raw_len),
				quoted ? v->s.text : v->raw);
}

/* A list as "a,b", other values as they are; "" for what is not there. */
static size_t spell(const struct bfs_value *v, char *value)
{
	const struct bfs_value *item;
	size_t len = 0;

	if (!v || v->kind == BFS_VALUE_NULL)
		return 0;
	if (v->kind == BFS_VALUE_DOUBLE)
		return (size_t)snprintf(value, BFS_XATTR_MAX, "%.2f", v->d);
	if (v->kind != BFS_VALUE_ARRAY) {
		len = spell_one(v, value, BFS_XATTR_MAX);
		return len < BFS_XATTR_MAX ? len : 0;
	}
	for (item = v->first; item && len < BFS_XATTR_MAX; item = item->next) {
		if (item != v->first)
			value[len++] = ',';
		len += spell_one(item, value + len, BFS_XATTR_MAX - len);
	}
	return len < BFS_XATTR_MAX ? len : 0;
}

static size_t frame_value(struct bfs_file *file, const char *key, char *value)
{
	struct bfs_document *doc;
	const char *text;
	size_t text_len, len;

	if (bfs_info_text(file, &text, &text_len, NULL) != BFS_OK ||
	    bfs_json_read(text, text_len, &doc, NULL) != BFS_OK)
		return 0;
	len = spell(bfs_value_get(bfs_document_root(doc), key), value);
	bfs_document_free(doc);
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

	if (bfs_chunk_find_facts(file->array->container, n, &facts, NULL) !=
		    BFS_OK ||
	    !facts.placed || !facts.has_len ||
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
