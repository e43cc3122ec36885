/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.c - the plan of a chunk: header, bstarts, dictionary and filter
 * pipeline, read from a source and checked once.
 *
 * A bad entry of bstarts spoils its own block alone: the block's span becomes 0
 * bytes, which the decoder refuses. Everything that concerns the whole chunk
 * fails the plan. See docs/formats/chunk.md and docs/errata.md.
 */
#include "chunk/plan.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#define MAX_BLOCKS (UINT32_C(1) << 23)
#define MAX_DICT 32768
#define VL_WINDOW 16384

/* A chunk being opened, and the first bytes of it. */
struct opening {
	struct bfs_source *source;
	uint64_t off;
	uint8_t first[BFS_CHUNK_FIRST_READ];
	size_t first_len;
	struct bfs_chunk *chunk;
	bool sized;			/* its container says nbytes as well */
	struct bfs_diag *diag;
};

/* Reads from the chunk, out of the first read where it holds the range. */
static enum bfs_err fetch(struct opening *o, uint64_t at, void *buf, size_t len)
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

static enum bfs_err no_memory(struct bfs_diag *diag)
{
	return bfs_fail(diag, BFS_ERR_NOMEM, 0,
			"no memory for the plan of a chunk");
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

static void drop_tables(struct bfs_chunk *c)
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
	BFS_TRY(fetch(o, c->head.header_len, c->starts,
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
	return fetch(o, at, word, 4) == BFS_OK &&
	       at + 4 + bfs_le32(word) == end;
}

/* Some writers note a blocksize that is no multiple of the typesize but cut the
 * data at one that is (docs/errata.md, Q1). The smallest entry of bstarts tells
 * the true number of blocks: it points right behind a table of that many. */
static enum bfs_err mend_blocksize(struct opening *o)
{
	struct bfs_chunk_head *h = &o->chunk->head;
	uint32_t t = h->typesize, size, n, low = UINT32_MAX, k;

	if (t == 1 && o->chunk->env.typesize > 255)
		t = o->chunk->env.typesize;
	if (h->version < 5 || h->kind != BFS_CHUNK_BLOCKS ||
	    h->blocksize % t == 0)
		return BFS_OK;
	size = h->blocksize > t ? h->blocksize - h->blocksize % t : 1;
	if (h->blocksize < t && h->nbytes >= t)
		return BFS_OK;
	n = (uint32_t)bfs_div_up(h->nbytes, size);
	if (n == h->n_blocks && size == h->blocksize)
		return BFS_OK;
	for (k = 0; k < h->n_blocks; k++)
		low = (uint32_t)bfs_min(low, o->chunk->starts[k]);
	if (!tables_end_at(o, n, low))
		return BFS_OK;
	h->blocksize = size;
	h->n_blocks = n;
	drop_tables(o->chunk);
	o->chunk->mem_len = sizeof(*o->chunk);
	return read_starts(o);
}

/* The first block lies right behind bstarts and dictionary. Where it does not,
 * nbytes may be damaged and name fewer blocks than the chunk has. */
static enum bfs_err check_first(const struct bfs_chunk *c, uint32_t tables_end,
				struct bfs_diag *diag)
{
	uint32_t low = UINT32_MAX, k;

	for (k = 0; k < c->head.n_blocks; k++)
		low = (uint32_t)bfs_min(low, c->starts[k]);
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
	BFS_TRY(fetch(o, at, word, 4));
	len = bfs_le32(word);
	if (len == 0 || len > MAX_DICT ||
	    !bfs_inside((uint64_t)at + 4, len, c->head.cbytes))
		return bfs_fail(o->diag, BFS_ERR_CORRUPT, at,
				"dictionary of %" PRId32 " bytes",
				(int32_t)len);
	c->dict = bfs_alloc(len);
	if (!c->dict)
		return no_memory(o->diag);
	BFS_TRY(fetch(o, (uint64_t)at + 4, c->dict, len));
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
			BFS_TRY(fetch(o, at, window, win_len));
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

static enum bfs_err add_filter(struct bfs_chunk *c, unsigned slot,
			       struct bfs_diag *diag)
{
	unsigned id = c->head.filters[slot];
	const struct bfs_filter *op = bfs_filter_find(id);
	struct bfs_filter_job job = {
		.len = c->head.kind == BFS_CHUNK_VLBLOCKS ? c->head.nbytes :
							    c->head.blocksize,
		.typesize = c->head.typesize,
		.frame_typesize = c->env.typesize,
		.meta = c->head.filters_meta[slot],
		.version = c->head.version,
		.ndim = c->env.ndim,
		.blockshape = c->env.blockshape,
	};
	char name[24];

	if (!op || (!op->identity && !op->undo[BFS_CPU_SCALAR]))
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 16 + slot,
				"filter %s cannot be undone here",
				bfs_filter_name(id, name));
	if (op->check) {
		uint32_t rest = c->head.kind == BFS_CHUNK_VLBLOCKS ? 0 :
				c->head.nbytes % c->head.blocksize;

		BFS_TRY(bfs_diag_shift(diag, op->check(&job, diag),
				       16 + slot));
		/* The shorter last block has to be undone too. */
		if (rest > 0) {
			job.len = rest;
			BFS_TRY(bfs_diag_shift(diag, op->check(&job, diag),
					       16 + slot));
		}
	}
	if (op->identity)
		return BFS_OK;
	BFS_CHECK(c->n_filters < BFS_N_FILTER_SLOTS);
	c->filters[c->n_filters].op = op;
	c->filters[c->n_filters].meta = job.meta;
	c->n_filters++;
	if (op->needs_ref && c->head.kind == BFS_CHUNK_BLOCKS)
		c->needs_ref = true;
	return BFS_OK;
}

static enum bfs_err open_pipeline(struct bfs_chunk *c, struct bfs_diag *diag)
{
	unsigned slot;

	c->codec = bfs_codec_find(c->head.codec_format, c->head.codec_id);
	if (c->head.instrumented)
		return BFS_OK;
	for (slot = BFS_N_FILTER_SLOTS; slot-- > 0;)
		if (c->head.filters[slot])
			BFS_TRY(add_filter(c, slot, diag));
	return BFS_OK;
}

static enum bfs_err open_blocks(struct opening *o)
{
	struct bfs_chunk *c = o->chunk;
	uint32_t tables_end;

	BFS_TRY(open_pipeline(c, o->diag));
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

static void set_nan(struct bfs_chunk *c, uint32_t typesize)
{
	static const uint8_t nan4[4] = { 0, 0, 0xc0, 0x7f };
	static const uint8_t nan8[8] = { 0, 0, 0, 0, 0, 0, 0xf8, 0x7f };

	c->head.value_len = typesize;
	memcpy(c->value, typesize == 4 ? nan4 : nan8, typesize);
}

static enum bfs_err read_value(struct opening *o)
{
	struct bfs_chunk *c = o->chunk;
	uint32_t len = c->head.value_len;

	if (len <= sizeof(c->value))
		return fetch(o, c->head.header_len, c->value, len);
	c->long_value = bfs_alloc(len);
	if (!c->long_value)
		return no_memory(o->diag);
	c->mem_len += len;
	return fetch(o, c->head.header_len, c->long_value, len);
}

static enum bfs_err open_kind(struct opening *o)
{
	switch (o->chunk->head.kind) {
	case BFS_CHUNK_BLOCKS:
	case BFS_CHUNK_VLBLOCKS:
		return open_blocks(o);
	case BFS_CHUNK_NAN:
		set_nan(o->chunk, o->chunk->head.typesize);
		return BFS_OK;
	case BFS_CHUNK_VALUE:
		return read_value(o);
	case BFS_CHUNK_RAW:
	case BFS_CHUNK_ZEROS:
	case BFS_CHUNK_UNINIT:
		break;
	}
	return BFS_OK;
}

static enum bfs_err read_first(struct opening *o, uint64_t avail,
			       struct bfs_chunk_head *ret_head)
{
	if (!bfs_inside(o->off, 0, bfs_source_len(o->source)))
		return bfs_fail(o->diag, BFS_ERR_TRUNCATED, 0,
				"the chunk would begin beyond the end");
	avail = bfs_min(avail, bfs_source_len(o->source) - o->off);
	o->first_len = (size_t)bfs_min(avail, BFS_CHUNK_FIRST_READ);
	BFS_TRY(bfs_diag_shift(o->diag,
			       bfs_source_read(o->source, o->off, o->first,
					       o->first_len, o->diag),
			       (uint64_t)0 - o->off));
	return bfs_chunk_parse(o->first, o->first_len, avail, ret_head,
			       o->diag);
}

/* Never 0. Of a short chunk's own bytes alone: others may lie behind it. */
static uint64_t make_fingerprint(const struct opening *o,
				 const struct bfs_chunk_head *head)
{
	return bfs_hash(o->first, (size_t)bfs_min(o->first_len, head->cbytes),
			0) | 1;
}

enum bfs_err bfs_chunk_fingerprint(struct bfs_source *source, uint64_t off,
				   uint64_t avail, uint64_t *ret_fingerprint,
				   struct bfs_diag *diag)
{
	struct opening o = { .source = source, .off = off, .diag = diag };
	struct bfs_chunk_head head;

	BFS_TRY(read_first(&o, avail, &head));
	*ret_fingerprint = make_fingerprint(&o, &head);
	return BFS_OK;
}

enum bfs_err bfs_chunk_open(struct bfs_source *source, uint64_t off,
			    uint64_t avail, uint32_t want_nbytes,
			    const struct bfs_codec_env *env,
			    struct bfs_chunk **ret_chunk,
			    struct bfs_diag *diag)
{
	struct opening o = { .source = source, .off = off, .diag = diag,
			     .sized = want_nbytes != UINT32_MAX };
	struct bfs_chunk_head head;
	enum bfs_err err;

	BFS_TRY(read_first(&o, avail, &head));
	if (want_nbytes != UINT32_MAX && head.nbytes != want_nbytes)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 4,
				"the chunk has %" PRIu32 " bytes where %" PRIu32
				" belong", head.nbytes, want_nbytes);
	o.chunk = bfs_zalloc(1, sizeof(*o.chunk));
	if (!o.chunk)
		return no_memory(diag);
	o.chunk->head = head;
	o.chunk->env = *env;
	o.chunk->refs = 1;
	o.chunk->fingerprint = make_fingerprint(&o, &head);
	o.chunk->mem_len = sizeof(*o.chunk);
	err = open_kind(&o);
	if (err != BFS_OK) {
		bfs_chunk_unref(o.chunk);
		return err;
	}
	*ret_chunk = o.chunk;
	return BFS_OK;
}

enum bfs_err bfs_chunk_special(enum bfs_chunk_kind kind, uint32_t nbytes,
			       uint32_t typesize, uint32_t blocksize,
			       struct bfs_chunk **ret_chunk,
			       struct bfs_diag *diag)
{
	struct bfs_chunk *c;

	BFS_CHECK(kind == BFS_CHUNK_ZEROS || kind == BFS_CHUNK_NAN ||
		  kind == BFS_CHUNK_UNINIT);
	if (kind == BFS_CHUNK_NAN &&
	    ((typesize != 4 && typesize != 8) || nbytes % typesize))
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"NaN chunk of typesize %" PRIu32 " and %" PRIu32
				" bytes", typesize, nbytes);
	c = bfs_zalloc(1, sizeof(*c));
	if (!c)
		return no_memory(diag);
	if (blocksize == 0)
		blocksize = UINT32_C(1) << 18;
	c->refs = 1;
	c->mem_len = sizeof(*c);
	c->head.kind = kind;
	c->head.typesize = typesize;
	c->head.nbytes = nbytes;
	c->head.blocksize =
		(uint32_t)bfs_max(1, bfs_min(blocksize, nbytes));
	c->head.n_blocks = (uint32_t)bfs_div_up(nbytes, c->head.blocksize);
	if (kind == BFS_CHUNK_NAN)
		set_nan(c, typesize);
	*ret_chunk = c;
	return BFS_OK;
}

struct bfs_chunk *bfs_chunk_ref(struct bfs_chunk *chunk)
{
	uint32_t refs = atomic_fetch_add_explicit(&chunk->refs, 1,
						  memory_order_relaxed);

	BFS_CHECK(refs > 0);
	return chunk;
}

void bfs_chunk_unref(struct bfs_chunk *c)
{
	uint32_t refs;

	if (!c)
		return;
	refs = atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel);
	BFS_CHECK(refs > 0);
	if (refs > 1)
		return;
	if (c->ready_dict)
		c->codec->dict_free(c->ready_dict);
	bfs_free(c->dict);
	bfs_free(c->long_value);
	bfs_free(c->vl_offs);
	drop_tables(c);
	bfs_free(c);
}
