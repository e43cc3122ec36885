/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ahead.c - threads of the pool decode what a reader in order, or in equal
 * steps, will want next.
 *
 * A job decodes into the cache and keeps no pins. The array counts its jobs,
 * and closing it waits for them. Each job works for a call of its own (call.h),
 * which bounds what a guess may cost.
 */
#include "array/priv.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/call.h"
#include "base/mem.h"
#include "base/moment.h"

#include <stdatomic.h>

/* How far ahead of a reader to decode, unless blocks are larger; and how much
 * of that in one step. */
#define AHEAD (UINT64_C(2) << 20)
#define STEP (UINT64_C(256) << 10)
/* Reads ahead of a reader that steps. */
#define STEPS 16

/* Decodes ahead of one reader. The job stays as long as the reader goes on:
 * starting another one costs a wake-up. */
struct job {
	struct bfs_array *array;
	struct bfs_reader *reader;
	uint64_t number;		/* of the reader */
	struct bfs_stream stream;
	uint64_t stream_len;
	bool in_order;			/* the reader is, at present */
	struct bfs_call call;
};

void bfs_ahead_init(struct bfs_ahead *ahead)
{
	atomic_init(&ahead->ending, false);
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->done, NULL);
}

void bfs_ahead_init_call(struct bfs_call *call, struct bfs_array *a)
{
	bfs_call_init(call);
	call->limit = a->engine->budget_len / 2;
	call->ends[0] = &a->ahead.ending;
	call->ends[1] = &a->engine->ending;
}

void bfs_ahead_release(struct bfs_ahead *ahead)
{
	atomic_store(&ahead->ending, true);
	pthread_mutex_lock(&ahead->lock);
	while (ahead->n_jobs > 0)
		pthread_cond_wait(&ahead->done, &ahead->lock);
	pthread_mutex_unlock(&ahead->lock);
	pthread_cond_destroy(&ahead->done);
	pthread_mutex_destroy(&ahead->lock);
}

/* The plan of a chunk that will soon be read whole. Where the plan is new, the
 * kernel is told to fetch the chunk's bytes. */
static bool find_plan(struct bfs_array *a, uint64_t id, struct bfs_plan *plan)
{
	bool known = bfs_array_knows_plan(a, id);
	struct bfs_source *source;

	if (bfs_array_find_plan(a, id, plan, NULL) != BFS_OK)
		return false;
	if (!known && plan->span.special == BFS_CHUNK_BLOCKS &&
	    bfs_array_source(a, id, plan, &source, NULL) == BFS_OK) {
		bfs_source_will_need(source, plan->span.off,
				     plan->chunk->head.cbytes);
		bfs_source_unref(source);
	}
	return true;
}

static void fetch_linear(struct bfs_array *a, uint64_t id, uint32_t pos,
			 size_t len)
{
	struct bfs_cache_pin pin;
	struct bfs_plan plan;
	uint32_t k, last;

	if (!find_plan(a, id, &plan))
		return;
	if (bfs_inside(pos, len, plan.chunk->head.nbytes) && len > 0 &&
	    plan.chunk->head.kind != BFS_CHUNK_ZEROS &&
	    plan.chunk->head.kind != BFS_CHUNK_UNINIT) {
		k = bfs_chunk_block_at(plan.chunk, pos);
		last = bfs_chunk_block_at(plan.chunk,
					  pos + (uint32_t)len - 1);
		for (; k <= last; k++) {
			struct bfs_cache_key key = { plan.gen, id, k };

			if (bfs_cache_has(a->engine->cache, &key))
				continue;
			if (bfs_array_fetch(a, id, &plan, &k, 1, &pin, NULL))
				break;
			bfs_cache_unpin(a->engine->cache, &pin, false);
		}
	}
	bfs_chunk_unref(plan.chunk);
}

static void run_linear(const struct job *j, uint64_t off, uint64_t last)
{
	struct bfs_container *f = j->array->container;
	uint64_t n, begin, end;

	if (j->stream.kind == BFS_STREAM_CHUNK) {
		fetch_linear(j->array, j->stream.index, (uint32_t)off,
			     (size_t)(last - off));
		return;
	}
	while (off < last) {
		if (bfs_container_chunk_at(f, off, &n, NULL) != BFS_OK ||
		    bfs_container_chunk_off(f, n, &begin, NULL) != BFS_OK ||
		    bfs_container_chunk_off(f, n + 1, &end, NULL) != BFS_OK)
			return;
		end = bfs_min(end, last);
		fetch_linear(j->array, n, (uint32_t)(off - begin),
			     (size_t)(end - off));
		off = end;
	}
}

