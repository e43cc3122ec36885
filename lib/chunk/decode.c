/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decode.c - one block of a planned chunk: streams through the codec,
 * then the filters back to front; the last stage writes the destination.
 *
 * Allocates nothing. Every byte of the destination is written or the call
 * fails. See docs/formats/chunk.md, streams.
 */
#include "chunk/plan.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/call.h"

#include <inttypes.h>

#define FLAG_NOSPLIT 0x10

uint32_t bfs_chunk_block_off(const struct bfs_chunk *c, uint32_t k)
{
	BFS_ASSERT(k < c->head.n_blocks);
	if (c->head.kind == BFS_CHUNK_VLBLOCKS)
		return c->vl_offs[k];
	return k * c->head.blocksize;
}

uint32_t bfs_chunk_block_len(const struct bfs_chunk *c, uint32_t k)
{
	uint32_t off;

	BFS_CHECK(k < c->head.n_blocks);
	if (c->head.kind == BFS_CHUNK_VLBLOCKS)
		return c->vl_offs[k + 1] - c->vl_offs[k];
	off = k * c->head.blocksize;
	return (uint32_t)bfs_min(c->head.blocksize, c->head.nbytes - off);
}

uint32_t bfs_chunk_block_at(const struct bfs_chunk *c, uint32_t pos)
{
	uint32_t lo = 0, hi = c->head.n_blocks;

	BFS_ASSERT(pos < c->head.nbytes);
	if (c->head.kind != BFS_CHUNK_VLBLOCKS)
		return pos / c->head.blocksize;
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (c->vl_offs[mid] <= pos)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

void bfs_chunk_block_span(const struct bfs_chunk *c, uint32_t k,
			  uint32_t *ret_off, uint32_t *ret_len)
{
	BFS_CHECK(k < c->head.n_blocks);
	*ret_off = 0;
	*ret_len = 0;
	switch (c->head.kind) {
	case BFS_CHUNK_BLOCKS:
	case BFS_CHUNK_VLBLOCKS:
		*ret_off = c->starts[k];
		*ret_len = c->spans[k];
		break;
	case BFS_CHUNK_RAW:
		*ret_off = c->head.header_len + k * c->head.blocksize;
		*ret_len = bfs_chunk_block_len(c, k);
		break;
	case BFS_CHUNK_ZEROS:
	case BFS_CHUNK_NAN:
	case BFS_CHUNK_VALUE:
	case BFS_CHUNK_UNINIT:
		break;
	}
}

uint32_t bfs_chunk_n_streams(const struct bfs_chunk *c, uint32_t k)
{
	const struct bfs_chunk_head *h = &c->head;

	if (h->kind != BFS_CHUNK_BLOCKS || h->flags & FLAG_NOSPLIT ||
	    bfs_chunk_block_len(c, k) != h->blocksize)
		return 1;
	return h->version <= 2 ? 0 : h->typesize;
}

#define MAX_AWAY 8

/* Where the streams of a block lie: stored ones may stay where they are, if
 * the first filter to undo can take its bytes from several places. */
struct planes {
	const uint8_t *at[MAX_AWAY];
	unsigned n_away;	/* those that are not in the buffer */
};

/* One block being decoded. */
struct decoding {
	const struct bfs_chunk *chunk;
	uint32_t block;
	const uint8_t *in;
	size_t in_len;
	uint32_t start;			/* of the block in the chunk */
	struct bfs_scratch *scratch;
	struct bfs_diag *diag;
	struct planes *planes;		/* NULL: all into the buffer */
};

static enum bfs_err decode_packed(const struct decoding *d, const uint8_t *src,
				  uint32_t src_len, uint8_t *dst, size_t len)
{
	const struct bfs_chunk *c = d->chunk;
	struct bfs_codec_job job = {
		.src = src, .src_len = src_len, .dst = dst, .dst_len = len,
		.dict = c->dict, .dict_len = c->dict_len,
		.ready = c->ready_dict, .meta = c->head.codec_meta,
		.env = &c->env,
	};
	uint64_t at = d->start + (uint64_t)(src - d->in);
	enum bfs_err err;
	const char *name;
	char buf[24];

	err = c->codec ? bfs_codec_decode(c->codec, &job, d->scratch->codecs) :
			 BFS_ERR_UNSUPPORTED;
	if (err == BFS_OK)
		return BFS_OK;
	name = bfs_codec_format_name(c->head.codec_format, c->head.codec_id,
				     buf);
	if (err == BFS_ERR_UNSUPPORTED)
		return bfs_fail(d->diag, err, at,
				"block %" PRIu32 ": codec %s cannot be decoded "
				"here", d->block, name);
	if (err == BFS_ERR_NOMEM)
		return bfs_fail(d->diag, err, at, "no memory for codec %s",
				name);
	return bfs_fail(d->diag, err, at,
			"block %" PRIu32 ": a %s stream of %" PRIu32
			" bytes does not decode to %zu", d->block, name,
			src_len, len);
}

static enum bfs_err decode_run(const struct decoding *d, int32_t csize,
			       struct bfs_cursor *cur, uint8_t *dst, size_t len)
{
	uint8_t token = 1;

	if (d->chunk->head.version < 3 || csize < -255)
		return bfs_fail(d->diag, BFS_ERR_CORRUPT,
				d->start + cur->pos - 4,
				"block %" PRIu32 ": stream length %" PRId32,
				d->block, csize);
	if (csize < 0)
		token = bfs_cursor_u8(cur);
	if (cur->failed || !(token & 1))
		return bfs_fail(d->diag, BFS_ERR_CORRUPT, d->start + cur->pos,
				"block %" PRIu32 ": run token %u", d->block,
				token);
	memset(dst, -csize, len);
	return BFS_OK;
}

/* Where ret_at is given, a stream that is stored as it is is not copied: ret_at
 * then points to it. */
static enum bfs_err decode_stream(const struct decoding *d,
				  struct bfs_cursor *cur, uint8_t *dst,
				  size_t len, const uint8_t **ret_at)
{
	int32_t csize = (int32_t)bfs_cursor_le32(cur);
	const uint8_t *src;

	if (cur->failed)
		return bfs_fail(d->diag, BFS_ERR_CORRUPT, d->start,
				"block %" PRIu32 " ends before its streams do",
				d->block);
	if (csize <= 0)
		return decode_run(d, csize, cur, dst, len);
	src = bfs_cursor_take(cur, (uint32_t)csize);
	if (!src)
		return bfs_fail(d->diag, BFS_ERR_CORRUPT,
				d->start + cur->pos - 4,
				"block %" PRIu32 ": a stream of %" PRId32
				" bytes does not fit into the block's %zu",
				d->block, csize, d->in_len);
	if ((size_t)csize != len)
		return decode_packed(d, src, (uint32_t)csize, dst, len);
	if (ret_at)
		*ret_at = src;
	else
		memcpy(dst, src, len);
	return BFS_OK;
}

/* One stream for each plane (byte of an item). */
static enum bfs_err decode_planes(const struct decoding *d,
				  struct bfs_cursor *cur, uint8_t *dst,
				  size_t each, uint32_t n)
{
	struct planes *planes = d->planes;

	BFS_CHECK(n <= MAX_AWAY);
	for (uint32_t i = 0; i < n; i++, dst += each) {
		planes->at[i] = dst;
		BFS_TRY(decode_stream(d, cur, dst, each, &planes->at[i]));
		planes->n_away += planes->at[i] != dst;
	}
	return BFS_OK;
}

static enum bfs_err decode_streams(const struct decoding *d, uint8_t *dst,
				   size_t len, uint32_t n_streams)
{
	struct bfs_cursor cur = bfs_cursor_init(d->in, d->in_len);
	size_t each = len / n_streams;
	uint32_t i;

	if (each == 0 || each * n_streams != len)
		return bfs_fail(d->diag, BFS_ERR_CORRUPT, d->start,
				"block %" PRIu32 " of %zu bytes cannot have %"
				PRIu32 " streams", d->block, len, n_streams);
	if (d->planes && n_streams == d->chunk->head.typesize)
		return decode_planes(d, &cur, dst, each, n_streams);
	for (i = 0; i < n_streams; i++)
		BFS_TRY(decode_stream(d, &cur, dst + i * each, each, NULL));
	return BFS_OK;
}

/* Chunks of version 1 and 2 have no flag that tells whether their blocks are
 * split into streams: writers before 1.11 followed a rule, and some later ones
 * did not. */
static enum bfs_err decode_old_block(const struct decoding *d, uint8_t *dst,
				     size_t len)
{
	uint32_t typesize = d->chunk->head.typesize;
	bool split = typesize <= 16 && len / typesize >= 128;
	struct decoding again = *d;
	enum bfs_err err;

	err = decode_streams(d, dst, len, split ? typesize : 1);
	if (err == BFS_OK || split || typesize == 1 || len % typesize ||
	    err == BFS_ERR_NOMEM || err == BFS_ERR_UNSUPPORTED)
		return err;
	again.diag = NULL;
	if (decode_streams(&again, dst, len, typesize) == BFS_OK)
		return BFS_OK;
	return err;
}

static enum bfs_err decode_vlblock(const struct decoding *d, uint8_t *dst,
				   size_t len)
{
	/* The span is at least 5 bytes and begins with len: see tables.c.  A
	 * file that changed meanwhile must not make the two differ. */
	if (d->in_len < 5 || bfs_le32(d->in) != len)
		return bfs_fail(d->diag, BFS_ERR_CORRUPT, d->start,
				"block %" PRIu32 " is not the one planned",
				d->block);
	if (d->in_len - 4 == len) {
		memcpy(dst, d->in + 4, len);
		return BFS_OK;
	}
	return decode_packed(d, d->in + 4, (uint32_t)(d->in_len - 4), dst,
			     len);
}

static enum bfs_err decode_coded(const struct decoding *d, uint8_t *dst,
				 size_t len)
{
	const struct bfs_chunk_head *h = &d->chunk->head;
	uint32_t n_streams = bfs_chunk_n_streams(d->chunk, d->block);

	if (d->in_len == 0)
		return bfs_fail(d->diag, BFS_ERR_CORRUPT,
				h->header_len + 4 * (uint64_t)d->block,
				"bstarts puts block %" PRIu32 " at %" PRId32
				", outside the chunk", d->block,
				(int32_t)d->start);
	if (h->kind == BFS_CHUNK_VLBLOCKS)
		return decode_vlblock(d, dst, len);
	if (n_streams == 0)
		return decode_old_block(d, dst, len);
	return decode_streams(d, dst, len, n_streams);
}

/* The alphas (chunk version 3) and the betas still used the old rule for
 * bitshuffle. Chunks of the betas look like later ones: their frame says that
 * they are old. */
static uint8_t rule_version(const struct bfs_chunk *c)
{
	if (c->head.version == 3 || c->env.old_bitshuffle)
		return 2;
	return c->head.version;
}

/* Puts streams that were left where they are stored into the buffer. */
static void gather(struct bfs_filter_job *job, uint8_t *buf)
{
	const size_t each = job->len / job->typesize;

	for (uint32_t i = 0; i < job->typesize; i++)
		if (job->planes[i] != buf + i * each)
			memcpy(buf + i * each, job->planes[i], each);
	job->planes = NULL;
}

/* Undoes filter i, from to[0] to to[1], or it and the next one at once, from
 * to[0] to to[2]. Returns how many. */
static unsigned undo_next(const struct bfs_chunk *c, unsigned i,
			  uint8_t *const *to, struct bfs_filter_job *job)
{
	const struct bfs_filter *op = c->filters[i].op;
	const struct bfs_chunk_filter *next = c->filters + i + 1;

	job->src = to[0];
	job->meta = c->filters[i].meta;
	if (op->undo_both && i + 1 < c->n_filters && to[2] != to[0]) {
		job->dst = to[2];
		if (op->undo_both(job, next->op, next->meta))
			return 2;
	}
	job->dst = to[1];
	if (job->planes && op->undo_both(job, NULL, 0))
		return 1;
	if (job->planes)
		gather(job, to[0]);
	bfs_filter_undo(op, job);
	return 1;
}

/* Whether the first filter to undo may find its planes anywhere. */
static bool takes_planes(const struct bfs_chunk *c)
{
	return c->n_filters > 0 && c->filters[0].op->undo_both &&
	       c->head.typesize <= MAX_AWAY && c->head.version > 2;
}

static enum bfs_err decode_filtered(struct decoding *d, const uint8_t *ref,
				    uint8_t *dst, size_t len)
{
	const struct bfs_chunk *c = d->chunk;
	uint8_t *to[BFS_N_FILTER_SLOTS + 1], *spare;
	struct bfs_filter_job job = {
		.len = len, .typesize = c->head.typesize,
		.frame_typesize = c->env.typesize,
		.version = rule_version(c), .ref = ref,
		.ndim = c->env.ndim, .blockshape = c->env.blockshape,
	};
	struct planes planes = { .n_away = 0 };
	unsigned n = c->n_filters, i;

	BFS_CHECK(n <= BFS_N_FILTER_SLOTS);
	/* to[i] is where stage i reads and stage i - 1 writes: backwards
	 * from the destination, in place where a filter can. */
	to[n] = dst;
	for (i = n; i-- > 0;) {
		spare = to[i + 1] == d->scratch->buf[0] ? d->scratch->buf[1] :
							  d->scratch->buf[0];
		to[i] = c->filters[i].op->in_place ? to[i + 1] : spare;
		/* The scratch was made to fit. */
		BFS_CHECK(to[i] == dst ||
			  (to[i] && d->scratch->buf_len >= len));
	}
	d->planes = takes_planes(c) ? &planes : NULL;
	BFS_TRY(decode_coded(d, to[0], len));
	job.planes = planes.n_away > 0 ? planes.at : NULL;
	for (i = 0; i < n;) {
		i += undo_next(c, i, to + i, &job);
		job.planes = NULL;
	}
	return BFS_OK;
}

/* Repeats the value over a block, which may begin in the middle of a value. */
static void fill_value(const struct bfs_chunk *c, uint32_t off, uint8_t *dst,
		       size_t len)
{
	const uint8_t *value = c->long_value ? c->long_value : c->value;
	size_t w = c->head.value_len, phase = off % w, have;
	size_t i, first = (size_t)bfs_min(len, w);

	BFS_CHECK(c->long_value || w <= sizeof(c->value));
	for (i = 0; i < first; i++)
		dst[i] = value[(phase + i) % w];
	for (have = first; have < len; have *= 2)
		memcpy(dst + have, dst, (size_t)bfs_min(have, len - have));
}

enum bfs_err bfs_chunk_decode(const struct bfs_chunk *c, uint32_t k,
			      const uint8_t *in, size_t in_len,
			      const uint8_t *ref, uint8_t *dst,
			      struct bfs_scratch *scratch,
			      struct bfs_diag *diag)
{
	size_t len = bfs_chunk_block_len(c, k);
	struct decoding d = {
		.chunk = c, .block = k, .in = in, .in_len = in_len,
		.scratch = scratch, .diag = diag,
	};

	BFS_TRY(bfs_call_spend(len, "decoding a block", diag));
	switch (c->head.kind) {
	case BFS_CHUNK_ZEROS:
	case BFS_CHUNK_UNINIT:
		memset(dst, 0, len);
		return BFS_OK;
	case BFS_CHUNK_NAN:
	case BFS_CHUNK_VALUE:
		fill_value(c, bfs_chunk_block_off(c, k), dst, len);
		return BFS_OK;
	case BFS_CHUNK_RAW:
		if (in_len != len)
			return bfs_fail(diag, BFS_ERR_INVALID, 0,
					"block %" PRIu32 " has another length",
					k);
		memcpy(dst, in, len);
		return BFS_OK;
	case BFS_CHUNK_BLOCKS:
	case BFS_CHUNK_VLBLOCKS:
		break;
	}
	d.start = c->starts[k];
	BFS_CHECK(!c->needs_ref || k == 0 || ref);
	if (k == 0 || !c->needs_ref)
		ref = NULL;
	return decode_filtered(&d, ref, dst, len);
}

static enum bfs_err read_block(const struct bfs_chunk *c,
			       struct bfs_source *source, uint64_t off,
			       uint32_t k, uint8_t *dst,
			       struct bfs_scratch *scratch,
			       struct bfs_diag *diag)
{
	uint32_t at, len;

	bfs_chunk_block_span(c, k, &at, &len);
	if (bfs_scratch_fit(scratch, c, bfs_chunk_block_len(c, k)) ||
	    bfs_scratch_fit_in(scratch, len))
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a block");
	if (len > 0)
		BFS_TRY(bfs_diag_shift(diag, bfs_source_read(
				source, off + at, scratch->in, len, diag),
				(uint64_t)0 - off));
	return bfs_chunk_decode(c, k, scratch->in, len, dst,
				dst + bfs_chunk_block_off(c, k), scratch,
				diag);
}

enum bfs_err bfs_chunk_read_all(const struct bfs_chunk *c,
				struct bfs_source *source, uint64_t off,
				uint8_t *dst, struct bfs_scratch *scratch,
				struct bfs_diag *diag)
{
	uint32_t k;

	for (k = 0; k < c->head.n_blocks; k++)
		BFS_TRY(read_block(c, source, off, k, dst, scratch, diag));
	return BFS_OK;
}
