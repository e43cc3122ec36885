/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.c - the plan of a chunk of an opened container: found among recent ones
 * or made from the chunk's header, for data chunks and for metalayers that are
 * chunks.
 */
#include "array/priv.h"

#include "container/kind.h"
#include "base/bytes.h"
#include "base/moment.h"

#include <inttypes.h>
#include <stdatomic.h>

/* The blocksize given to special chunks, which have none of their own. */
#define SPECIAL_BLOCK (UINT32_C(256) << 10)

/* Chunks without streams can be cut into blocks of any size. */
static void cut_blocks(struct bfs_chunk *c, uint64_t block_len)
{
	c->head.blocksize = (uint32_t)bfs_max(
		1, bfs_min(block_len, c->head.nbytes));
	c->head.n_blocks =
		(uint32_t)bfs_div_up(c->head.nbytes, c->head.blocksize);
}

static void shape_blocks(const struct bfs_array *a, struct bfs_chunk *c)
{
	bool tiled = a->has_nd && !a->plain;

	switch (c->head.kind) {
	case BFS_CHUNK_ZEROS:
	case BFS_CHUNK_UNINIT:
	case BFS_CHUNK_NAN:
	case BFS_CHUNK_VALUE:
		cut_blocks(c, tiled ? a->nd.block_len : SPECIAL_BLOCK);
		break;
	/* Where their blocks differ from the array's, the chunk is damaged. */
	case BFS_CHUNK_RAW:
	case BFS_CHUNK_BLOCKS:
	case BFS_CHUNK_VLBLOCKS:
		break;
	}
}

/* A frame says for all its chunks whether their blocks vary in length. */
static enum bfs_err check_kind(const struct bfs_array *a,
			       const struct bfs_chunk *c,
			       struct bfs_diag *diag)
{
	bool vl = c->head.kind == BFS_CHUNK_VLBLOCKS;

	if (a->container->index && vl != a->container->vlblocks)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 30,
				"the chunk %s variable-length blocks, its "
				"frame %s", vl ? "has" : "has no",
				vl ? "has none" : "says it has");
	return BFS_OK;
}

static enum bfs_err read_plan(struct bfs_array *a, struct bfs_source *source,
			      const struct bfs_span *span,
			      struct bfs_chunk **ret_chunk,
			      struct bfs_diag *diag)
{
	struct bfs_container *f = a->container;
	struct bfs_chunk *c;
	enum bfs_err err;

	if (f->ops->verify)
		BFS_TRY(f->ops->verify(f, span, diag));
	BFS_TRY(bfs_diag_shift(diag, bfs_chunk_open(source, span->off,
						    span->avail, span->nbytes,
						    &f->env, &c, diag),
			       span->off));
	c->last = f->last;
	err = bfs_diag_shift(diag, check_kind(a, c, diag), span->off);
	if (err == BFS_OK)
		err = bfs_source_check(source, diag);
	if (err != BFS_OK) {
		bfs_chunk_unref(c);
		return err;
	}
	*ret_chunk = c;
	return BFS_OK;
}

static enum bfs_err open_stored(struct bfs_array *a, struct bfs_plan *plan,
				struct bfs_diag *diag)
{
	struct bfs_source *source;
	enum bfs_err err;

	BFS_TRY(bfs_container_source(a->container, &plan->span, &source, diag));
	plan->file_id = source->id;
	err = read_plan(a, source, &plan->span, &plan->chunk, diag);
	if (err == BFS_OK && source != a->container->source) {
		err = bfs_source_check(a->container->source, diag);
		if (err != BFS_OK)
			bfs_chunk_unref(plan->chunk);
	}
	bfs_source_unref(source);
	return err;
}

/* Whether a chunk must not be read: one that a recipe or a proxy never wrote is
 * not made of zeros, whatever its entry says. */
static bool lacks_data(const struct bfs_container *f, bool blank)
{
	return f->no_blocks || (f->no_blank && blank);
}

static enum bfs_err open_data_plan(struct bfs_array *a, uint64_t n,
				   struct bfs_plan *plan,
				   struct bfs_diag *diag)
{
	struct bfs_container *f = a->container;
	uint32_t len;

