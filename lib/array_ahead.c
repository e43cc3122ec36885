/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * array_ahead.c - sequential readers: recognised by where their reads begin,
 * helped by decoding what comes next in a thread of the pool.
 *
 * A reader is known by its stream and the place where its next read should
 * begin; requests of one reader arrive out of order, within a window. A job
 * decodes into the cache and keeps nothing; the array counts its jobs, and
 * closing waits for them.
 */
#include "array_priv.h"

#include "bytes.h"
#include "mem.h"

#include <stdatomic.h>

/* How far reads of one reader may be out of order. */
#define WINDOW (UINT64_C(2) << 20)
/* In a row before a reader counts as sequential. */
#define RUN 3
/* Decoded ahead of a reader, if blocks are not larger, and in one step. */
#define AHEAD (UINT64_C(2) << 20)
#define STEP (UINT64_C(256) << 10)
/* Requests from here on need no help. */
#define LARGE (UINT64_C(512) << 10)

/* One reader being kept ahead of. The job stays as long as the reader comes
 * on: starting another costs a wake-up. */
struct job {
	struct bfs_array *array;
	struct bfs_reader *reader;
	uint64_t number;		/* of the reader */
	struct bfs_stream stream;
	uint64_t stream_len;
};

void bfs_ahead_init(struct bfs_ahead *ahead)
{
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->done, NULL);
}

void bfs_ahead_release(struct bfs_ahead *ahead)
{
	pthread_mutex_lock(&ahead->lock);
	while (ahead->n_jobs > 0)
		pthread_cond_wait(&ahead->done, &ahead->lock);
	pthread_mutex_unlock(&ahead->lock);
	pthread_cond_destroy(&ahead->done);
	pthread_mutex_destroy(&ahead->lock);
}

static bool same_stream(const struct bfs_stream *a, const struct bfs_stream *b)
{
	return a->kind == b->kind && a->index == b->index;
}

/* With the lock held: the reader whose next read this may be, or the slot
 * that was not used for longest. */
static struct bfs_reader *find_reader(struct bfs_ahead *ahead,
				      const struct bfs_stream *stream,
				      uint64_t off, bool *ret_known)
{
	struct bfs_reader *oldest = &ahead->readers[0];
	unsigned i;

	*ret_known = false;
	for (i = 0; i < BFS_READERS; i++) {
		struct bfs_reader *r = &ahead->readers[i];

		if (r->used && same_stream(&r->stream, stream) &&
		    off + WINDOW >= r->next && off <= r->next + WINDOW) {
			*ret_known = true;
			return r;
		}
		if (r->used < oldest->used)
			oldest = r;
	}
	return oldest;
}

/* With the lock held: takes note of a read. */
static struct bfs_reader *note_read(struct bfs_ahead *ahead,
				    const struct bfs_stream *stream,
				    uint64_t off, size_t len)
{
	bool known;
	struct bfs_reader *r = find_reader(ahead, stream, off, &known);

	r->used = ++ahead->clock;
	if (!known)
		*r = (struct bfs_reader){ .stream = *stream, .next = off,
					  .used = r->used,
					  .number = r->used };
	/* Reads that only fill the gap behind do not count. */
	if (off + len > r->next) {
		r->run = off <= r->next ? r->run + 1 : r->run / 2;
		r->next = off + len;
	}
	return r;
}

static void fetch_linear(struct bfs_array *a, uint64_t id, uint32_t pos,
			 size_t len)
{
	struct bfs_cache_pin pin;
	struct bfs_plan plan;
	uint32_t k, last;

	if (bfs_array_find_plan(a, id, &plan, NULL) != BFS_OK)
		return;
	if (bfs_inside(pos, len, plan.chunk->head.nbytes) && len > 0 &&
	    plan.chunk->head.kind != BFS_CHUNK_ZEROS &&
	    plan.chunk->head.kind != BFS_CHUNK_UNINIT) {
		k = bfs_chunk_block_at(plan.chunk, pos);
		last = bfs_chunk_block_at(plan.chunk,
					  pos + (uint32_t)len - 1);
		for (; k <= last; k++) {
			struct bfs_cache_key key = { a->gen, id, k };

			if (bfs_cache_has(a->engine->cache, &key))
				continue;
			if (bfs_array_fetch(a, id, &plan, &k, 1, &pin, NULL))
				break;
			bfs_cache_unpin(a->engine->cache, &pin, false);
		}
	}
	bfs_chunk_unref(plan.chunk);
}