void bfs_ahead_fetch_tiles(struct bfs_array *a, struct bfs_nd_walk *walk,
			   bool whole)
{
	struct bfs_nd_piece piece;
	struct bfs_cache_pin pin;
	struct bfs_plan plan;

	if (a->plain)
		return;
	while (bfs_nd_walk_next(walk, &piece)) {
		struct bfs_cache_key key = { a->kin_gen, piece.chunk,
					     piece.block };
		uint32_t k = (uint32_t)piece.block;
		enum bfs_err err = BFS_OK;

		if (bfs_cache_has(a->engine->cache, &key))
			continue;
		if (whole ? !find_plan(a, piece.chunk, &plan) :
			    bfs_array_find_plan(a, piece.chunk, &plan, NULL) !=
			    BFS_OK)
			return;
		if (k < plan.chunk->head.n_blocks &&
		    plan.chunk->head.kind != BFS_CHUNK_ZEROS &&
		    plan.chunk->head.kind != BFS_CHUNK_UNINIT) {
			err = bfs_array_fetch(a, piece.chunk, &plan, &k, 1,
					      &pin, NULL);
			if (err == BFS_OK)
				bfs_cache_unpin(a->engine->cache, &pin, false);
		}
		bfs_chunk_unref(plan.chunk);
		if (err != BFS_OK)
			return;
	}
}

static void run_tiles(struct job *j, uint64_t off, uint64_t last)
{
	struct bfs_array *a = j->array;
	struct bfs_nd_walk walk;

	if (j->stream.kind == BFS_STREAM_TILE)
		bfs_nd_walk_init_tile(&walk, &a->nd, j->stream.index, off,
				      last - off);
	else
		bfs_nd_walk_init(&walk, &a->nd, off, last - off);
	bfs_ahead_fetch_tiles(a, &walk, j->in_order);
}

/* What is worth decoding next: an eighth of the cache at most. */
static uint64_t ahead_len(const struct bfs_array *a)
{
	uint64_t len = bfs_max(AHEAD, 2 * (uint64_t)a->container->blocksize);

	return bfs_min(len, a->engine->budget_len / 8);
}

static bool next_in_order(const struct job *j, struct bfs_reader *r,
			  uint64_t *ret_off, uint64_t *ret_last)
{
	uint64_t off = bfs_max(r->next, r->ahead);
	uint64_t last = bfs_min(j->stream_len, r->next + ahead_len(j->array));

	last = bfs_min(last, off + STEP);
	if (off >= last)
		return false;
	r->ahead = last;
	*ret_off = off;
	*ret_last = last;
	return true;
}

/* How many reads to be ahead. */
static uint64_t count_steps(const struct bfs_array *a,
			    const struct bfs_reader *r)
{
	uint64_t len = bfs_max(r->len, a->container->blocksize);

	return bfs_max(1, bfs_min(STEPS, ahead_len(a) / bfs_max(1, len)));
}

/* Where a reader that steps is not ahead yet. */
static uint64_t next_place(const struct bfs_reader *r)
{
	return r->ahead > r->last && (r->ahead - r->last) % r->step == 0 ?
	       r->ahead : r->last + r->step;
}

static bool next_in_steps(const struct job *j, struct bfs_reader *r,
			  uint64_t *ret_off, uint64_t *ret_last)
{
	uint64_t off = next_place(r);

	if (off >= j->stream_len ||
	    (off - r->last) / r->step > count_steps(j->array, r))
		return false;
	r->ahead = off + r->step;
	*ret_off = off;
	*ret_last = off + bfs_min(r->len, j->stream_len - off);
	return true;
}

