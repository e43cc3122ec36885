/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * index.c - entries of a frame's index, out of its decoded blocks.
 *
 * A repeated-value index (a frame of zeros: 2^28 entries in 40 bytes) stays
 * symbolic. Others are read through the cache, block by block.
 */
#include "container/index.h"

#include "base/bytes.h"
#include "base/call.h"
#include "base/mem.h"
#include "container/blocks.h"

#include <inttypes.h>

#define MAX_BLOCK (UINT32_C(8) << 20)
#define SCAN_LEN UINT32_C(4096)

struct bfs_index {
	uint64_t off;			/* of its chunk in the source */
	const struct bfs_chunk *chunk;	/* the blocks' own */
	struct bfs_blocks *blocks;
};

static enum bfs_err check_entries(const struct bfs_chunk_head *h,
				  struct bfs_diag *diag)
{
	if (h->nbytes % 8 != 0)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 4,
				"an index of %" PRIu32 " bytes has no whole "
				"number of entries", h->nbytes);
	if (h->kind == BFS_CHUNK_VALUE && h->value_len != 8)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 12,
				"an index repeats a value of %" PRIu32 " bytes",
				h->value_len);
	/* A block is decoded whole for one entry: a few bytes must not
	 * become half a gibibyte. Bytes that are stored back themselves. */
	if (h->kind != BFS_CHUNK_RAW && h->kind != BFS_CHUNK_VALUE &&
	    bfs_min(h->blocksize ? h->blocksize : h->nbytes, h->nbytes) >
	    MAX_BLOCK)
		return bfs_fail(diag, BFS_ERR_LIMIT, 8,
				"an index in blocks of %" PRIu32 " bytes",
				h->blocksize);
	return BFS_OK;
}

/* What later blocks are decoded with is tried at once, so that the container
 * is known to be damaged where that fails. */
static enum bfs_err try_first(struct bfs_index *x, struct bfs_diag *diag)
{
	struct bfs_cache_pin pin;

	if (!x->chunk->needs_ref || x->chunk->head.n_blocks <= 1)
		return BFS_OK;
	BFS_TRY(bfs_blocks_pin(x->blocks, 0, &pin, diag));
	bfs_blocks_unpin(x->blocks, &pin);
	return BFS_OK;
}

static enum bfs_err open_blocks(struct bfs_index *x, struct bfs_cache *cache,
				struct bfs_source *source, uint64_t avail,
				struct bfs_diag *diag)
{
	static const struct bfs_codec_env env = { .typesize = 8 };
	struct bfs_chunk *chunk;
	enum bfs_err err;

	BFS_TRY(bfs_diag_shift(diag, bfs_chunk_open(source, x->off, avail,
						    UINT32_MAX, &env, &chunk,
						    diag), x->off));
	err = bfs_diag_shift(diag, check_entries(&chunk->head, diag), x->off);
	if (err != BFS_OK) {
		bfs_chunk_unref(chunk);
		return err;
	}
	BFS_TRY(bfs_blocks_new(cache, source, x->off, chunk, &x->blocks,
			       diag));
	x->chunk = chunk;
	return try_first(x, diag);
}

enum bfs_err bfs_index_open(struct bfs_cache *cache, struct bfs_source *source,
			    uint64_t off, uint64_t avail,
			    struct bfs_index **ret_index, uint64_t *ret_n,
			    struct bfs_diag *diag)
{
	struct bfs_index *x = bfs_zalloc(1, sizeof(*x));
	enum bfs_err err;

	if (!x)
		return bfs_fail(diag, BFS_ERR_NOMEM, off,
				"no memory for the index");
	x->off = off;
	err = open_blocks(x, cache, source, avail, diag);
	if (err != BFS_OK) {
		bfs_index_close(x);
		return err;
	}
	*ret_n = x->chunk->head.nbytes / 8;
	*ret_index = x;
	return BFS_OK;
}

void bfs_index_close(struct bfs_index *x)
{
	if (!x)
		return;
	bfs_blocks_free(x->blocks);
	bfs_free(x);
}

static enum bfs_err copy_block(struct bfs_index *x, uint32_t k, uint32_t at,
			       uint8_t *dst, uint32_t len,
			       struct bfs_diag *diag)
{
	struct bfs_cache_pin pin;

	BFS_TRY(bfs_blocks_pin(x->blocks, k, &pin, diag));
	memcpy(dst, pin.data + at, len);
	bfs_blocks_unpin(x->blocks, &pin);
	return BFS_OK;
}

/* Decoded bytes [pos, pos + len) of the index, across blocks. */
static enum bfs_err copy_range(struct bfs_index *x, uint32_t pos, uint8_t *dst,
			       uint32_t len, struct bfs_diag *diag)
{
	const struct bfs_chunk *c = x->chunk;

	BFS_TRY(bfs_call_check(diag));
	while (len > 0) {
		uint32_t k = bfs_chunk_block_at(c, pos);
		uint32_t at = pos - bfs_chunk_block_off(c, k);
		uint32_t part = (uint32_t)bfs_min(
			len, bfs_chunk_block_len(c, k) - at);

		BFS_TRY(copy_block(x, k, at, dst, part, diag));
		pos += part;
		dst += part;
		len -= part;
	}
	return BFS_OK;
}

