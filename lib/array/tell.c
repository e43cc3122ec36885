/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tell.c - a source that wants to know is told what a read will ask it for,
 * so that it can merge ranges and have several in flight: first the headers
 * of chunks whose plans are not known, then the blocks that the cache lacks.
 */
#include "array/guess.h"
#include "array/priv.h"

#include "base/bytes.h"
#include "base/moment.h"

/* Told at once; and the most blocks that one read looks at. */
#define MAX_RANGES 256
#define MAX_BLOCKS 4096
/* From which length on a first read is taken for the first of many, and how
 * much of the beginning is asked for at once then. */
#define LONG_READ (UINT64_C(64) << 10)
#define BEGINNING (UINT64_C(512) << 10)
#define MOST_BEGINNING (UINT64_C(4) << 20)
/* Guesses in one read: one of many chunks waits often anyhow, so a wait more is
 * little. */
#define MAX_GUESSES 8

/* A range being told. */
struct telling {
	struct bfs_array *array;
	struct bfs_source *source;
	size_t n_ranges;
	struct bfs_range ranges[MAX_RANGES];
	uint64_t n_blocks;		/* looked at */
	unsigned n_guesses;
	bool over;			/* of no use any more */
	bool has_chunk;
	uint64_t chunk;			/* the last one visited */
	struct bfs_plan plan;		/* and its plan, in the second round */
};

static void flush(struct telling *t)
{
	bfs_source_will_read(t->source, t->ranges, t->n_ranges);
	t->n_ranges = 0;
}

/* What lies outside is damage, which reading will find. */
static void add_range(struct telling *t, uint64_t off, uint64_t len)
{
	if (len == 0 || !bfs_inside(off, len, bfs_source_len(t->source)))
		return;
	if (t->n_ranges == MAX_RANGES)
		flush(t);
	t->ranges[t->n_ranges++] = (struct bfs_range){ off, len };
}

/* ---- the first round: headers ---------------------------------------- */

/* As much of a chunk as its plan is likely to need. */
static uint64_t head_len(const struct bfs_container *f)
{
	uint64_t n = f->chunksize > 0 && f->blocksize > 0 ?
		     bfs_div_up((uint64_t)f->chunksize, f->blocksize) : 0;

	return bfs_max(BFS_CHUNK_FIRST_READ, BFS_CHUNK_HEADER + 4 * n);
}

/* Where a wait is dear, blocks are asked for together with the header that
 * would tell where they lie. */
static void add_guess(struct telling *t, uint64_t n,
		      const struct bfs_span *span, uint32_t pos, uint64_t len)
{
	struct bfs_range guess;

	if (t->n_guesses < MAX_GUESSES &&
	    bfs_guess_blocks(t->array, n, span, pos, len, &guess)) {
		t->n_guesses++;
		add_range(t, guess.off, guess.len);
	}
}

static void visit_head(struct telling *t, uint64_t n, uint32_t pos,
		       uint64_t len)
{
	struct bfs_span span;
	uint64_t head;

	t->n_blocks++;
	if (t->has_chunk && t->chunk == n)
		return;
	t->has_chunk = true;
	t->chunk = n;
	if (bfs_array_knows_plan(t->array, n))
		return;
	if (bfs_container_span(t->array->container, n, &span, NULL) != BFS_OK)
		t->over = true;
	if (t->over || span.special != BFS_CHUNK_BLOCKS)
		return;
	head = bfs_min(span.avail, head_len(t->array->container));
	add_range(t, span.off, head);
	if (t->source->wait_cost &&
	    !bfs_source_is_near(t->source, span.off, head))
		add_guess(t, n, &span, pos, len);
}

/* ---- the second round: blocks ---------------------------------------- */

static void drop_plan(struct telling *t)
{
	if (t->has_chunk)
		bfs_chunk_unref(t->plan.chunk);
	t->has_chunk = false;
}

static bool change_chunk(struct telling *t, uint64_t n)
{
	if (t->has_chunk && t->chunk == n)
		return true;
	drop_plan(t);
	t->has_chunk = bfs_array_find_plan(t->array, n, &t->plan, NULL) ==
		       BFS_OK;
	t->chunk = n;
	t->over = !t->has_chunk;
	return t->has_chunk;
}

static void add_block(struct telling *t, uint32_t k)
{
	struct bfs_cache_key key = { t->plan.gen, t->chunk, k };
	uint32_t off, len;

	if (k >= t->plan.chunk->head.n_blocks ||
	    bfs_cache_has(t->array->engine->cache, &key))
		return;
	bfs_chunk_block_span(t->plan.chunk, k, &off, &len);
	add_range(t, t->plan.span.off + off, len);
}