/* The next step of a job; false when the reader is gone or far behind. */
static bool next_step(struct job *j, uint64_t *ret_off, uint64_t *ret_last)
{
	struct bfs_ahead *ahead = &j->array->ahead;
	struct bfs_reader *r = j->reader;
	bool same, more = false;

	pthread_mutex_lock(&ahead->lock);
	BFS_CHECK(ahead->n_jobs > 0);
	same = r->number == j->number &&
	       bfs_call_check(NULL) == BFS_OK;
	j->call.spent = 0;
	j->in_order = same && bfs_reader_is_sequential(r);
	if (j->in_order)
		more = next_in_order(j, r, ret_off, ret_last);
	else if (same && bfs_reader_is_stepping(r))
		more = next_in_steps(j, r, ret_off, ret_last);
	if (!more && r->number == j->number)
		r->busy = false;
	if (!more && --ahead->n_jobs == 0)
		pthread_cond_broadcast(&ahead->done);
	pthread_mutex_unlock(&ahead->lock);
	return more;
}

static void run_job(void *arg)
{
	struct job *j = arg;
	struct bfs_call *before = bfs_call_enter(&j->call);
	uint64_t off, last;

	while (next_step(j, &off, &last)) {
		struct bfs_turn turn;

		/* Nobody asked for it yet, so it does not wait. */
		bfs_turn_begin(&turn, j->array->engine->budget, false);
		bfs_array_tell(j->array, &j->stream, off, last - off);
		if (j->stream.kind == BFS_STREAM_TILE ||
		    (j->stream.kind == BFS_STREAM_DATA && j->array->has_nd))
			run_tiles(j, off, last);
		else
			run_linear(j, off, last);
		bfs_turn_end(&turn);
	}
	bfs_call_leave(before);
	bfs_free(j);
}

/* The job has been counted; where no thread can be had the count is taken
 * back. */
static void start_job(struct bfs_array *a, struct bfs_reader *r,
		      uint64_t number, const struct bfs_stream *stream,
		      uint64_t stream_len)
{
	struct job *j = bfs_alloc(sizeof(*j));

	if (j) {
		*j = (struct job){ .array = a, .reader = r, .number = number,
				   .stream = *stream,
				   .stream_len = stream_len };
		bfs_ahead_init_call(&j->call, a);
		if (bfs_pool_submit(a->engine->pool, run_job, j))
			return;
		bfs_free(j);
	}
	pthread_mutex_lock(&a->ahead.lock);
	if (r->number == number)
		r->busy = false;
	if (--a->ahead.n_jobs == 0)
		pthread_cond_broadcast(&a->ahead.done);
	pthread_mutex_unlock(&a->ahead.lock);
}

/* A new job is worth it when less than half of the distance is decoded. */
static bool wants_job(const struct bfs_array *a, const struct bfs_reader *r,
		      uint64_t stream_len)
{
	/* A single CPU has no time to be ahead. */
	if (r->busy || a->engine->n_threads < 2)
		return false;
	if (bfs_reader_is_sequential(r))
		return r->next < stream_len &&
		       r->ahead < r->next + ahead_len(a) / 2 &&
		       r->ahead < stream_len;
	return bfs_reader_is_stepping(r) && next_place(r) < stream_len &&
	       (next_place(r) - r->last) / r->step <=
	       (count_steps(a, r) + 1) / 2;
}

bool bfs_ahead_note(struct bfs_array *a, const struct bfs_stream *stream,
		    uint64_t off, size_t len, uint64_t stream_len)
{
	struct bfs_ahead *ahead = &a->ahead;
	uint64_t number = 0;
	struct bfs_reader *r;
	bool sequential, start;

	if (stream->kind != BFS_STREAM_DATA &&
	    stream->kind != BFS_STREAM_JOINED &&
	    stream->kind != BFS_STREAM_CHUNK &&
	    stream->kind != BFS_STREAM_TILE)
		return false;
	pthread_mutex_lock(&ahead->lock);
	r = bfs_reader_note(ahead, stream, off, len);
	sequential = bfs_reader_is_sequential(r);
	start = wants_job(a, r, stream_len);
	if (start) {
		r->busy = true;
		number = r->number;
		ahead->n_jobs++;
	}
	pthread_mutex_unlock(&ahead->lock);
	if (start) {
		uint64_t mark = bfs_moment_mark();

		start_job(a, r, number, stream, stream_len);
		bfs_moment_forget(mark);
	}
	return sequential;
}
