/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info.c - info.json: facts about the container (facts.h) as one JSON object.
 *
 * The text stays below 64 KiB whatever the file holds.
 */
#include "base/bytes.h"

#include "container/kind.h"
#include "text/json.h"
#include "view/facts.h"
#include "view/kept.h"
#include "view/parts.h"
#include "view/view.h"

#include <stdio.h>
#include <string.h>

#define MAX_INFO 65536
#define MAX_DTYPE 8192		/* bytes shown; each may become six */

/* ---- the text -------------------------------------------------------- */

static void put_status(struct bfs_json *json,
		       const struct bfs_verdict *verdict)
{
	static const char *const names[] = {
		[BFS_GOOD] = "good",
		[BFS_DAMAGED] = "damaged",
		[BFS_UNSUPPORTED] = "unsupported",
	};
	const struct bfs_diag *why = &verdict->why;
	char text[BFS_DIAG_TEXT + 80];

	bfs_json_key(json, "status");
	bfs_json_string(json, names[verdict->status]);
	if (verdict->status == BFS_GOOD)
		return;
	if (why->chunk >= 0)
		snprintf(text, sizeof(text), "chunk %lld: %s, at byte %llu",
			 (long long)why->chunk, why->text,
			 (unsigned long long)why->off);
	else
		snprintf(text, sizeof(text), "%s, at byte %llu", why->text,
			 (unsigned long long)why->off);
	bfs_json_key(json, "error");
	bfs_json_string(json, text);
}

static void put_u64(struct bfs_json *json, const char *key, uint64_t v)
{
	bfs_json_key(json, key);
	bfs_json_u64(json, v);
}

static void put_sizes(struct bfs_json *json,
		      const struct bfs_container *container,
		      const struct bfs_facts *facts)
{
	bfs_json_key(json, "nbytes");
	if (facts->nbytes != BFS_NOT_KNOWN)
		bfs_json_u64(json, facts->nbytes);
	else
		bfs_json_null(json);
	put_u64(json, "cbytes", container->cbytes);
	bfs_json_key(json, "ratio");
	if (facts->nbytes != BFS_NOT_KNOWN && container->cbytes)
		bfs_json_double(json, (double)facts->nbytes /
					      (double)container->cbytes);
	else
		bfs_json_null(json);
	put_u64(json, "nchunks", container->n_chunks);
	bfs_json_key(json, "chunksize");
	if (container->chunksize >= 0)
		bfs_json_i64(json, container->chunksize);
	else
		bfs_json_null(json);
	put_u64(json, "blocksize", facts->blocksize);
	put_u64(json, "typesize", container->typesize);
	if (container->vlblocks) {
		bfs_json_key(json, "vlblocks");
		bfs_json_bool(json, true);
	}
}

static void put_codec(struct bfs_json *json, const struct bfs_facts *facts)
{
	bfs_json_key(json, "codec");
	if (facts->codec[0])
		bfs_json_string(json, facts->codec);
	else
		bfs_json_null(json);
	bfs_json_key(json, "clevel");
	if (facts->clevel >= 0)
		bfs_json_i64(json, facts->clevel);
	else
		bfs_json_null(json);
}

static void put_filters(struct bfs_json *json, const struct bfs_facts *facts)
{
	bool any_meta = false;

	bfs_json_key(json, "filters");
	bfs_json_array_inline(json);
	for (unsigned i = 0; i < facts->n_filters; i++) {
		bfs_json_string(json, facts->filters[i].name);
		any_meta = any_meta || facts->filters[i].meta;
	}
	bfs_json_array_end(json);
	if (!any_meta)
		return;
	bfs_json_key(json, "filters_meta");
	bfs_json_array_inline(json);
	for (unsigned i = 0; i < facts->n_filters; i++)
		bfs_json_u64(json, facts->filters[i].meta);
	bfs_json_array_end(json);
}

static void put_dims(struct bfs_json *json, const char *key,
		     const int32_t *dims, unsigned n)
{
	bfs_json_key(json, key);
	bfs_json_array_inline(json);
	for (unsigned i = 0; i < n; i++)
		bfs_json_i64(json, dims[i]);
	bfs_json_array_end(json);
}

static void put_dtype(struct bfs_json *json, const struct bfs_array_meta *meta)
{
	size_t len = meta->dtype_len;

	bfs_json_key(json, "dtype");
	if (!meta->dtype) {
		bfs_json_null(json);
		return;
	}
	if (len > MAX_DTYPE) {
		len = MAX_DTYPE;
		while (len > 0 && ((uint8_t)meta->dtype[len] & 0xc0) == 0x80)
			len--;
	}
	bfs_json_string_n(json, meta->dtype, len);
	if (len == meta->dtype_len)
		return;
	bfs_json_key(json, "dtype_truncated");
	bfs_json_bool(json, true);
}

