/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info.c - info.json: facts about the container as one JSON object, and the
 * verdict that the whole library gives.
 *
 * From headers and the index alone. What a chunk's header says goes before
 * the frame's defaults. The text stays below 64 KiB whatever the file holds.
 */
#include "base/bytes.h"
#include "codec/codec.h"
#include "filter/filter.h"
#include "text/json.h"
#include "base/moment.h"
#include "view/file.h"
#include "view/view.h"
#include "view/zarr/zarr.h"

#include <stdio.h>
#include <string.h>

#define MAX_INFO 65536
#define MAX_DTYPE 8192		/* bytes shown; each may become six */
#define FIRST_STORED 64		/* entries to find a stored chunk in */

/* ---- the verdict ----------------------------------------------------- */

static enum bfs_status status_of(enum bfs_err err)
{
	if (err == BFS_OK)
		return BFS_GOOD;
	return err == BFS_ERR_UNSUPPORTED ? BFS_UNSUPPORTED : BFS_DAMAGED;
}

static enum bfs_err check_index(struct bfs_container *container,
				struct bfs_diag *why)
{
	uint64_t n_scan = bfs_min(container->n_chunks, BFS_SCAN_CHUNKS);

	for (uint64_t n = 0; n < n_scan; n++) {
		struct bfs_span span;
		enum bfs_err err = bfs_container_span(container, n, &span, why);

		if (err != BFS_OK)
			return bfs_diag_chunk(why, err, n);
	}
	return BFS_OK;
}

/* Sizes that must be gathered chunk by chunk are left to the reader where
 * there are too many. */
static enum bfs_err check_sizes(struct bfs_array *array, struct bfs_diag *why)
{
	static const struct bfs_stream data = { BFS_STREAM_DATA, 0 };

	if (array->container->chunksize <= 0 &&
	    array->container->n_chunks > BFS_SCAN_CHUNKS)
		return BFS_OK;
	return bfs_array_ready(array, &data, why);
}

static bool find_stored(struct bfs_container *container, uint64_t *ret_n)
{
	uint64_t n_scan = bfs_min(container->n_chunks, FIRST_STORED);

	for (uint64_t n = 0; n < n_scan; n++) {
		struct bfs_span span;

		if (bfs_container_span(container, n, &span, NULL) != BFS_OK)
			continue;
		if (span.special == BFS_CHUNK_BLOCKS) {
			*ret_n = n;
			return true;
		}
	}
	return false;
}

/* The header of a chunk that has no plan, for its names alone. */
static void read_head(struct bfs_container *container, uint64_t n,
		      struct bfs_facts *facts)
{
	struct bfs_span span;

	facts->has_head =
		bfs_container_span(container, n, &span, NULL) == BFS_OK &&
		bfs_container_peek(container, &span, &facts->head, NULL) ==
			BFS_OK;
}

/* A chunk of streams whose codec is missing has a plan all the same. */
static enum bfs_err check_codec(const struct bfs_chunk *chunk,
				struct bfs_diag *why)
{
	char buf[24];

	if ((chunk->head.kind != BFS_CHUNK_BLOCKS &&
	     chunk->head.kind != BFS_CHUNK_VLBLOCKS) ||
	    (chunk->codec && chunk->codec->decode))
		return BFS_OK;
	return bfs_fail(why, BFS_ERR_UNSUPPORTED, 2,
			"codec %s is not in this program",
			bfs_codec_format_name(chunk->head.codec_format,
					      chunk->head.codec_id, buf));
}

static enum bfs_err check_first(struct bfs_array *array,
				struct bfs_facts *facts, struct bfs_diag *why)
{
	struct bfs_chunk *chunk;
	struct bfs_span span;
	enum bfs_err err;
	uint64_t n;

	if (!find_stored(array->container, &n))
		return BFS_OK;
	err = bfs_array_plan(array, n, &chunk, &span, why);
	if (err != BFS_OK) {
		read_head(array->container, n, facts);
		return bfs_diag_chunk(why, err, n);
	}
	facts->head = chunk->head;
	facts->has_head = true;
	err = check_codec(chunk, why);
	bfs_chunk_unref(chunk);
	return bfs_diag_chunk(why, err, n);
}

static enum bfs_err find_facts(struct bfs_array *array,
			       struct bfs_facts *ret_facts,
			       struct bfs_diag *diag)
{
	struct bfs_container *container = array->container;
	struct bfs_facts facts = { .status = container->status,
				   .why = container->why };
	struct bfs_diag why = { .chunk = -1 };
	enum bfs_err err = check_index(container, &why);