	BFS_TRY(bfs_container_span(f, n, &plan->span, diag));
	if (plan->span.special == BFS_CHUNK_BLOCKS) {
		BFS_TRY(open_stored(a, plan, diag));
		if (lacks_data(f, plan->chunk->head.kind ==
				  BFS_CHUNK_UNINIT)) {
			bfs_chunk_unref(plan->chunk);
			return bfs_kind_refuse(f, diag);
		}
	} else if (lacks_data(f, bfs_kind_is_blank(plan->span.special))) {
		return bfs_kind_refuse(f, diag);
	} else {
		plan->file_id = f->source->id;
		BFS_TRY(bfs_container_chunk_len(f, n, &len, diag));
		BFS_TRY(bfs_source_check(f->source, diag));
		BFS_TRY(bfs_chunk_special(plan->span.special, len, f->typesize,
					  0, &plan->chunk, diag));
	}
	shape_blocks(a, plan->chunk);
	return BFS_OK;
}

static const struct bfs_meta *find_meta(const struct bfs_array *a, uint64_t id)
{
	if (id & BFS_VLMETA_ID)
		return &a->container->vlmetas[id & ~BFS_VLMETA_ID];
	return &a->container->metas[id & ~BFS_META_ID];
}

static enum bfs_err open_meta_plan(struct bfs_array *a, uint64_t id,
				   struct bfs_plan *plan,
				   struct bfs_diag *diag)
{
	static const struct bfs_codec_env none;
	const struct bfs_meta *m = find_meta(a, id);
	struct bfs_source *source = bfs_meta_source(a->container, m);
	enum bfs_err err;

	plan->span = (struct bfs_span){ .off = m->off, .avail = m->len,
					.nbytes = UINT32_MAX };
	plan->file_id = source->id;
	BFS_TRY(bfs_diag_shift(diag, bfs_chunk_open(source, m->off, m->len,
						    UINT32_MAX, &none,
						    &plan->chunk, diag),
			       m->off));
	err = bfs_source_check(a->container->source, diag);
	if (err != BFS_OK)
		bfs_chunk_unref(plan->chunk);
	return err;
}

/* A plan that was made while an error of the moment was met may be wrong and is
 * not used. */
static enum bfs_err make_plan(struct bfs_array *a, uint64_t id, uint64_t mark,
			      struct bfs_plan *ret_plan, struct bfs_diag *diag)
{
	struct bfs_plan plan = { .opening = a->gen };
	enum bfs_err err;

	if (id & (BFS_VLMETA_ID | BFS_META_ID))
		BFS_TRY(open_meta_plan(a, id, &plan, diag));
	else
		BFS_TRY(bfs_diag_chunk(diag, open_data_plan(a, id, &plan,
							    diag), id));
	err = bfs_moment_settle(mark, BFS_OK, diag);
	if (err != BFS_OK) {
		bfs_chunk_unref(plan.chunk);
		return err;
	}
	*ret_plan = plan;
	return BFS_OK;
}

/*
 * Keeps the chunk's fingerprint, then looks whether the file has changed; the
 * order decides a race with a writer. A writer that changes the file after our
 * look leads to a new opening, which finds the fingerprint and compares. A
 * writer that changed it before is seen by our look, and the plan is given up.
 */
static enum bfs_err note_plan(struct bfs_array *a, uint64_t id,
			      const struct bfs_plan *plan,
			      struct bfs_diag *diag)
{
	enum bfs_err err;

	if (!a->digested)
		return BFS_OK;
	bfs_kin_note(a, id, plan);
	err = bfs_source_check(a->container->source, diag);
	if (err != BFS_OK)
		bfs_chunk_unref(plan->chunk);
	return err;
}

enum bfs_err bfs_array_fault(struct bfs_array *a, uint64_t id, uint64_t mark,
			     enum bfs_err err, const struct bfs_diag *why)
{
	const struct bfs_container *f = a->container;

	if (err == BFS_OK || bfs_moment_settle(mark, err, NULL) != err ||
	    bfs_err_passes(err) ||
	    (err == BFS_ERR_UNSUPPORTED && (f->no_blocks || f->no_blank)))
		return err;
	bfs_faults_note(&a->faults, id, why);
	return err;
}

/* The generation under which the cache of plans keeps a plan. */
static uint64_t owner_of(const struct bfs_array *a, uint64_t id)
{
	return id & (BFS_VLMETA_ID | BFS_META_ID) ? a->gen : a->kin_gen;
}