static void run_linear(struct job *j, uint64_t off, uint64_t last)
{
	struct bfs_frame *f = j->array->frame;
	uint64_t n, begin, end;

	if (j->stream.kind == BFS_STREAM_CHUNK) {
		fetch_linear(j->array, j->stream.index, (uint32_t)off,
			     (size_t)(last - off));
		return;
	}
	while (off < last) {
		if (bfs_frame_chunk_at(f, off, &n, NULL) != BFS_OK ||
		    bfs_frame_chunk_off(f, n, &begin, NULL) != BFS_OK ||
		    bfs_frame_chunk_off(f, n + 1, &end, NULL) != BFS_OK)
			return;
		end = bfs_min(end, last);
		fetch_linear(j->array, n, (uint32_t)(off - begin),
			     (size_t)(end - off));
		off = end;
	}
}

static void run_tiles(struct job *j, uint64_t off, uint64_t last)
{
	struct bfs_array *a = j->array;
	struct bfs_nd_walk walk;
	struct bfs_nd_piece piece;
	struct bfs_cache_pin pin;
	struct bfs_plan plan;

	if (a->plain)
		return;
	bfs_nd_walk_init(&walk, &a->nd, off, last - off);
	while (bfs_nd_walk_next(&walk, &piece)) {
		struct bfs_cache_key key = { a->gen, piece.chunk,
					     piece.block };
		uint32_t k = (uint32_t)piece.block;
		enum bfs_err err = BFS_OK;

		if (bfs_cache_has(a->engine->cache, &key))
			continue;
		if (bfs_array_find_plan(a, piece.chunk, &plan, NULL))
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

/* What is worth decoding next: an eighth of the cache at most. */
static uint64_t ahead_len(const struct bfs_array *a)
{
	uint64_t len = bfs_max(AHEAD, 2 * (uint64_t)a->frame->blocksize);

	return bfs_min(len, a->engine->budget_len / 8);
}

/* The next step of a job; false when the reader is gone or far behind. */
static bool next_step(struct job *j, uint64_t *ret_off, uint64_t *ret_last)
{
	struct bfs_ahead *ahead = &j->array->ahead;
	struct bfs_reader *r = j->reader;
	uint64_t off, last;
	bool more;

	pthread_mutex_lock(&ahead->lock);
	more = r->number == j->number && r->run >= RUN;
	if (more) {
		off = bfs_max(r->next, r->ahead);
		last = bfs_min(j->stream_len, r->next + ahead_len(j->array));
		last = bfs_min(last, off + STEP);
		more = off < last;
		if (more) {
			r->ahead = last;
			*ret_off = off;
			*ret_last = last;
		}
	}
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
	uint64_t off, last;

	while (next_step(j, &off, &last)) {
		if (j->stream.kind == BFS_STREAM_DATA && j->array->has_nd)
			run_tiles(j, off, last);
		else
			run_linear(j, off, last);
	}
	bfs_free(j);
}

/* Counted already; gives the count back where no thread can be had. */
static void start_job(struct bfs_array *a, struct bfs_reader *r,
		      uint64_t number, const struct bfs_stream *stream,
		      uint64_t stream_len)
{
	struct job *j = bfs_alloc(sizeof(*j));

	if (j) {
		*j = (struct job){ a, r, number, *stream, stream_len };
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

bool bfs_ahead_note(struct bfs_array *a, const struct bfs_stream *stream,
		    uint64_t off, size_t len, uint64_t stream_len)
{
	struct bfs_ahead *ahead = &a->ahead;
	uint64_t number = 0;
	struct bfs_reader *r;
	bool sequential, start;

	if (stream->kind != BFS_STREAM_DATA &&
	    stream->kind != BFS_STREAM_JOINED &&
	    stream->kind != BFS_STREAM_CHUNK)
		return false;
	pthread_mutex_lock(&ahead->lock);
	r = note_read(ahead, stream, off, len);
	sequential = r->run >= RUN;
	/* Half of the distance is left before a job is worth it again. Large
	 * requests come several at a time and keep all CPUs busy as it is. */
	start = sequential && !r->busy && len < LARGE &&
		r->next < stream_len &&
		r->ahead < r->next + ahead_len(a) / 2 && r->ahead < stream_len;
	if (start) {
		r->busy = true;
		number = r->number;
		ahead->n_jobs++;
	}
	pthread_mutex_unlock(&ahead->lock);
	if (start)
		start_job(a, r, number, stream, stream_len);
	return sequential;
}
