/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * array.c - the bytes of one opened container: streams, and the
 * way from a byte range to blocks.
 *
 * A linear stream is chunk after chunk, block after block; the array in C
 * order is gathered piece by piece (array/gather.c).
 */
#include "array/guess.h"
#include "array/priv.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/moment.h"

#include <inttypes.h>

/* A piece shorter than this is copied: pinning it would cost more. */
#define PIECE_LEN 4096

static enum bfs_err check_nd(const struct bfs_array *a, const struct bfs_nd *nd,
			     struct bfs_diag *why)
{
	const struct bfs_container *f = a->container;

	if (nd->n_chunks != f->n_chunks)
		return bfs_fail(why, BFS_ERR_CORRUPT, 0,
				"the array has %" PRIu64 " chunks, the frame %"
				PRIu64, nd->n_chunks, f->n_chunks);
	if (f->n_chunks > 0 && (f->chunksize <= 0 || nd->chunk_len !=
						     (uint64_t)f->chunksize))
		return bfs_fail(why, BFS_ERR_CORRUPT, 0,
				"chunks of the array have %" PRIu64
				" bytes, those of the frame %" PRId64,
				nd->chunk_len, f->chunksize);
	/* The last one is padded like all others. */
	if (f->nbytes_known && f->nbytes != nd->n_chunks * nd->chunk_len)
		return bfs_fail(why, BFS_ERR_CORRUPT, 0,
				"chunks of the array have %" PRIu64
				" bytes, the frame %" PRIu64,
				nd->n_chunks * nd->chunk_len, f->nbytes);
	return BFS_OK;
}

static enum bfs_err init_nd(struct bfs_array *a, const int32_t *blockshape,
			    struct bfs_diag *why)
{
	const struct bfs_array_meta *m = &a->container->array;

	BFS_TRY(bfs_nd_init(m->ndim, m->shape, m->chunkshape, blockshape,
			    a->container->typesize, &a->nd, why));
	return check_nd(a, &a->nd, why);
}

/* Whether the first stored chunk has the blocks that the shape promises. */
static bool has_blocks(const struct bfs_array *a)
{
	struct bfs_chunk_head h;
	struct bfs_span span;
	uint64_t n = bfs_min(a->container->n_chunks, 64), i;

	for (i = 0; i < n; i++)
		if (bfs_container_span(a->container, i, &span, NULL) ==
			    BFS_OK &&
		    span.special == BFS_CHUNK_BLOCKS &&
		    bfs_container_peek(a->container, &span, &h, NULL) == BFS_OK)
			return h.blocksize == a->nd.block_len;
	return true;
}

/* Caterva before 0.4 wrote no blockshape, or one without meaning: then the
 * chunks are in plain C order (docs/errata.md). */
static enum bfs_err open_nd(struct bfs_array *a, struct bfs_diag *why)
{
	enum bfs_err err = init_nd(a, a->container->array.blockshape, why);

	if (a->container->array.legacy && (err != BFS_OK || !has_blocks(a))) {
		err = init_nd(a, a->container->array.chunkshape, why);
		a->plain = err == BFS_OK;
	}
	a->has_nd = err == BFS_OK;
	return err;
}

enum bfs_err bfs_array_open(struct bfs_engine *engine,
			    struct bfs_container *container,
			    struct bfs_array **ret_array, struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	struct bfs_array *a = bfs_zalloc(1, sizeof(*a));
	struct bfs_diag why;
	enum bfs_err err;

	if (!a) {
		bfs_container_close(container);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a container");
	}
	bfs_ahead_init(&a->ahead);
	bfs_faults_init(&a->faults);
	a->engine = engine;
	a->container = container;
	a->gen = bfs_cache_new_gen(engine->cache);
	if (bfs_kin_new(a) != BFS_OK) {
		bfs_array_close(a);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a container");
	}
	if (container->array.present && !container->array.linear &&
	    open_nd(a, &why) != BFS_OK)
		bfs_container_doubt(container, &why);
	err = bfs_moment_settle(mark, BFS_OK, diag);
	if (err != BFS_OK) {
		bfs_array_close(a);
		return err;
	}
	*ret_array = a;
	return BFS_OK;
}

