/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.c - the plan of a chunk: header, bstarts, dictionary and filter
 * pipeline, read from a source and checked once. See docs/formats/chunk.md.
 */
#include "chunk/priv.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdatomic.h>

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
		return bfs_opening_fetch(o, c->head.header_len, c->value, len);
	c->long_value = bfs_alloc(len);
	if (!c->long_value)
		return no_memory(o->diag);
	c->mem_len += len;
	return bfs_opening_fetch(o, c->head.header_len, c->long_value, len);
}

static enum bfs_err open_kind(struct opening *o)
{
	switch (o->chunk->head.kind) {
	case BFS_CHUNK_BLOCKS:
	case BFS_CHUNK_VLBLOCKS:
		BFS_TRY(open_pipeline(o->chunk, o->diag));
		return bfs_tables_open(o);
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
	bfs_tables_drop(c);
	bfs_free(c);
}
