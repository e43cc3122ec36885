/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * facts.c - the verdict that the whole library gives about an opened
 * container, and the facts that info.json and the public interface tell.
 *
 * From headers and the index alone. What a chunk's header says goes before
 * the container's defaults.
 */
#include "view/facts.h"

#include "container/kind.h"
#include "base/bytes.h"
#include "base/moment.h"
#include "view/kept.h"

#include <stdio.h>

#define FIRST_STORED 64		/* entries to find a stored chunk in */
/* The most entries of an index that are looked at to judge a container. */
#define SCAN_CHUNKS UINT64_C(65536)

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
	uint64_t n_scan = bfs_min(container->n_chunks, SCAN_CHUNKS);

	for (uint64_t n = 0; n < n_scan; n++) {
		struct bfs_span span;
		enum bfs_err err = bfs_container_span(container, n, &span, why);

		if (err != BFS_OK)
			return bfs_diag_chunk(why, err, n);
	}
	return BFS_OK;
}

/* Where the container tells no chunk size, sizes are gathered from each chunk:
 * not here where there are too many, but when the data are read. */
static enum bfs_err check_sizes(struct bfs_array *array, struct bfs_diag *why)
{
	static const struct bfs_stream data = { BFS_STREAM_DATA, 0 };

	if (array->container->chunksize <= 0 &&
	    array->container->n_chunks > SCAN_CHUNKS)
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

/* Reads the header of a chunk whose plan could not be made, so that codec and
 * filters can be named all the same. */
static void read_head(struct bfs_container *container, uint64_t n,
		      struct bfs_verdict *verdict)
{
	struct bfs_span span;

	verdict->has_head =
		bfs_container_span(container, n, &span, NULL) == BFS_OK &&
		bfs_container_peek(container, &span, &verdict->head, NULL) ==
			BFS_OK;
}

/* A plan is made for a chunk whose codec this program lacks, too: so the codec
 * is looked for here. */
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
				struct bfs_verdict *verdict,
				struct bfs_diag *why)
{
	struct bfs_chunk *chunk;
	struct bfs_span span;
	enum bfs_err err;
	uint64_t n;

	if (!find_stored(array->container, &n))
		return BFS_OK;
	err = bfs_array_plan(array, n, &chunk, &span, why);
	if (err != BFS_OK) {
		read_head(array->container, n, verdict);
		return bfs_diag_chunk(why, err, n);
	}
	verdict->head = chunk->head;
	verdict->has_head = true;
	err = check_codec(chunk, why);
	bfs_chunk_unref(chunk);
	return bfs_diag_chunk(why, err, n);
}

static enum bfs_err find_verdict(struct bfs_array *array,
				 struct bfs_verdict *ret_verdict,
				 struct bfs_diag *diag)
{
	struct bfs_container *container = array->container;
	struct bfs_verdict verdict = { .status = container->status,
				   .why = container->why };
	struct bfs_diag why = { .chunk = -1 };
	enum bfs_err err = check_index(container, &why);

