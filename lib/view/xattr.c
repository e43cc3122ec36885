/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xattr.c - user.bloscfs.* attributes: of a container's directory some of the
 * facts that info.json tells, of a chunk's file one JSON object.
 */
#include "view/xattr.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "text/json.h"
#include "view/chunkfacts.h"
#include "view/facts.h"
#include "view/kept.h"

#include <inttypes.h>
#include <stdio.h>

#define PREFIX "user.bloscfs."

enum fact { FORMAT, CODEC, FILTERS, SHAPE, DTYPE, RATIO, N_FACTS };

/* Attributes of a container, by the names of their keys in info.json. */
static const char *const fact_names[N_FACTS] = {
	[FORMAT] = PREFIX "format",
	[CODEC] = PREFIX "codec",
	[FILTERS] = PREFIX "filters",
	[SHAPE] = PREFIX "shape",
	[DTYPE] = PREFIX "dtype",
	[RATIO] = PREFIX "ratio",
};

/* A comma before all but the first of a list. */
static void add_item(char *value, size_t *len, const char *item)
{
	int n = *len < BFS_XATTR_MAX ?
		snprintf(value + *len, BFS_XATTR_MAX - *len, "%s%s",
			 *len ? "," : "", item) : 0;

	*len += (size_t)n;
}

static size_t spell_filters(const struct bfs_facts *facts, char *value)
{
	size_t len = 0;

	for (unsigned i = 0; i < facts->n_filters; i++)
		add_item(value, &len, facts->filters[i].name);
	return len;
}

static size_t spell_shape(const struct bfs_array_meta *meta, char *value)
{
	size_t len = 0;
	char item[24];

	for (unsigned i = 0; meta->present && i < meta->ndim &&
			     i < BFS_MAX_DIM; i++) {
		snprintf(item, sizeof(item), "%" PRId64, meta->shape[i]);
		add_item(value, &len, item);
	}
	return len;
}

static size_t spell_dtype(const struct bfs_array_meta *meta, char *value)
{
	if (!meta->present || !meta->dtype ||
	    meta->dtype_len >= BFS_XATTR_MAX ||
	    !bfs_json_is_utf8(meta->dtype, meta->dtype_len))
		return 0;
	return (size_t)snprintf(value, BFS_XATTR_MAX, "%.*s",
				(int)meta->dtype_len, meta->dtype);
}

static size_t spell_ratio(const struct bfs_container *container,
			  const struct bfs_facts *facts, char *value)
{
	if (facts->nbytes == BFS_NOT_KNOWN || !container->cbytes)
		return 0;
	return (size_t)snprintf(value, BFS_XATTR_MAX, "%.2f",
				(double)facts->nbytes /
					(double)container->cbytes);
}

static size_t container_value(struct bfs_file *file, enum fact fact,
			      char *value)
{
	const struct bfs_container *container = file->array->container;
	struct bfs_facts facts;
	size_t len = 0;

	if (bfs_file_find_facts(file, &facts, NULL) != BFS_OK)
		return 0;
	switch (fact) {
	case FORMAT:
		add_item(value, &len, container->format);
		break;
	case CODEC:
		add_item(value, &len, facts.codec);
		break;
	case FILTERS:
		len = spell_filters(&facts, value);
		break;
	case SHAPE:
		len = spell_shape(&container->array, value);
		break;
	case DTYPE:
		len = spell_dtype(&container->array, value);
		break;
	case RATIO:
		len = spell_ratio(container, &facts, value);
		break;
	case N_FACTS:
		break;
	}
	return len < BFS_XATTR_MAX ? len : 0;
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

	bfs_json_object_inline(json);
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
	const struct bfs_view *row;
	uint64_t n;

	if (node->view == BFS_VIEW_ROOT) {
		if (i >= N_FACTS)
			return false;
		*ret_name = fact_names[i];
		if (value)
			*ret_len = container_value(file, (enum fact)i, value);
		return true;
	}
	if (i > 0 || node->view >= file->n_rows)
		return false;
	row = file->rows[node->view];
	if (!row->is_chunk || !row->is_chunk(node, &n))
		return false;
	*ret_name = PREFIX "chunk";
	if (value)
		*ret_len = chunk_value(file, n, value);
	return true;
}