void bfs_array_close(struct bfs_array *a)
{
	if (!a)
		return;
	/* Jobs use all the rest, so they end first. */
	bfs_ahead_release(&a->ahead);
	bfs_plans_drop(a->engine, a->gen);
	bfs_cache_drop(a->engine->cache, a->gen);
	bfs_kin_put(a);
	bfs_container_close(a->container);
	bfs_faults_release(&a->faults);
	bfs_free(a->fingerprints);
	bfs_free(a);
}

/* Appends len bytes at p, as part of the last piece if they follow it. */
static void add_piece(struct bfs_pieces *pieces, uint8_t *p, size_t len)
{
	struct iovec *last = &pieces->iov[pieces->n];

	if (pieces->n > 0 && (uint8_t *)last[-1].iov_base +
			     last[-1].iov_len == p) {
		last[-1].iov_len += len;
		return;
	}
	BFS_CHECK(pieces->n < BFS_MAX_PIECES);
	last->iov_base = p;
	last->iov_len = len;
	pieces->n++;
}

/* Whether [pos, pos + len) of one chunk can be pinned; else it is copied. */
static bool fits_pins(const struct bfs_chunk *c, uint32_t pos, size_t len,
		      const struct bfs_pieces *pieces)
{
	uint32_t n = bfs_chunk_block_at(c, pos + (uint32_t)len - 1) -
		     bfs_chunk_block_at(c, pos) + 1;

	/* One piece is kept free for what must be gathered. */
	return !bfs_array_is_zero(c) && n + pieces->n < BFS_MAX_PIECES &&
	       n + pieces->n_pins <= BFS_MAX_PIECES && n <= BFS_FETCH_MAX &&
	       len / n >= PIECE_LEN;
}

static enum bfs_err pin_blocks(struct bfs_array *a, uint64_t id,
			       const struct bfs_plan *plan, uint32_t pos,
			       size_t len, struct bfs_pieces *pieces,
			       struct bfs_diag *diag)
{
	const struct bfs_chunk *c = plan->chunk;
	struct bfs_cache_pin *pins = &pieces->pins[pieces->n_pins];
	uint32_t first = bfs_chunk_block_at(c, pos);
	uint32_t last = bfs_chunk_block_at(c, pos + (uint32_t)len - 1);
	uint32_t blocks[BFS_FETCH_MAX];
	size_t n = last - first + 1, i;

	for (i = 0; i < n; i++)
		blocks[i] = first + (uint32_t)i;
	BFS_TRY(bfs_array_fetch(a, id, plan, blocks, n, pins, diag));
	pieces->n_pins += n;
	for (i = 0; i < n; i++) {
		uint32_t at = pos - bfs_chunk_block_off(c, blocks[i]);
		size_t part = (size_t)bfs_min(len, pins[i].len - at);

		BFS_CHECK(at < pins[i].len);
		add_piece(pieces, pins[i].data + at, part);
		pieces->at_end[pieces->n_pins - n + i] =
			at + part == pins[i].len;
		pieces->consumed[pieces->n_pins - n + i] = false;
		pos += (uint32_t)part;
		len -= part;
	}
	return BFS_OK;
}

static enum bfs_err pin_chunk(struct bfs_array *a, uint64_t id, uint32_t pos,
			      uint8_t *buf, size_t len,
			      struct bfs_pieces *pieces, struct bfs_diag *diag)
{
	struct bfs_plan plan;
	enum bfs_err err;

	BFS_TRY(bfs_array_find_plan(a, id, &plan, diag));
	if (bfs_inside(pos, len, plan.chunk->head.nbytes) &&
	    fits_pins(plan.chunk, pos, len, pieces)) {
		err = pin_blocks(a, id, &plan, pos, len, pieces, diag);
	} else {
		err = bfs_array_copy(a, id, pos, buf, len, diag);
		if (err == BFS_OK)
			add_piece(pieces, buf, len);
	}
	bfs_chunk_unref(plan.chunk);
	return err;
}