static void visit_blocks(struct telling *t, uint64_t n, uint32_t pos,
			 uint64_t len)
{
	const struct bfs_chunk *c;
	uint32_t k, last;

	if (!change_chunk(t, n))
		return;
	c = t->plan.chunk;
	if (len == 0 || !bfs_inside(pos, len, c->head.nbytes) ||
	    t->plan.span.special != BFS_CHUNK_BLOCKS)
		return;
	k = bfs_chunk_block_at(c, pos);
	last = bfs_chunk_block_at(c, (uint32_t)(pos + len - 1));
	if (c->needs_ref && k > 0)
		add_block(t, 0);
	for (; k <= last && t->n_blocks < MAX_BLOCKS; k++, t->n_blocks++)
		add_block(t, k);
}

/* ---- where a range lies ---------------------------------------------- */

typedef void visit_fn(struct telling *t, uint64_t n, uint32_t pos,
		      uint64_t len);

static bool goes_on(const struct telling *t)
{
	return !t->over && t->n_blocks < MAX_BLOCKS;
}

static void visit_joined(struct telling *t, uint64_t off, uint64_t len,
			 visit_fn *visit)
{
	struct bfs_container *f = t->array->container;
	uint64_t n, begin, end;

	while (len > 0 && goes_on(t)) {
		if (bfs_container_chunk_at(f, off, &n, NULL) != BFS_OK ||
		    bfs_container_chunk_off(f, n, &begin, NULL) != BFS_OK ||
		    bfs_container_chunk_off(f, n + 1, &end, NULL) != BFS_OK)
			return;
		end = bfs_min(len, end - off);
		visit(t, n, (uint32_t)(off - begin), end);
		off += end;
		len -= end;
	}
}

static void visit_tiles(struct telling *t, struct bfs_nd_walk *walk,
			visit_fn *visit)
{
	struct bfs_nd_piece piece;

	while (goes_on(t) && bfs_nd_walk_next(walk, &piece))
		visit(t, piece.chunk,
		      (uint32_t)(piece.block * t->array->nd.block_len), 1);
}

static void visit_range(struct telling *t, const struct bfs_stream *s,
			uint64_t off, uint64_t len, visit_fn *visit)
{
	struct bfs_array *a = t->array;
	struct bfs_nd_walk walk;

	t->n_blocks = 0;
	if (s->kind == BFS_STREAM_CHUNK) {
		visit(t, s->index, (uint32_t)off, len);
	} else if (s->kind == BFS_STREAM_TILE) {
		bfs_nd_walk_init_tile(&walk, &a->nd, s->index, off, len);
		visit_tiles(t, &walk, visit);
	} else if (s->kind == BFS_STREAM_DATA && a->has_nd) {
		bfs_nd_walk_init(&walk, &a->nd, off, len);
		visit_tiles(t, &walk, visit);
	} else {
		visit_joined(t, off, len, visit);
	}
	flush(t);
}

/* Metalayers and stored bytes are one read each; so are chunks with files of
 * their own, whose sources are not told. */
static bool is_worth_it(const struct bfs_array *a, const struct bfs_stream *s)
{
	return !a->container->ops->source && !a->plain &&
	       (s->kind == BFS_STREAM_DATA || s->kind == BFS_STREAM_JOINED ||
		s->kind == BFS_STREAM_CHUNK || s->kind == BFS_STREAM_TILE);
}

/* A long read at the beginning is likely the first of many. Where each wait is
 * dear, more is asked for at once than to see first that others follow. */
static void add_beginning(struct telling *t, const struct bfs_stream *s,
			  uint64_t len)
{
	uint64_t n = s->kind == BFS_STREAM_CHUNK ? s->index : 0;
	struct bfs_span span;

	if (len < LONG_READ || s->kind == BFS_STREAM_TILE ||
	    (s->kind == BFS_STREAM_DATA && !bfs_array_in_order(t->array)) ||
	    bfs_container_span(t->array->container, n, &span, NULL) != BFS_OK ||
	    span.special != BFS_CHUNK_BLOCKS ||
	    span.off >= bfs_source_len(t->source))
		return;
	/* No more than that, as it is in vain when no other read follows. */
	add_range(t, span.off,
		  bfs_min(bfs_max(BEGINNING,
				  bfs_min(2 * t->source->wait_cost,
					  MOST_BEGINNING)),
			  bfs_source_len(t->source) - span.off));
}

void bfs_array_tell_now(struct bfs_array *a, const struct bfs_stream *s,
			uint64_t off, uint64_t len)
{
	uint64_t mark = bfs_moment_mark();
	struct telling t = { .array = a, .source = a->container->source };

	if (!is_worth_it(a, s))
		return;
	if (t.source->wait_cost && off == 0)
		add_beginning(&t, s, len);
	visit_range(&t, s, off, len, visit_head);
	t.has_chunk = false;
	if (!t.over)
		visit_range(&t, s, off, len, visit_blocks);
	drop_plan(&t);
	bfs_moment_forget(mark);
}