bool bfs_array_knows_plan(struct bfs_array *a, uint64_t id)
{
	struct bfs_plan known;

	if (!bfs_plans_get(a->engine, owner_of(a, id), id, &known))
		return false;
	bfs_chunk_unref(known.chunk);
	return known.opening == a->gen;
}

enum bfs_err bfs_array_find_plan(struct bfs_array *a, uint64_t id,
				 struct bfs_plan *ret_plan,
				 struct bfs_diag *diag)
{
	uint64_t owner = owner_of(a, id), mark = bfs_moment_mark();
	struct bfs_plan plan, known;
	bool has = bfs_plans_get(a->engine, owner, id, &known);
	struct bfs_diag why = { .chunk = -1 };
	enum bfs_err err;

	if (has && known.opening == a->gen) {
		*ret_plan = known;
		return BFS_OK;
	}
	err = make_plan(a, id, mark, &plan, &why);
	if (err == BFS_OK)
		bfs_kin_place(a, id, &plan, has ? &known : NULL);
	else if (diag)
		*diag = why;
	if (has)
		bfs_chunk_unref(known.chunk);
	BFS_TRY(bfs_array_fault(a, id, mark, err, &why));
	BFS_TRY(note_plan(a, id, &plan, diag));
	atomic_fetch_add_explicit(&a->engine->n_plans, 1,
				  memory_order_relaxed);
	if (!(id & (BFS_VLMETA_ID | BFS_META_ID)))
		atomic_store_explicit(&a->seen_block,
				      plan.chunk->head.blocksize,
				      memory_order_relaxed);
	bfs_plans_put(a->engine, owner, id, &plan);
	*ret_plan = plan;
	return BFS_OK;
}

enum bfs_err bfs_array_source(struct bfs_array *a, uint64_t id,
			      const struct bfs_plan *plan,
			      struct bfs_source **ret_source,
			      struct bfs_diag *diag)
{
	struct bfs_source *source;

	if (id & (BFS_VLMETA_ID | BFS_META_ID)) {
		*ret_source = bfs_source_ref(
			bfs_meta_source(a->container, find_meta(a, id)));
		return BFS_OK;
	}
	if (plan->span.special != BFS_CHUNK_BLOCKS) {
		*ret_source = bfs_source_ref(a->container->source);
		return BFS_OK;
	}
	BFS_TRY(bfs_container_source(a->container, &plan->span, &source, diag));
	if (!bfs_source_same(&source->id, &plan->file_id)) {
		bfs_source_unref(source);
		return bfs_fail(diag, BFS_ERR_CHANGED, plan->span.off,
				"the file of the chunk was replaced");
	}
	*ret_source = source;
	return BFS_OK;
}

enum bfs_err bfs_array_meta_cost(struct bfs_array *a,
				 const struct bfs_stream *s, size_t len,
				 uint64_t *ret_cost, struct bfs_diag *diag)
{
	bool fixed = s->kind == BFS_STREAM_META;
	uint64_t id = (fixed ? BFS_META_ID : BFS_VLMETA_ID) | s->index;
	const struct bfs_chunk_head *h;
	struct bfs_plan plan;
	uint32_t last;

	*ret_cost = 0;
	if (len == 0 || !find_meta(a, id)->is_chunk)
		return BFS_OK;
	BFS_TRY(bfs_array_find_plan(a, id, &plan, diag));
	h = &plan.chunk->head;
	if (!bfs_array_is_zero(plan.chunk) && len <= h->nbytes) {
		last = bfs_chunk_block_at(plan.chunk, (uint32_t)len - 1);
		*ret_cost = (uint64_t)bfs_chunk_block_off(plan.chunk, last) +
			    bfs_chunk_block_len(plan.chunk, last);
	}
	bfs_chunk_unref(plan.chunk);
	return BFS_OK;
}

enum bfs_err bfs_array_plan(struct bfs_array *a, uint64_t n,
			    struct bfs_chunk **ret_chunk,
			    struct bfs_span *ret_span, struct bfs_diag *diag)
{
	struct bfs_plan plan;

	BFS_TRY(bfs_array_find_plan(a, n, &plan, diag));
	*ret_chunk = plan.chunk;
	*ret_span = plan.span;
	return BFS_OK;
}