/* The part of a joined stream that lies in one chunk. */
static enum bfs_err find_part(struct bfs_array *a, uint64_t off, size_t len,
			      uint64_t *ret_n, uint32_t *ret_pos,
			      size_t *ret_len, struct bfs_diag *diag)
{
	uint64_t n, begin, end;

	BFS_TRY(bfs_container_chunk_at(a->container, off, &n, diag));
	BFS_TRY(bfs_container_chunk_off(a->container, n, &begin, diag));
	BFS_TRY(bfs_container_chunk_off(a->container, n + 1, &end, diag));
	*ret_n = n;
	*ret_pos = (uint32_t)(off - begin);
	*ret_len = (size_t)bfs_min(len, end - off);
	return BFS_OK;
}

/* With pieces: as pins of blocks, where they fit; else into buf. */
static enum bfs_err take_joined(struct bfs_array *a, uint64_t off,
				uint8_t *buf, size_t len,
				struct bfs_pieces *pieces,
				struct bfs_diag *diag)
{
	while (len > 0) {
		uint32_t pos;
		uint64_t n;
		size_t part;

		BFS_TRY(find_part(a, off, len, &n, &pos, &part, diag));
		BFS_TRY(pieces ? pin_chunk(a, n, pos, buf, part, pieces, diag) :
				 bfs_array_copy(a, n, pos, buf, part, diag));
		off += part;
		buf += part;
		len -= part;
	}
	return BFS_OK;
}

static enum bfs_err copy_source(struct bfs_source *source, uint64_t off,
				uint8_t *dst, size_t len,
				struct bfs_diag *diag)
{
	BFS_TRY(bfs_source_read(source, off, dst, len, diag));
	return bfs_source_check(source, diag);
}

static enum bfs_err copy_meta(struct bfs_array *a, uint64_t i, uint64_t off,
			      uint8_t *dst, size_t len, struct bfs_diag *diag)
{
	const struct bfs_meta *m = &a->container->metas[i];

	if (m->is_chunk)
		return bfs_array_copy(a, BFS_META_ID | i, (uint32_t)off, dst,
				      len, diag);
	return copy_source(bfs_meta_source(a->container, m), m->off + off, dst,
			   len, diag);
}

static enum bfs_err check_range(struct bfs_array *a,
				const struct bfs_stream *s, uint64_t off,
				size_t len, uint64_t *ret_end,
				struct bfs_diag *diag)
{
	BFS_TRY(bfs_array_len(a, s, ret_end, diag));
	if (!bfs_inside(off, len, *ret_end))
		return bfs_fail(diag, BFS_ERR_RANGE, off,
				"%zu bytes there of %" PRIu64, len, *ret_end);
	return BFS_OK;
}

static enum bfs_err read_range(struct bfs_array *a, const struct bfs_stream *s,
			       uint64_t off, void *buf, size_t len,
			       struct bfs_diag *diag)
{
	switch (s->kind) {
	case BFS_STREAM_DATA:
		if (a->has_nd)
			return bfs_array_gather(a, off, buf, len, diag);
		return take_joined(a, off, buf, len, NULL, diag);
	case BFS_STREAM_JOINED:
		return take_joined(a, off, buf, len, NULL, diag);
	case BFS_STREAM_CHUNK:
		return bfs_array_copy(a, s->index, (uint32_t)off, buf, len,
				      diag);
	case BFS_STREAM_TILE:
		return bfs_array_gather_tile(a, s->index, off, buf, len, diag);
	case BFS_STREAM_META:
		return copy_meta(a, s->index, off, buf, len, diag);
	case BFS_STREAM_VLMETA:
		return bfs_array_copy(a, BFS_VLMETA_ID | s->index,
				      (uint32_t)off, buf, len, diag);
	case BFS_STREAM_SOURCE:
		return copy_source(a->container->source, off, buf, len, diag);
	case BFS_STREAM_RAW_CHUNK:
		return bfs_array_raw_read(a, s->index, off, buf, len, diag);
	case BFS_STREAM_LAZY_CHUNK:
		return bfs_array_lazy_read(a, s->index, off, buf, len, diag);
	}
	return BFS_ERR_INVALID;
}

