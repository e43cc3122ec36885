/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy.c - a range of one chunk, copied out of its blocks. Zeros are written
 * without a block behind them.
 */
#include "array/priv.h"

#include "base/bytes.h"

#include <inttypes.h>

/* Blocks that are pinned at once to be copied. */
#define COPY_LEN (UINT64_C(4) << 20)

/* How many blocks from k on to pin at once: of large ones a single one. */
static size_t count_copied(const struct bfs_chunk *c, uint32_t k,
			   uint32_t last)
{
	uint64_t most = COPY_LEN / bfs_max(1, bfs_chunk_block_len(c, k));

	most = bfs_min(bfs_max(most, 1), BFS_FETCH_MAX);
	return (size_t)bfs_min(most, last - k + 1);
}

/* Copies [pos, pos + len) of one chunk to dst. */
static enum bfs_err copy_blocks(struct bfs_array *a, uint64_t id,
				const struct bfs_plan *plan, uint32_t pos,
				uint8_t *dst, size_t len,
				struct bfs_diag *diag)
{
	const struct bfs_chunk *c = plan->chunk;
	struct bfs_cache_pin pins[BFS_FETCH_MAX];
	uint32_t blocks[BFS_FETCH_MAX];
	uint32_t k = bfs_chunk_block_at(c, pos);
	uint32_t last = bfs_chunk_block_at(c, pos + (uint32_t)len - 1);
	size_t n, i;

	for (; k <= last; k += (uint32_t)n) {
		n = count_copied(c, k, last);
		for (i = 0; i < n; i++)
			blocks[i] = k + (uint32_t)i;
		BFS_TRY(bfs_array_fetch(a, id, plan, blocks, n, pins, diag));
		for (i = 0; i < n; i++) {
			uint32_t at = pos - bfs_chunk_block_off(c, blocks[i]);
			size_t part = (size_t)bfs_min(len, pins[i].len - at);

			BFS_CHECK(at < pins[i].len);
			memcpy(dst, pins[i].data + at, part);
			bfs_cache_unpin(a->engine->cache, &pins[i], false);
			dst += part;
			pos += (uint32_t)part;
			len -= part;
		}
	}
	return BFS_OK;
}

enum bfs_err bfs_array_copy(struct bfs_array *a, uint64_t id, uint32_t pos,
			    uint8_t *dst, size_t len, struct bfs_diag *diag)
{
	struct bfs_plan plan;
	enum bfs_err err = BFS_OK;

	BFS_TRY(bfs_array_find_plan(a, id, &plan, diag));
	if (!bfs_inside(pos, len, plan.chunk->head.nbytes))
		err = bfs_fail(diag, BFS_ERR_CORRUPT, plan.span.off,
			       "the chunk has %" PRIu32 " bytes, fewer than "
			       "expected", plan.chunk->head.nbytes);
	else if (bfs_array_is_zero(plan.chunk))
		memset(dst, 0, len);
	else
		err = copy_blocks(a, id, &plan, pos, dst, len, diag);
	bfs_chunk_unref(plan.chunk);
	return err;
}