	/* A recipe holds no data that could be wrong. */
	if (container->kind == BFS_KIND_EXPRESSION && !bfs_err_passes(err)) {
		*ret_facts = facts;
		return BFS_OK;
	}
	if (err == BFS_OK)
		err = check_sizes(array, &why);
	if (!bfs_err_passes(err)) {
		struct bfs_diag first = { .chunk = -1 };
		enum bfs_err first_err = check_first(array, &facts, &first);

		if (err == BFS_OK || bfs_err_passes(first_err)) {
			err = first_err;
			why = first;
		}
	}
	if (bfs_err_passes(err)) {
		if (diag)
			*diag = why;
		return err;
	}
	if (err == BFS_OK)
		err = bfs_kind_check(container, &why);
	if (facts.status == BFS_GOOD && err != BFS_OK) {
		facts.status = status_of(err);
		facts.why = why;
	}
	*ret_facts = facts;
	return BFS_OK;
}

enum bfs_err bfs_file_judge(struct bfs_file *file,
			    const struct bfs_facts **ret_facts,
			    struct bfs_diag *diag)
{
	struct bfs_file_state *state = bfs_file_state(file);
	uint64_t mark = bfs_moment_mark();
	struct bfs_facts facts;
	enum bfs_err err;

	if (!bfs_flag_get(&state->judged)) {
		err = find_facts(file->array, &facts, diag);
		if (err == BFS_OK)
			err = bfs_source_check(file->array->container->source,
					       diag);
		BFS_TRY(bfs_moment_settle(mark, err, diag));
		pthread_mutex_lock(&file->lock);
		if (!state->judged) {
			state->facts = facts;
			bfs_flag_set(&state->judged);
		}
		pthread_mutex_unlock(&file->lock);
	}
	*ret_facts = &state->facts;
	return BFS_OK;
}

/* ---- the text -------------------------------------------------------- */

static void put_status(struct bfs_json *json, const struct bfs_facts *facts)
{
	static const char *const names[] = {
		[BFS_GOOD] = "good",
		[BFS_DAMAGED] = "damaged",
		[BFS_UNSUPPORTED] = "unsupported",
	};
	const struct bfs_diag *why = &facts->why;
	char text[BFS_DIAG_TEXT + 80];

	bfs_json_key(json, "status");
	bfs_json_string(json, names[facts->status]);
	if (facts->status == BFS_GOOD)
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
	uint32_t blocksize = container->blocksize;

	bfs_json_key(json, "nbytes");
	if (container->nbytes_known)
		bfs_json_u64(json, container->nbytes);
	else
		bfs_json_null(json);
	put_u64(json, "cbytes", container->cbytes);
	bfs_json_key(json, "ratio");
	if (container->nbytes_known && container->cbytes)
		bfs_json_double(json, (double)container->nbytes /
					      (double)container->cbytes);
	else
		bfs_json_null(json);
	put_u64(json, "nchunks", container->n_chunks);
	bfs_json_key(json, "chunksize");
	if (container->chunksize >= 0)
		bfs_json_i64(json, container->chunksize);
	else
		bfs_json_null(json);
	if (!blocksize && facts->has_head)
		blocksize = facts->head.blocksize;
	put_u64(json, "blocksize", blocksize);
	put_u64(json, "typesize", container->typesize);
	if (container->vlblocks) {
		bfs_json_key(json, "vlblocks");
		bfs_json_bool(json, true);
	}
}

/* Whether the first chunk's codec and filters are what its blocks need: a
 * chunk without streams only repeats what its writer had at hand. */
static bool head_counts(const struct bfs_facts *facts)
{
	return facts->has_head && (facts->head.kind == BFS_CHUNK_BLOCKS ||
				   facts->head.kind == BFS_CHUNK_VLBLOCKS);
}

/* LZ4 and LZ4HC are one format: there the frame tells more. */
static const char *codec_name(const struct bfs_container *container,
			      const struct bfs_facts *facts, char buf[24])
{
	const struct bfs_chunk_head *head = &facts->head;

	if (container->has_defaults &&
	    (!head_counts(facts) ||
	     (head->codec_format == 1 && container->codec == 2)))
		return bfs_codec_code_name(container->codec, buf);
	if (!facts->has_head)
		return NULL;
	return bfs_codec_format_name(head->codec_format, head->codec_id, buf);
}

static void put_codec(struct bfs_json *json,
		      const struct bfs_container *container,
		      const struct bfs_facts *facts)
{
	char buf[24];
	const char *name = codec_name(container, facts, buf);

	bfs_json_key(json, "codec");
	if (name)
		bfs_json_string(json, name);
	else
		bfs_json_null(json);
	bfs_json_key(json, "clevel");
	if (container->has_defaults)
		bfs_json_u64(json, container->clevel);
	else
		bfs_json_null(json);
}

