/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decode.h - for tests: one chunk in memory through the library, whole or
 * block by block, with every buffer exactly as long as it must be, so that
 * the sanitizers see each byte read or written too many.
 */
#ifndef DECODE_H
#define DECODE_H

#include "chunk/plan.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Tests do not decode more than this; above, decode_chunk gives LIMIT. */
#define DECODE_MAX ((uint32_t)64 << 20)

static inline void *decode_alloc(size_t len)
{
	void *p = malloc(len ? len : 1);

	if (!p)
		abort();
	return p;
}

/* Opens the chunk at the beginning of len bytes. The source lives as long as
 * *ret_source is not unreferenced. */
static inline enum bfs_err decode_open(const uint8_t *p, size_t len,
				       uint32_t frame_typesize,
				       struct bfs_source **ret_source,
				       struct bfs_chunk **ret_chunk,
				       struct bfs_diag *diag)
{
	struct bfs_codec_env env = { .typesize = frame_typesize };
	struct bfs_source *source;
	enum bfs_err err;

	BFS_TRY(bfs_source_memory(p, len, false, &source, diag));
	err = bfs_chunk_open(source, 0, len, UINT32_MAX, &env, ret_chunk,
			     diag);
	if (err != BFS_OK) {
		bfs_source_unref(source);
		return err;
	}
	*ret_source = source;
	return BFS_OK;
}

/* Decodes all of it into *ret_data (free with free). */
static inline enum bfs_err decode_chunk(const uint8_t *p, size_t len,
					uint32_t frame_typesize,
					uint8_t **ret_data, size_t *ret_len,
					struct bfs_diag *diag)
{
	struct bfs_scratch *scratch;
	struct bfs_source *source;
	struct bfs_chunk *chunk;
	enum bfs_err err;
	uint8_t *data;

	BFS_TRY(decode_open(p, len, frame_typesize, &source, &chunk, diag));
	if (chunk->head.nbytes > DECODE_MAX) {
		bfs_chunk_unref(chunk);
		bfs_source_unref(source);
		return bfs_fail(diag, BFS_ERR_LIMIT, 4, "too big for a test");
	}
	data = decode_alloc(chunk->head.nbytes);
	memset(data, 0xa5, chunk->head.nbytes);
	scratch = bfs_scratch_new();
	if (scratch)
		err = bfs_chunk_read_all(chunk, source, 0, data, scratch,
					 diag);
	else
		err = bfs_fail(diag, BFS_ERR_NOMEM, 0, "no scratch");
	bfs_scratch_free(scratch);
	if (err == BFS_OK) {
		*ret_data = data;
		*ret_len = chunk->head.nbytes;
	} else {
		free(data);
	}
	bfs_chunk_unref(chunk);
	bfs_source_unref(source);
	return err;
}

/* Decodes block k alone out of a copy of its own bytes; what was in the
 * destination before is `fill`. p is the whole chunk. */
static inline enum bfs_err decode_block(const struct bfs_chunk *chunk,
					const uint8_t *p, uint32_t k,
					const uint8_t *ref, uint8_t fill,
					uint8_t **ret_data,
					struct bfs_diag *diag)
{
	uint32_t off, in_len, len = bfs_chunk_block_len(chunk, k);
	struct bfs_scratch *scratch = bfs_scratch_new();
	uint8_t *in, *data = decode_alloc(len);
	enum bfs_err err;

	bfs_chunk_block_span(chunk, k, &off, &in_len);
	in = decode_alloc(in_len);
	if (in_len)
		memcpy(in, p + off, in_len);
	memset(data, fill, len);
	if (!scratch || bfs_scratch_fit(scratch, chunk, len) != BFS_OK)
		abort();
	for (unsigned i = 0; i < scratch->n_bufs; i++)
		memset(scratch->buf[i], fill, scratch->buf_len);
	err = bfs_chunk_decode(chunk, k, in, in_len, ref, data, scratch, diag);
	bfs_scratch_free(scratch);
	free(in);
	if (err != BFS_OK) {
		free(data);
		return err;
	}
	*ret_data = data;
	return BFS_OK;
}

#endif