enum bfs_err bfs_array_sample(struct bfs_array *a, const struct bfs_stream *s,
			      uint64_t off, void *buf, size_t len,
			      struct bfs_diag *diag)
{
	uint64_t end;

	BFS_TRY(check_range(a, s, off, len, &end, diag));
	if (len == 0)
		return BFS_OK;
	bfs_array_tell(a, s, off, len);
	return read_range(a, s, off, buf, len, diag);
}

enum bfs_err bfs_array_read(struct bfs_array *a, const struct bfs_stream *s,
			    uint64_t off, void *buf, size_t len,
			    struct bfs_diag *diag)
{
	uint64_t end;

	BFS_TRY(check_range(a, s, off, len, &end, diag));
	if (len == 0)
		return BFS_OK;
	bfs_array_tell(a, s, off, len);
	BFS_TRY(read_range(a, s, off, buf, len, diag));
	bfs_ahead_note(a, s, off, len, end);
	return BFS_OK;
}

/* Copies the range into buf and makes that the piece. */
static enum bfs_err gather_piece(struct bfs_array *a,
				 const struct bfs_stream *s, uint64_t off,
				 void *buf, size_t len,
				 struct bfs_pieces *pieces,
				 struct bfs_diag *diag)
{
	BFS_TRY(read_range(a, s, off, buf, len, diag));
	if (pieces->n == BFS_MAX_PIECES)
		return bfs_fail(diag, BFS_ERR_LIMIT, off, "too many pieces");
	add_piece(pieces, buf, len);
	return BFS_OK;
}

static enum bfs_err pin_range(struct bfs_array *a, const struct bfs_stream *s,
			      uint64_t off, void *buf, size_t len,
			      struct bfs_pieces *pieces, struct bfs_diag *diag)
{
	/* Pinned pieces leave one place free for a gathered rest. */
	if (pieces->n + 2 > BFS_MAX_PIECES)
		return gather_piece(a, s, off, buf, len, pieces, diag);
	switch (s->kind) {
	case BFS_STREAM_DATA:
		if (bfs_array_in_order(a))
			return take_joined(a, off, buf, len, pieces, diag);
		break;
	case BFS_STREAM_JOINED:
		return take_joined(a, off, buf, len, pieces, diag);
	case BFS_STREAM_CHUNK:
		return pin_chunk(a, s->index, (uint32_t)off, buf, len, pieces,
				 diag);
	case BFS_STREAM_TILE:
	case BFS_STREAM_META:
	case BFS_STREAM_VLMETA:
	case BFS_STREAM_SOURCE:
	case BFS_STREAM_RAW_CHUNK:
	case BFS_STREAM_LAZY_CHUNK:
		break;
	}
	return gather_piece(a, s, off, buf, len, pieces, diag);
}

enum bfs_err bfs_array_pin(struct bfs_array *a, const struct bfs_stream *s,
			   uint64_t off, void *buf, size_t len,
			   struct bfs_pieces *pieces, struct bfs_diag *diag)
{
	size_t before = pieces->n_pins, i;
	uint64_t end;

	BFS_TRY(check_range(a, s, off, len, &end, diag));
	if (len == 0)
		return BFS_OK;
	bfs_array_tell(a, s, off, len);
	BFS_TRY(pin_range(a, s, off, buf, len, pieces, diag));
	if (bfs_ahead_note(a, s, off, len, end))
		for (i = before; i < pieces->n_pins; i++)
			pieces->consumed[i] = pieces->at_end[i];
	return BFS_OK;
}

void bfs_array_release(struct bfs_array *a, struct bfs_pieces *pieces)
{
	size_t i;

	for (i = 0; i < pieces->n_pins; i++)
		bfs_cache_unpin(a->engine->cache, &pieces->pins[i],
				pieces->consumed[i]);
	pieces->n_pins = 0;
	pieces->n = 0;
}