enum bfs_err bfs_index_get(struct bfs_index *x, uint64_t n, int64_t *ret_entry,
			   struct bfs_diag *diag)
{
	const struct bfs_chunk *c = x->chunk;
	uint32_t pos = (uint32_t)(n * 8);
	uint8_t word[8];

	if (n >= c->head.nbytes / 8)
		return bfs_fail(diag, BFS_ERR_RANGE, x->off,
				"the index has no entry %" PRIu64, n);
	if (c->head.kind == BFS_CHUNK_VALUE) {
		*ret_entry = (int64_t)bfs_le64(c->value);
		return BFS_OK;
	}
	BFS_TRY(copy_range(x, pos, word, 8, diag));
	*ret_entry = (int64_t)bfs_le64(word);
	return BFS_OK;
}

enum bfs_err bfs_index_window(struct bfs_index *x, uint64_t n, uint64_t most,
			      uint8_t *buf, uint64_t *ret_n, bool *ret_same,
			      struct bfs_diag *diag)
{
	const struct bfs_chunk *c = x->chunk;
	uint64_t left = c->head.nbytes / 8, last;

	if (n >= left)
		return bfs_fail(diag, BFS_ERR_RANGE, x->off,
				"the index has no entry %" PRIu64, n);
	*ret_same = c->head.kind == BFS_CHUNK_VALUE ||
		    c->head.kind == BFS_CHUNK_ZEROS;
	if (*ret_same) {
		if (c->head.kind == BFS_CHUNK_VALUE)
			memcpy(buf, c->value, 8);
		else
			memset(buf, 0, 8);
		*ret_n = bfs_min(most, left - n);
		return BFS_OK;
	}
	last = bfs_min(bfs_index_next_block(x, n), n + BFS_INDEX_WINDOW / 8);
	last = bfs_min(last, n + bfs_min(most, left - n));
	BFS_TRY(copy_range(x, (uint32_t)(n * 8), buf,
			   (uint32_t)(8 * (last - n)), diag));
	*ret_n = last - n;
	return BFS_OK;
}

uint64_t bfs_index_next_block(const struct bfs_index *x, uint64_t n)
{
	const struct bfs_chunk *c = x->chunk;
	uint32_t k;

	if (c->head.kind == BFS_CHUNK_VALUE)
		return c->head.nbytes / 8;
	k = bfs_chunk_block_at(c, (uint32_t)(n * 8));
	/* An entry may reach over the end of its block. */
	return bfs_max(n + 1, (bfs_chunk_block_off(c, k) +
			       (uint64_t)bfs_chunk_block_len(c, k)) / 8);
}

enum bfs_err bfs_index_digest(struct bfs_index *x, uint64_t n,
			      uint64_t *ret_digest, struct bfs_diag *diag)
{
	uint64_t left = n * 8, digest = n;
	uint8_t part[SCAN_LEN];
	uint32_t pos = 0, len, i;

	if (n > x->chunk->head.nbytes / 8)
		return bfs_fail(diag, BFS_ERR_RANGE, x->off,
				"the index has no %" PRIu64 " entries", n);
	if (x->chunk->head.kind == BFS_CHUNK_VALUE)
		for (i = 0; i < SCAN_LEN; i += 8)
			memcpy(part + i, x->chunk->value, 8);
	for (; left > 0; left -= len, pos += len) {
		len = (uint32_t)bfs_min(SCAN_LEN, left);
		if (x->chunk->head.kind != BFS_CHUNK_VALUE)
			BFS_TRY(copy_range(x, pos, part, len, diag));
		digest = bfs_hash(part, len, digest);
	}
	*ret_digest = digest;
	return BFS_OK;
}

uint32_t bfs_index_cbytes(const struct bfs_index *x)
{
	return x->chunk->head.cbytes;
}

enum bfs_err bfs_index_decode(int64_t entry, struct bfs_span *span,
			      struct bfs_diag *diag)
{
	span->special = BFS_CHUNK_BLOCKS;
	if (entry >= 0) {
		span->off = (uint64_t)entry;
		return BFS_OK;
	}
	switch ((uint64_t)entry) {
	case UINT64_C(0x81) << 56:
		span->special = BFS_CHUNK_ZEROS;
		return BFS_OK;
	case UINT64_C(0x82) << 56:
		span->special = BFS_CHUNK_NAN;
		return BFS_OK;
	case UINT64_C(0x84) << 56:
		span->special = BFS_CHUNK_UNINIT;
		return BFS_OK;
	default:
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"its index entry is %016" PRIx64,
				(uint64_t)entry);
	}
}

