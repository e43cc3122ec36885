/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * streams.c - bstarts against the streams that it leads to.
 *
 * Decoding finds a stream that reaches into the next block, and not what stands
 * between the last stream of a block and where the next one begins: it is not
 * read. No writer leaves anything there, and none has two blocks share streams.
 */
#include "container/streams.h"

#include "base/bytes.h"
#include "base/call.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>

/* Bytes of a chunk that no stream takes; at: in the chunk. */
struct unnamed {
	uint64_t len, at;
};

static void add_unnamed(struct unnamed *u, uint64_t from, uint64_t to)
{
	if (to <= from)
		return;
	if (u->len == 0 || from < u->at)
		u->at = from;
	u->len += to - from;
}

/* Where the n streams of a block end that begins at `at`, no farther than
 * `end`; of an unknown number (0) all that fit. */
static enum bfs_err find_end(struct bfs_source *source, uint64_t off,
			     uint64_t at, uint64_t end, uint32_t n,
			     uint64_t *ret_end, struct bfs_diag *diag)
{
	uint64_t i;

	for (i = 0; (n == 0 || i < n) && bfs_inside(at, 4, end); i++) {
		uint8_t word[4];
		int32_t len;

		if (i % 1024 == 1023)
			BFS_TRY(bfs_call_check(diag));
		BFS_TRY(bfs_source_read(source, off + at, word, 4, diag));
		len = (int32_t)bfs_le32(word);
		at += 4 + (len > 0 ? (uint64_t)len : len < 0);
	}
	*ret_end = bfs_min(at, end);
	return BFS_OK;
}

static enum bfs_err look_at_blocks(const struct bfs_chunk *c,
				   struct bfs_source *source, uint64_t off,
				   struct unnamed *u, struct bfs_diag *diag)
{
	uint64_t first = c->head.cbytes, tables, end;
	uint32_t k;

	for (k = 0; k < c->head.n_blocks; k++) {
		uint64_t at = c->starts[k], next = at + c->spans[k];

		if (c->spans[k] == 0)
			continue;	/* told by who decodes it */
		first = bfs_min(first, at);
		BFS_TRY(find_end(source, off, at, next,
				 bfs_chunk_n_streams(c, k), &end, diag));
		add_unnamed(u, end, next);
	}
	tables = c->head.header_len + 4 * (uint64_t)c->head.n_blocks;
	if (c->dict_len)
		tables += 4 + (uint64_t)c->dict_len;
	add_unnamed(u, tables, first);
	return BFS_OK;
}

static int compare_starts(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Whether two blocks begin at the same byte of the chunk. */
static enum bfs_err find_shared(const struct bfs_chunk *c, bool *ret_shared,
				uint32_t *ret_at, struct bfs_diag *diag)
{
	BFS_CLEANUP(bfs_freep) uint32_t *sorted = NULL;
	uint32_t n = c->head.n_blocks, k;
	bool ascending = true;

	*ret_shared = false;
	for (k = 1; k < n && ascending; k++)
		ascending = c->starts[k - 1] < c->starts[k];
	if (ascending)
		return BFS_OK;
	sorted = bfs_alloc(n * sizeof(*sorted));
	if (!sorted)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	memcpy(sorted, c->starts, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_starts);
	for (k = 1; k < n && !*ret_shared; k++)
		if (sorted[k - 1] == sorted[k]) {
			*ret_shared = true;
			*ret_at = sorted[k];
		}
	return BFS_OK;
}

static enum bfs_err look_at(const struct bfs_chunk *c,
			    struct bfs_source *source, uint64_t off,
			    struct bfs_streams *streams, struct bfs_diag *diag)
{
	struct unnamed u = { 0 };
	uint32_t at = 0;

	BFS_TRY(find_shared(c, &streams->shared, &at, diag));
	if (!streams->shared)
		BFS_TRY(look_at_blocks(c, source, off, &u, diag));
	streams->unnamed = u.len;
	streams->at = off + at + u.at;
	return BFS_OK;
}

enum bfs_err bfs_streams_look(struct bfs_source *source,
			      const struct bfs_span *span,
			      const struct bfs_codec_env *env,
			      struct bfs_streams *ret_streams,
			      struct bfs_diag *diag)
{
	struct bfs_streams streams = { 0 };
	struct bfs_chunk *chunk;
	enum bfs_err err;

	*ret_streams = streams;
	err = bfs_chunk_open(source, span->off, span->avail, span->nbytes, env,
			     &chunk, diag);
	if (err != BFS_OK)
		return bfs_err_passes(err) ? err : BFS_OK;
	if (chunk->head.kind == BFS_CHUNK_BLOCKS)
		err = look_at(chunk, source, span->off, &streams, diag);
	bfs_chunk_unref(chunk);
	if (err != BFS_OK)
		return bfs_err_passes(err) ? err : BFS_OK;
	*ret_streams = streams;
	return BFS_OK;
}