static void put_array(struct bfs_json *json, const struct bfs_array_meta *meta)
{
	unsigned n = meta->ndim < BFS_MAX_DIM ? meta->ndim : BFS_MAX_DIM;

	if (!meta->present)
		return;
	bfs_json_key(json, "shape");
	bfs_json_array_inline(json);
	for (unsigned i = 0; i < n; i++)
		bfs_json_i64(json, meta->shape[i]);
	bfs_json_array_end(json);
	if (!meta->linear) {
		put_dims(json, "chunkshape", meta->chunkshape, n);
		put_dims(json, "blockshape", meta->blockshape, n);
	}
	put_dtype(json, meta);
	if (meta->fortran) {
		bfs_json_key(json, "order");
		bfs_json_string(json, "F");
	}
}

/* What the views that are on have to say. */
static void put_notes(struct bfs_json *json, struct bfs_file *file)
{
	for (size_t i = 0; i < file->n_rows; i++)
		if (bfs_file_shows(file, i) && file->rows[i]->note)
			file->rows[i]->note(file, json);
}

/* What data.bin holds; null where that is not known. */
static void put_size(struct bfs_json *json,
		     const struct bfs_container *container,
		     const struct bfs_facts *facts)
{
	if (container->is_store || container->kind == BFS_KIND_EXPRESSION)
		return;
	bfs_json_key(json, "size");
	if (facts->data_len != BFS_NOT_KNOWN)
		bfs_json_u64(json, facts->data_len);
	else
		bfs_json_null(json);
}

static void put_fetched(struct bfs_json *json,
			const struct bfs_container *container)
{
	if (container->kind != BFS_KIND_PROXY)
		return;
	put_u64(json, "fetched", container->n_fetched);
	put_u64(json, "chunks", container->n_chunks);
}

static enum bfs_err make_info(struct bfs_file *file, unsigned key,
			      char **ret_text, size_t *ret_len,
			      struct bfs_diag *diag)
{
	const struct bfs_container *container = file->array->container;
	struct bfs_facts facts;
	struct bfs_json json;
	enum bfs_err err;

	(void)key;
	BFS_TRY(bfs_file_find_facts(file, &facts, diag));
	bfs_json_init(&json, MAX_INFO);
	bfs_json_object(&json);
	put_u64(&json, "schema", 1);
	bfs_json_key(&json, "format");
	bfs_json_string(&json, container->format);
	if (container->format_detail[0]) {
		bfs_json_key(&json, "format_detail");
		bfs_json_string(&json, container->format_detail);
	}
	bfs_json_key(&json, "kind");
	bfs_json_string(&json, bfs_kind_name(container->kind));
	put_status(&json, facts.verdict);
	put_fetched(&json, container);
	put_size(&json, container, &facts);
	put_sizes(&json, container, &facts);
	put_codec(&json, &facts);
	put_filters(&json, &facts);
	put_array(&json, &container->array);
	put_notes(&json, file);
	put_u64(&json, "metalayers", container->n_metas);
	put_u64(&json, "vlmetalayers", container->n_vlmetas);
	bfs_json_object_end(&json);
	err = bfs_json_finish(&json, ret_text, ret_len);
	bfs_json_release(&json);
	if (err != BFS_OK)
		return bfs_fail(diag, err, 0, "info.json cannot be made");
	return BFS_OK;
}

static enum bfs_err get_info(struct bfs_file *file, const char **ret_text,
			     size_t *ret_len, struct bfs_diag *diag)
{
	return bfs_kept_text(file, BFS_ROW_info, 0, make_info, ret_text,
			     ret_len, diag);
}

/* ---- the view -------------------------------------------------------- */

static size_t info_roots(struct bfs_file *file, struct bfs_root *ret_roots)
{
	(void)file;
	ret_roots[0] = (struct bfs_root){ "info.json", 0 };
	return 1;
}

static void info_stat(struct bfs_file *file, const struct bfs_node *node,
		      struct bfs_attr *ret_attr)
{
	const char *text;
	size_t len;

	(void)node;
	if (get_info(file, &text, &len, NULL) == BFS_OK)
		bfs_text_stat(len, ret_attr);
}

const struct bfs_view bfs_view_info = {
	.name = "info",
	.groups = " imaging tables web ",
	.on = true,
	.in_stores = true,
	.n_texts = 1,
	.roots = info_roots,
	.stat = info_stat,
	.text = get_info,
};