static void put_filters(struct bfs_json *json,
			const struct bfs_container *container,
			const struct bfs_facts *facts)
{
	bool of_head = head_counts(facts) ||
		       (!container->has_defaults && facts->has_head);
	const uint8_t *ids = of_head ? facts->head.filters : container->filters;
	const uint8_t *metas =
		of_head ? facts->head.filters_meta : container->filters_meta;
	bool any_meta = false;
	char buf[24];

	bfs_json_key(json, "filters");
	bfs_json_array_inline(json);
	for (size_t i = 0; i < BFS_N_FILTER_SLOTS; i++) {
		if (!ids[i])
			continue;
		bfs_json_string(json, bfs_filter_name(ids[i], buf));
		any_meta = any_meta || metas[i];
	}
	bfs_json_array_end(json);
	if (!any_meta)
		return;
	bfs_json_key(json, "filters_meta");
	bfs_json_array_inline(json);
	for (size_t i = 0; i < BFS_N_FILTER_SLOTS; i++)
		if (ids[i])
			bfs_json_u64(json, metas[i]);
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

/* What Zarr can say matters where it is to be said. */
static bool shows_zarr(const struct bfs_file *file)
{
	for (size_t i = 0; i < bfs_n_views; i++)
		if (bfs_views[i] == &bfs_view_zarr)
			return file->views >> i & 1 && bfs_file_is_array(file);
	return false;
}

/* What data.bin holds; null where that is not known. */
static enum bfs_err put_size(struct bfs_json *json, struct bfs_file *file,
			     struct bfs_diag *diag)
{
	static const struct bfs_stream data = { BFS_STREAM_DATA, 0 };
	enum bfs_err err = BFS_ERR_LIMIT;
	uint64_t len;

	if (file->array->container->is_store ||
	    file->array->container->kind == BFS_KIND_EXPRESSION)
		return BFS_OK;
	if (file->array->container->chunksize > 0 ||
	    file->array->container->n_chunks <= BFS_SCAN_CHUNKS)
		err = bfs_array_len(file->array, &data, &len, diag);
	if (bfs_err_passes(err))
		return err;
	bfs_json_key(json, "size");
	if (err == BFS_OK)
		bfs_json_u64(json, len);
	else
		bfs_json_null(json);
	return BFS_OK;
}

static void put_fetched(struct bfs_json *json,
			const struct bfs_container *container)
{
	if (container->kind != BFS_KIND_PROXY)
		return;
	put_u64(json, "fetched", container->n_fetched);
	put_u64(json, "chunks", container->n_chunks);
}

static enum bfs_err make_info(struct bfs_file *file, char **ret_text,
			      size_t *ret_len, struct bfs_diag *diag)
{
	const struct bfs_container *container = file->array->container;
	const struct bfs_facts *facts;
	struct bfs_json json;
	enum bfs_err err;

	BFS_TRY(bfs_file_judge(file, &facts, diag));
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
	put_status(&json, facts);
	put_fetched(&json, container);
	err = put_size(&json, file, diag);
	if (err != BFS_OK) {
		bfs_json_release(&json);
		return err;
	}
	put_sizes(&json, container, facts);
	put_codec(&json, container, facts);
	put_filters(&json, container, facts);
	put_array(&json, &container->array);
	if (shows_zarr(file))
		bfs_zarr_note(file, &json);
	put_u64(&json, "metalayers", container->n_metas);
	put_u64(&json, "vlmetalayers", container->n_vlmetas);
	bfs_json_object_end(&json);
	err = bfs_json_finish(&json, ret_text, ret_len);
	bfs_json_release(&json);
	if (err != BFS_OK)
		return bfs_fail(diag, err, 0, "info.json cannot be made");
	return BFS_OK;
}

enum bfs_err bfs_info_text(struct bfs_file *file, const char **ret_text,
			   size_t *ret_len, struct bfs_diag *diag)
{
	return bfs_file_text(file, BFS_TEXT_INFO, make_info, ret_text, ret_len,
			     diag);
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
	if (bfs_info_text(file, &text, &len, NULL) == BFS_OK)
		bfs_text_stat(len, ret_attr);
}

static enum bfs_err info_open(struct bfs_file *file,
			      const struct bfs_node *node,
			      struct bfs_diag *diag)
{
	const char *text;
	size_t len;

	(void)node;
	return bfs_info_text(file, &text, &len, diag);
}

static enum bfs_err info_part(struct bfs_file *file,
			      const struct bfs_node *node, uint64_t off,
			      uint64_t len, struct bfs_part *ret_part,
			      struct bfs_diag *diag)
{
	const char *text;
	size_t text_len;

	(void)node;
	BFS_TRY(bfs_info_text(file, &text, &text_len, diag));
	if (off >= text_len)
		return bfs_fail(diag, BFS_ERR_RANGE, off,
				"beyond the end of info.json");
	ret_part->bytes = text + off;
	ret_part->len = bfs_min(len, text_len - off);
	return BFS_OK;
}

const struct bfs_view bfs_view_info = {
	.name = "info",
	.on = true,
	.in_stores = true,
	.roots = info_roots,
	.stat = info_stat,
	.open = info_open,
	.part = info_part,
};