	/* An expression holds no data that could be wrong. */
	if (container->kind == BFS_KIND_EXPRESSION && !bfs_err_passes(err)) {
		*ret_verdict = verdict;
		return BFS_OK;
	}
	if (err == BFS_OK)
		err = check_sizes(array, &why);
	if (!bfs_err_passes(err)) {
		struct bfs_diag first = { .chunk = -1 };
		enum bfs_err first_err = check_first(array, &verdict, &first);

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
	if (verdict.status == BFS_GOOD && err != BFS_OK) {
		verdict.status = status_of(err);
		verdict.why = why;
	}
	*ret_verdict = verdict;
	return BFS_OK;
}

enum bfs_err bfs_file_judge(struct bfs_file *file,
			    const struct bfs_verdict **ret_verdict,
			    struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	struct bfs_verdict verdict;
	enum bfs_err err;

	if (!bfs_kept_has(&file->judged)) {
		err = find_verdict(file->array, &verdict, diag);
		if (err == BFS_OK)
			err = bfs_source_check(file->array->container->source,
					       diag);
		BFS_TRY(bfs_moment_settle(mark, err, diag));
		bfs_kept_publish(file, &file->judged, &file->verdict,
				 &verdict, sizeof(verdict));
	}
	*ret_verdict = &file->verdict;
	return BFS_OK;
}

/* ---- facts ----------------------------------------------------------- */

/* Whether the first chunk's codec and filters are what its blocks need: a
 * chunk without streams only repeats what its writer had at hand. */
static bool head_counts(const struct bfs_verdict *verdict)
{
	return verdict->has_head && (verdict->head.kind == BFS_CHUNK_BLOCKS ||
				   verdict->head.kind == BFS_CHUNK_VLBLOCKS);
}

/* LZ4 and LZ4HC write the same format, which is all that a chunk's header
 * names: which of them it was the container's defaults tell. */
static const char *codec_name(const struct bfs_container *container,
			      const struct bfs_verdict *verdict,
			      char buf[BFS_FACT_NAME])
{
	const struct bfs_chunk_head *head = &verdict->head;

	if (container->has_defaults &&
	    (!head_counts(verdict) ||
	     (head->codec_format == 1 && container->codec == 2)))
		return bfs_codec_code_name(container->codec, buf);
	if (!verdict->has_head)
		return NULL;
	return bfs_codec_format_name(head->codec_format, head->codec_id, buf);
}

static void name_filters(const struct bfs_container *container,
			 const struct bfs_verdict *verdict,
			 struct bfs_facts *facts)
{
	bool of_head = head_counts(verdict) ||
		       (!container->has_defaults && verdict->has_head);
	const uint8_t *ids =
		of_head ? verdict->head.filters : container->filters;
	const uint8_t *metas =
		of_head ? verdict->head.filters_meta : container->filters_meta;

	for (size_t i = 0; i < BFS_N_FILTER_SLOTS; i++) {
		struct bfs_filter_fact *fact;
		char buf[BFS_FACT_NAME];

		if (!ids[i])
			continue;
		fact = &facts->filters[facts->n_filters++];
		snprintf(fact->name, sizeof(fact->name), "%s",
			 bfs_filter_name(ids[i], buf));
		fact->id = ids[i];
		fact->meta = metas[i];
	}
}

/* Not known as well where too many sizes would have to be gathered for it. */
static enum bfs_err find_data_len(struct bfs_file *file,
				  struct bfs_facts *facts,
				  struct bfs_diag *diag)
{
	static const struct bfs_stream data = { BFS_STREAM_DATA, 0 };
	const struct bfs_container *container = file->array->container;
	enum bfs_err err = BFS_ERR_LIMIT;
	uint64_t len;

	if (container->is_store || container->kind == BFS_KIND_EXPRESSION)
		return BFS_OK;
	if (container->chunksize > 0 || container->n_chunks <= SCAN_CHUNKS)
		err = bfs_array_len(file->array, &data, &len, diag);
	if (bfs_err_passes(err))
		return err;
	if (err == BFS_OK)
		facts->data_len = len;
	return BFS_OK;
}

enum bfs_err bfs_file_find_facts(struct bfs_file *file,
				 struct bfs_facts *ret_facts,
				 struct bfs_diag *diag)
{
	const struct bfs_container *container = file->array->container;
	struct bfs_facts facts = { .data_len = BFS_NOT_KNOWN,
				   .nbytes = BFS_NOT_KNOWN, .clevel = -1 };
	char buf[BFS_FACT_NAME];
	const char *codec;

	BFS_TRY(bfs_file_judge(file, &facts.verdict, diag));
	BFS_TRY(find_data_len(file, &facts, diag));
	if (container->nbytes_known)
		facts.nbytes = container->nbytes;
	facts.blocksize = container->blocksize;
	if (!facts.blocksize && facts.verdict->has_head)
		facts.blocksize = facts.verdict->head.blocksize;
	codec = codec_name(container, facts.verdict, buf);
	if (codec)
		snprintf(facts.codec, sizeof(facts.codec), "%s", codec);
	if (container->has_defaults)
		facts.clevel = (int)container->clevel;
	name_filters(container, facts.verdict, &facts);
	*ret_facts = facts;
	return BFS_OK;
}
