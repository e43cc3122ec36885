/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks.c - blocks of an index or a delta reference, through the cache.
 *
 * They have a generation of their own in the cache, so that they share its
 * budget with data blocks and leave it as these do.
 */
#include "container/blocks.h"

#include "base/bytes.h"
#include "base/call.h"
#include "base/mem.h"

#include <inttypes.h>

/* The budget of blocks without a cache to share, in bytes. */
#define OWN_CACHE (UINT64_C(4) << 20)

struct bfs_blocks {
	struct bfs_cache *cache;
	struct bfs_cache *own;		/* the same, if nobody shared one */
	uint64_t gen;			/* of the blocks in the cache */
	struct bfs_source *source;
	uint64_t off;			/* of the chunk in source */
	struct bfs_chunk *chunk;
};

static enum bfs_err no_memory(const struct bfs_blocks *b,
			      struct bfs_diag *diag)
{
	return bfs_fail(diag, BFS_ERR_NOMEM, b->off, "no memory for a block");
}

enum bfs_err bfs_blocks_new(struct bfs_cache *cache, struct bfs_source *source,
			    uint64_t off, struct bfs_chunk *chunk,
			    struct bfs_blocks **ret_blocks,
			    struct bfs_diag *diag)
{
	struct bfs_blocks *b = bfs_zalloc(1, sizeof(*b));
	struct bfs_cache *own = NULL;

	if (!b || (!cache && bfs_cache_new(OWN_CACHE, &own) != BFS_OK)) {
		bfs_free(b);
		bfs_chunk_unref(chunk);
		return bfs_fail(diag, BFS_ERR_NOMEM, off, "no memory");
	}
	b->own = own;
	b->cache = cache ? cache : own;
	b->gen = bfs_cache_new_gen(b->cache);
	b->source = bfs_source_ref(source);
	b->off = off;
	b->chunk = chunk;
	*ret_blocks = b;
	return BFS_OK;
}

void bfs_blocks_free(struct bfs_blocks *b)
{
	if (!b)
		return;
	bfs_cache_drop(b->cache, b->gen);
	bfs_cache_free(b->own);
	bfs_chunk_unref(b->chunk);
	bfs_source_unref(b->source);
	bfs_free(b);
}

const struct bfs_chunk *bfs_blocks_chunk(const struct bfs_blocks *b)
{
	return b->chunk;
}

static enum bfs_err read_and_decode(struct bfs_blocks *b, uint32_t k,
				    const uint8_t *ref,
				    const struct bfs_cache_pin *pin,
				    struct bfs_scratch *scratch,
				    struct bfs_diag *diag)
{
	uint32_t at, len;

	bfs_chunk_block_span(b->chunk, k, &at, &len);
	if (bfs_scratch_fit(scratch, b->chunk, pin->len) ||
	    bfs_scratch_fit_in(scratch, len))
		return no_memory(b, diag);
	if (len > 0)
		BFS_TRY(bfs_source_read(b->source, b->off + at, scratch->in,
					len, diag));
	/* What is kept must be of the file that was opened. */
	BFS_TRY(bfs_source_check(b->source, diag));
	return bfs_diag_shift(diag, bfs_chunk_decode(b->chunk, k, scratch->in,
						     len, ref, pin->data,
						     scratch, diag), b->off);
}

/* Fills a claimed block; the claim becomes a pin, or is given up. */
static enum bfs_err fill(struct bfs_blocks *b, uint32_t k, const uint8_t *ref,
			 struct bfs_cache_pin *pin, struct bfs_diag *diag)
{
	struct bfs_scratch *scratch = bfs_scratch_new();
	struct bfs_diag why;
	enum bfs_err err;

	err = scratch ? read_and_decode(b, k, ref, pin, scratch, &why) :
			no_memory(b, &why);
	bfs_scratch_free(scratch);
	if (err == BFS_OK) {
		bfs_cache_commit(b->cache, pin);
		return BFS_OK;
	}
	bfs_cache_abandon(b->cache, pin, err, &why);
	if (diag)
		*diag = why;
	return err;
}

/* Fails before a block is claimed or waited for that the call may not
 * decode. */
static enum bfs_err check_price(struct bfs_blocks *b,
				const struct bfs_cache_key *key, uint32_t len,
				struct bfs_diag *diag)
{
	if (BFS_LIKELY(bfs_call_affords(len)) || bfs_cache_has(b->cache, key))
		return BFS_OK;
	return bfs_call_spend(len, "decoding a block", diag);
}

static enum bfs_err pin_block(struct bfs_blocks *b, uint32_t k,
			      const uint8_t *ref, struct bfs_cache_pin *ret_pin,
			      struct bfs_diag *diag)
{
	const struct bfs_cache_key key = { b->gen, 0, k };
	uint32_t len = bfs_chunk_block_len(b->chunk, k);
	enum bfs_cache_state state;

	BFS_TRY(check_price(b, &key, len, diag));
	BFS_TRY(bfs_cache_get(b->cache, &key, len, &state, ret_pin, diag));
	return state == BFS_CACHE_HIT ? BFS_OK :
					fill(b, k, ref, ret_pin, diag);
}

enum bfs_err bfs_blocks_pin(struct bfs_blocks *b, uint32_t k,
			    struct bfs_cache_pin *ret_pin,
			    struct bfs_diag *diag)
{
	struct bfs_cache_pin first;
	enum bfs_err err;

	if (BFS_LIKELY(!b->chunk->needs_ref || k == 0))
		return pin_block(b, k, NULL, ret_pin, diag);
	BFS_TRY(pin_block(b, 0, NULL, &first, diag));
	err = pin_block(b, k, first.data, ret_pin, diag);
	bfs_cache_unpin(b->cache, &first, false);
	return err;
}

void bfs_blocks_unpin(struct bfs_blocks *b, struct bfs_cache_pin *pin)
{
	bfs_cache_unpin(b->cache, pin, false);
}
