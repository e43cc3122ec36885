/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * items.c - items.jsonl: the values of a list of objects (ObjectArray,
 * BatchArray, strings of any length), each as a line of JSON.
 *
 * Whether there is one is told by headers; its length by an index, for which
 * all is decoded once.
 */
#include "base/bytes.h"
#include "base/mem.h"
#include "container/metajson.h"
#include "text/json_read.h"
#include "text/msgpack.h"
#include "view/items/index.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_LAYER 65536		/* bytes of a metalayer that tells the form */

/* ---- whether there is one -------------------------------------------- */

static const struct bfs_meta *find_layer(const struct bfs_container *f,
					 const char *name)
{
	return bfs_meta_find(f->metas, f->n_metas, name);
}

/* Batches are chunks whose blocks are lists; else each chunk is a value. */
static bool is_in_blocks(const struct bfs_container *f)
{
	return find_layer(f, "batcharray") != NULL;
}

/* What the metalayer says of how values are written; "" for nothing. */
static enum bfs_err read_serializer(struct bfs_file *file,
				    const struct bfs_meta *meta,
				    char name[32], struct bfs_diag *diag)
{
	const struct bfs_container *f = file->array->container;
	const struct bfs_stream stream = {
		BFS_STREAM_META, (uint64_t)(meta - f->metas) };
	BFS_CLEANUP(bfs_freep) uint8_t *buf = NULL;
	BFS_CLEANUP(bfs_freep) char *text = NULL;
	struct bfs_document *doc = NULL;
	const struct bfs_value *v;
	struct bfs_json json;
	uint64_t len;
	size_t text_len;
	enum bfs_err err;

	name[0] = '\0';
	BFS_TRY(bfs_array_len(file->array, &stream, &len, diag));
	len = bfs_min(len, MAX_LAYER);
	buf = bfs_alloc((size_t)bfs_max(len, 1));
	if (!buf)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for items");
	BFS_TRY(bfs_array_read(file->array, &stream, 0, buf, (size_t)len,
			       diag));
	bfs_json_init(&json, 0);
	err = bfs_msgpack_to_json(buf, (size_t)len, NULL, &json);
	if (err == BFS_OK)
		err = bfs_json_finish(&json, &text, &text_len);
	bfs_json_release(&json);
	if (err == BFS_OK)
		err = bfs_json_read(text, text_len, &doc, diag);
	if (err != BFS_OK)
		return bfs_fail(diag, err, meta->off,
				"the list's metalayer cannot be read");
	v = bfs_value_get(bfs_document_root(doc), "serializer");
	if (bfs_value_is(v, BFS_VALUE_STRING))
		snprintf(name, 32, "%s", v->s.text);
	bfs_document_free(doc);
	return BFS_OK;
}

/* A text for bfs_kept_text: why there are no items; "" where there are. */
static enum bfs_err judge(struct bfs_file *file, unsigned key, char **ret_text,
			  size_t *ret_len, struct bfs_diag *diag)
{
	const struct bfs_container *f = file->array->container;
	const struct bfs_meta *meta = find_layer(f, "batcharray");
	char name[32], why[96] = "";

	(void)key;
	if (!meta)
		meta = find_layer(f, "vlarray");
	if (meta)
		BFS_TRY(read_serializer(file, meta, name, diag));
	if (!meta)
		strcpy(why, "a list of no form that is known");
	else if (strcmp(name, "msgpack") != 0)
		strcpy(why, "values that are no MessagePack");
	else if (f->nbytes_known && f->nbytes > BFS_ITEMS_MAX_BYTES)
		snprintf(why, sizeof(why), "too large: %" PRIu64 " bytes, more "
			 "than %" PRIu64, f->nbytes, BFS_ITEMS_MAX_BYTES);
	else if (f->n_chunks > BFS_ITEMS_MAX_CHUNKS)
		snprintf(why, sizeof(why), "too large: %" PRIu64 " chunks, "
			 "more than %" PRIu64, f->n_chunks,
			 BFS_ITEMS_MAX_CHUNKS);
	*ret_len = strlen(why);
	*ret_text = bfs_memdup0(why, *ret_len);
	return *ret_text ? BFS_OK :
	       bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory for items");
}

/* Why there are none; NULL where that is not known. */
static const char *get_why(struct bfs_file *file)
{
	const char *why;
	size_t len;

	return bfs_kept_text(file, BFS_ROW_items, 0, judge, &why, &len, NULL) ==
	       BFS_OK ? why : NULL;
}

static bool has_items(struct bfs_file *file)
{
	const char *why;

	if (file->array->container->kind != BFS_KIND_OBJECTS)
		return false;
	why = get_why(file);
	return why && !why[0];
}

static void items_note(struct bfs_file *file, struct bfs_json *json)
{
	const char *why;

	if (file->array->container->kind != BFS_KIND_OBJECTS)
		return;
	why = get_why(file);
	bfs_json_key(json, "items");
	if (why && why[0])
		bfs_json_string(json, why);
	else
		bfs_json_bool(json, why);
}

/* ---- the file -------------------------------------------------------- */

static size_t items_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	if (!has_items(file))
		return 0;
	ret_roots[0] = (struct bfs_root){ "items.jsonl", 0 };
	return 1;
}

static enum bfs_err find_index(struct bfs_file *file, void **ret_state,
			       struct bfs_diag *diag)
{
	struct bfs_items_index *index;

	BFS_TRY(bfs_items_index_new(file, is_in_blocks(file->array->container),
				    &index, diag));
	*ret_state = index;
	return BFS_OK;
}

static enum bfs_err get_index(struct bfs_file *file,
			      const struct bfs_items_index **ret_index,
			      struct bfs_diag *diag)
{
	const void *state;

	if (!has_items(file))
		return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such entry");
	BFS_TRY(bfs_kept_state(file, BFS_ROW_items, find_index, &state, diag));
	*ret_index = state;
	return BFS_OK;
}

static void items_stat(struct bfs_file *file, const struct bfs_node *node,
		       struct bfs_attr *ret_attr)
{
	const struct bfs_items_index *index;

	(void)node;
	if (get_index(file, &index, NULL) != BFS_OK)
		return;
	ret_attr->len = bfs_items_len(index);
	ret_attr->stored_len = ret_attr->len;
	ret_attr->blksize = 65536;
}

static enum bfs_err items_open(struct bfs_file *file,
			       const struct bfs_node *node,
			       struct bfs_diag *diag)
{
	const struct bfs_items_index *index;

	(void)node;
	return get_index(file, &index, diag);
}

static enum bfs_err items_fill(struct bfs_file *file,
			       const struct bfs_node *node, uint64_t off,
			       uint8_t *buf, size_t len, struct bfs_diag *diag)
{
	const struct bfs_items_index *index;

	(void)node;
	BFS_TRY(get_index(file, &index, diag));
	return bfs_items_fill(file, index, off, buf, len, diag);
}

static void items_release(void *state)
{
	bfs_items_index_free(state);
}

const struct bfs_view bfs_view_items = {
	.name = "items",
	.groups = " tables ",
	.n_texts = 1,
	.roots = items_roots,
	.stat = items_stat,
	.open = items_open,
	.fill = items_fill,
	.note = items_note,
	.release = items_release,
};
