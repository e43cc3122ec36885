/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core.c - a shared object with one symbol, so that a measuring program of
 * anybody's can time this library's decoder in its own rounds.
 *
 * In: a chunk in memory; out: its bytes, block by block, as a mount decodes
 * them: planned by bfs_chunk_open, then bfs_chunk_decode with working memory
 * that each thread keeps.
 */
#include "chunk/plan.h"

__attribute__((visibility("default")))
int bench_decode(const void *chunk, int32_t size, void *dest, int32_t destsize);

static _Thread_local struct bfs_scratch *scratch;

static enum bfs_err decode_blocks(const struct bfs_chunk *c,
				  const uint8_t *bytes, uint8_t *dest)
{
	uint32_t k, off, len;

	for (k = 0; k < c->head.n_blocks; k++) {
		BFS_TRY(bfs_scratch_fit(scratch, c,
					bfs_chunk_block_len(c, k)));
		bfs_chunk_block_span(c, k, &off, &len);
		BFS_TRY(bfs_chunk_decode(c, k, bytes + off, len, dest,
					 dest + bfs_chunk_block_off(c, k),
					 scratch, NULL));
	}
	return BFS_OK;
}

/* The bytes written, or -1. The thread's working memory stays until the
 * process ends. */
int bench_decode(const void *chunk, int32_t size, void *dest, int32_t destsize)
{
	const struct bfs_codec_env env = { 0 };
	struct bfs_source *source;
	struct bfs_chunk *c;
	int n = -1;

	if (size < 0 || destsize < 0)
		return -1;
	if (!scratch)
		scratch = bfs_scratch_new();
	if (!scratch || bfs_source_memory(chunk, (size_t)size, false, &source,
					  NULL) != BFS_OK)
		return -1;
	if (bfs_chunk_open(source, 0, (uint64_t)size, UINT32_MAX, &env, &c,
			   NULL) == BFS_OK) {
		if (c->head.nbytes <= (uint32_t)destsize &&
		    decode_blocks(c, chunk, dest) == BFS_OK)
			n = (int)c->head.nbytes;
		bfs_chunk_unref(c);
	}
	bfs_source_unref(source);
	return n;
}
