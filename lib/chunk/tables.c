/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tables.c - bstarts, the dictionary and the sizes of variable-length blocks,
 * read and checked.
 *
 * A bad entry of bstarts spoils its own block alone: the block's span becomes 0
 * bytes, which the decoder refuses. Everything that concerns the whole chunk
 * fails the plan. See docs/formats/chunk.md and docs/errata.md.
 */
#include "chunk/priv.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>

#define MAX_BLOCKS (UINT32_C(1) << 23)
#define MAX_DICT 32768
#define VL_WINDOW 16384

enum bfs_err bfs_opening_fetch(struct opening *o, uint64_t at, void *buf,
			       size_t len)
{
	uint64_t have = o->first_len > at ? o->first_len - at : 0;
	size_t n = (size_t)bfs_min(have, len);

	BFS_CHECK(o->first_len <= BFS_CHUNK_FIRST_READ);
	if (n > 0)
		memcpy(buf, o->first + at, n);
	if (n == len)
		return BFS_OK;
	return bfs_diag_shift(o->diag,
			      bfs_source_read(o->source, o->off + at + n,
					      (uint8_t *)buf + n, len - n,
					      o->diag),
			      (uint64_t)0 - o->off);
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The first of n sorted starts that is larger than `start`, else `end`. */
static uint32_t next_larger(const uint32_t *sorted, uint32_t n, uint32_t start,
			    uint32_t end)
{
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (sorted[mid] <= start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && sorted[lo] < end ? sorted[lo] : end;
}

/* Blocks may lie in any order: a block ends where the next larger start is.
 * Starts outside [lo, cbytes - 4] get a span of 0 bytes. */
static enum bfs_err find_spans(struct bfs_chunk *c, uint32_t lo,
			       struct bfs_diag *diag)
{
	uint32_t n = c->head.n_blocks, end = c->head.cbytes, k;
	uint32_t *sorted = c->starts, *copy = NULL;
	bool ascending = true;

	for (k = 1; k < n && ascending; k++)
		ascending = c->starts[k - 1] < c->starts[k];
	if (!ascending) {
		copy = bfs_alloc((size_t)n * sizeof(*copy));
		if (!copy)
			return no_memory(diag);
		memcpy(copy, c->starts, (size_t)n * sizeof(*copy));
		qsort(copy, n, sizeof(*copy), compare_u32);
		sorted = copy;
	}
	for (k = 0; k < n; k++) {
		uint32_t start = c->starts[k];

		if (start < lo || start > end - 4)
			c->spans[k] = 0;
		else if (ascending)
			c->spans[k] = (k + 1 < n ? (uint32_t)bfs_min(
					c->starts[k + 1], end) : end) - start;
		else
			c->spans[k] = next_larger(sorted, n, start, end) -
				      start;
		BFS_ASSERT(c->spans[k] == 0 ||
			   bfs_inside(start, c->spans[k], end));
	}
	bfs_free(copy);
	return BFS_OK;
}

static enum bfs_err alloc_tables(struct bfs_chunk *c, struct bfs_diag *diag)
{
	size_t n = c->head.n_blocks;

	if (n > MAX_BLOCKS)
		return bfs_fail(diag, BFS_ERR_LIMIT, 8,
				"%zu blocks in a chunk, more than %" PRIu32, n,
				MAX_BLOCKS);
	c->starts = bfs_alloc(n * sizeof(*c->starts));
	c->spans = bfs_zalloc(n, sizeof(*c->spans));
	if (!c->starts || !c->spans)
		return no_memory(diag);
	c->mem_len += 8 * n;
	return BFS_OK;
}

void bfs_tables_drop(struct bfs_chunk *c)
{
	bfs_free(c->starts);
	bfs_free(c->spans);
	c->starts = NULL;
	c->spans = NULL;
}

static enum bfs_err read_starts(struct opening *o)
{
	struct bfs_chunk *c = o->chunk;
	uint32_t k;

	BFS_TRY(alloc_tables(c, o->diag));
	BFS_TRY(bfs_opening_fetch(o, c->head.header_len, c->starts,
				  4 * (size_t)c->head.n_blocks));
	for (k = 0; k < c->head.n_blocks; k++)
		c->starts[k] = bfs_le32(&c->starts[k]);
	return BFS_OK;
}

/* Whether bstarts and dictionary of a chunk of n blocks would end at `end`. */
static bool tables_end_at(struct opening *o, uint32_t n, uint32_t end)
{
	uint64_t at = o->chunk->head.header_len + 4 * (uint64_t)n;
	uint8_t word[4];

	if (!bfs_inside(at, 4, o->chunk->head.cbytes))
		return false;
	if (!(o->chunk->head.flags3 & 1))
		return at == end;
	return bfs_opening_fetch(o, at, word, 4) == BFS_OK &&
	       at + 4 + bfs_le32(word) == end;
}

static uint32_t least_start(const struct bfs_chunk *c)
{
	uint32_t low = UINT32_MAX, k;

	for (k = 0; k < c->head.n_blocks; k++)
		low = (uint32_t)bfs_min(low, c->starts[k]);
	return low;
}

/* The same chunk as n blocks of that size. */
static enum bfs_err cut_anew(struct opening *o, uint32_t size, uint32_t n)
{
	o->chunk->head.blocksize = size;
	o->chunk->head.n_blocks = n;
	bfs_tables_drop(o->chunk);
	o->chunk->mem_len = sizeof(*o->chunk);
	return read_starts(o);
}

/* Some writers note a blocksize that is no multiple of the typesize but cut the
 * data at one that is (docs/errata.md, Q1). The smallest entry of bstarts tells
 * the true number of blocks: that of all of these points right behind them. */
static enum bfs_err mend_blocksize(struct opening *o)
{
	const struct bfs_chunk_head *h = &o->chunk->head;
	uint32_t t = h->typesize, noted = h->blocksize, n_noted = h->n_blocks;
	uint32_t size, n;

	if (t == 1 && o->chunk->env.typesize > 255)
		t = o->chunk->env.typesize;
	if (h->version < 5 || h->kind != BFS_CHUNK_BLOCKS ||
	    h->blocksize % t == 0)
		return BFS_OK;
	size = h->blocksize > t ? h->blocksize - h->blocksize % t : 1;
	if (h->blocksize < t && h->nbytes >= t)
		return BFS_OK;
	n = (uint32_t)bfs_div_up(h->nbytes, size);
	if ((n == n_noted && size == noted) || n > MAX_BLOCKS ||
	    !bfs_inside(h->header_len, 4 * (uint64_t)n, h->cbytes))
		return BFS_OK;
	BFS_TRY(cut_anew(o, size, n));
	if (tables_end_at(o, n, least_start(o->chunk)))
		return BFS_OK;
	return cut_anew(o, noted, n_noted);
}

/* The first block lies right behind bstarts and dictionary. Where it does not,
 * nbytes may be damaged and name fewer blocks than the chunk has. */
static enum bfs_err check_first(const struct bfs_chunk *c, uint32_t tables_end,
				struct bfs_diag *diag)
{
	uint32_t low = least_start(c);

	if (low <= tables_end)
		return BFS_OK;
	return bfs_fail(diag, BFS_ERR_CORRUPT, c->head.header_len,
			"the first block begins at %" PRIu32 ", bstarts and "
			"dictionary end at %" PRIu32, low, tables_end);
}

static enum bfs_err read_dict(struct opening *o, uint32_t *ret_end)
{
	struct bfs_chunk *c = o->chunk;
	uint32_t at = c->head.header_len + 4 * c->head.n_blocks, len;
	uint8_t word[4];

	*ret_end = at;
	if (!(c->head.flags3 & 1))
		return BFS_OK;
	if (!bfs_inside(at, 4, c->head.cbytes))
		return bfs_fail(o->diag, BFS_ERR_CORRUPT, at,
				"no room for the dictionary");
	BFS_TRY(bfs_opening_fetch(o, at, word, 4));
	len = bfs_le32(word);
	if (len == 0 || len > MAX_DICT ||
	    !bfs_inside((uint64_t)at + 4, len, c->head.cbytes))
		return bfs_fail(o->diag, BFS_ERR_CORRUPT, at,
				"dictionary of %" PRId32 " bytes",
				(int32_t)len);
	c->dict = bfs_alloc(len);
	if (!c->dict)
		return no_memory(o->diag);
	BFS_TRY(bfs_opening_fetch(o, (uint64_t)at + 4, c->dict, len));
	c->dict_len = len;
	c->mem_len += len;
	if (c->codec && c->codec->dict_new) {
		/* NULL: the codec is given the raw bytes for each stream, and
		 * reports what is wrong with them. */
		c->ready_dict = c->codec->dict_new(c->dict, len);
		c->mem_len += len + 32768;
	}
	*ret_end = at + 4 + len;
	return BFS_OK;
}

/* Reads the decoded size of each variable-length block; blocks that lie near
 * each other share a read. */
static enum bfs_err read_vl_sizes(struct opening *o)
{
	struct bfs_chunk *c = o->chunk;
	uint32_t n = c->head.n_blocks, k, win_off = 0, win_len = 0;
	uint8_t window[VL_WINDOW];
	uint64_t sum = 0;

	for (k = 0; k < n; k++) {
		uint32_t at = c->starts[k], want, len;

		if (at < win_off || (uint64_t)at + 4 >
				    (uint64_t)win_off + win_len) {
			want = c->spans[k] < VL_WINDOW / 8 ? VL_WINDOW : 4;
			win_off = at;
			win_len = (uint32_t)bfs_min(want,
						    c->head.cbytes - at);
			BFS_TRY(bfs_opening_fetch(o, at, window, win_len));
		}
		len = bfs_le32(window + (at - win_off));
		c->vl_offs[k] = (uint32_t)sum;
		if (len == 0 || len > c->head.nbytes - sum)
			return bfs_fail(o->diag, BFS_ERR_CORRUPT, at,
					"block %" PRIu32 " claims %" PRIu32
					" bytes", k, len);
		sum += len;
	}
	if (sum != c->head.nbytes)
		return bfs_fail(o->diag, BFS_ERR_CORRUPT, 4,
				"the blocks have %" PRIu64 " bytes, nbytes "
				"says %" PRIu32, sum, c->head.nbytes);
	c->vl_offs[n] = c->head.nbytes;
	return BFS_OK;
}

static enum bfs_err open_vlblocks(struct opening *o, uint32_t tables_end)
{
	struct bfs_chunk *c = o->chunk;
	uint32_t n = c->head.n_blocks, k, low = tables_end;

	for (k = 0; k < n; k++) {
		uint32_t start = c->starts[k];

		if (start < low || start > c->head.cbytes - 5)
			return bfs_fail(o->diag, BFS_ERR_CORRUPT,
					c->head.header_len + 4 * (uint64_t)k,
					"bstarts puts block %" PRIu32 " at %"
					PRId32, k, (int32_t)start);
		if (k > 0)
			c->spans[k - 1] = start - c->starts[k - 1];
		low = start + 5;
	}
	c->spans[n - 1] = c->head.cbytes - c->starts[n - 1];
	c->vl_offs = bfs_alloc(((size_t)n + 1) * sizeof(*c->vl_offs));
	if (!c->vl_offs)
		return no_memory(o->diag);
	c->mem_len += 4 * (size_t)n;
	return read_vl_sizes(o);
}

enum bfs_err bfs_tables_open(struct opening *o)
{
	struct bfs_chunk *c = o->chunk;
	uint32_t tables_end;

	BFS_TRY(read_starts(o));
	if (c->head.mended && !tables_end_at(o, c->head.n_blocks,
					     c->starts[0]))
		return bfs_fail(o->diag, BFS_ERR_CORRUPT, 12,
				"a memcpyed chunk of %" PRIu32 " bytes has "
				"cbytes %" PRIu32, c->head.nbytes,
				c->head.cbytes);
	BFS_TRY(mend_blocksize(o));
	BFS_TRY(read_dict(o, &tables_end));
	if (c->head.kind == BFS_CHUNK_VLBLOCKS)
		return open_vlblocks(o, tables_end);
	if (!o->sized)
		BFS_TRY(check_first(c, tables_end, o->diag));
	return find_spans(c, tables_end, o->diag);
}
