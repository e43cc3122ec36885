/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * priv.h - what the files of the array room share: the engine, and
 * fetching blocks of one chunk.
 */
#ifndef BFS_ARRAY_PRIV_H
#define BFS_ARRAY_PRIV_H

#include "array/array.h"
#include "array/plan_cache.h"
#include "base/mem_turn.h"
#include "base/pool.h"

#include <pthread.h>

/* Chunk numbers of the cache: data chunks as they are, metalayers that are
 * chunks with one of these bits. */
#define BFS_VLMETA_ID (UINT64_C(1) << 63)
#define BFS_META_ID (UINT64_C(1) << 62)

/* Blocks fetched in one go. */
#define BFS_FETCH_MAX 32

struct bfs_engine {
	struct bfs_budget *budget;	/* that of the thread which made it */
	struct bfs_cache *cache;
	struct bfs_pool *pool;		/* decodes ahead */
	unsigned n_threads;		/* of the pool, at most */
	uint64_t budget_len;		/* of the cache */
	atomic_bool ending;		/* all calls are to be given up */
	struct bfs_plan_shard plans[BFS_PLAN_SHARDS];

	pthread_mutex_t scratch_lock;	/* guards the three below */
	struct bfs_scratch **scratch;
	size_t n_scratch, scratch_cap;

	struct bfs_turn_spare spare;

	_Atomic uint64_t decoded_len, decode_ns, source_len, n_source_reads;
	_Atomic uint64_t n_plans, n_plan_hits;
};

void bfs_ahead_init(struct bfs_ahead *ahead);
/* Waits for the jobs of the array. */
void bfs_ahead_release(struct bfs_ahead *ahead);
/* Takes note of a read of [off, off + len) of a stream of stream_len bytes,
 * and starts decoding what comes next. True for a sequential reader. */
bool bfs_ahead_note(struct bfs_array *array, const struct bfs_stream *stream,
		    uint64_t off, size_t len, uint64_t stream_len);
/* A call for what is decoded before it is asked for. Half of the cache's budget
 * bounds one step: blocks that find no room in the cache until they are asked
 * for would be decoded in vain. */
void bfs_ahead_init_call(struct bfs_call *call, struct bfs_array *array);
/* Fetches the blocks along a walk. whole: all of their chunks will be read
 * soon. */
void bfs_ahead_fetch_tiles(struct bfs_array *array, struct bfs_nd_walk *walk,
			   bool whole);
/* Before a range of a tiled array is gathered: where that takes very many
 * blocks, other threads begin with the later parts of it, until the range is
 * done or given up. NULL, which is fine to end, where they do not. */
struct bfs_shares *bfs_shares_start(struct bfs_array *array, uint64_t off,
				    size_t len);
void bfs_shares_end(struct bfs_shares *shares);

/* Tells a source that is_told what reading [off, off + len) of a stream will
 * ask it for; at no cost for others. It may read headers of chunks, and
 * whatever fails in it fails again when the range is read. */
void bfs_array_tell_now(struct bfs_array *array,
			const struct bfs_stream *stream, uint64_t off,
			uint64_t len);
static inline void bfs_array_tell(struct bfs_array *array,
				  const struct bfs_stream *stream,
				  uint64_t off, uint64_t len)
{
	if (BFS_UNLIKELY(array->container->source->is_told))
		bfs_array_tell_now(array, stream, off, len);
}

/* With ahead's lock held: takes note of a read; its reader. */
struct bfs_reader *bfs_reader_note(struct bfs_ahead *ahead,
				   const struct bfs_stream *stream,
				   uint64_t off, size_t len);
bool bfs_reader_is_sequential(const struct bfs_reader *reader);
/* Reads of one length at equal distances, with gaps between. */
bool bfs_reader_is_stepping(const struct bfs_reader *reader);

/* A scratch for this thread until it is given back; NULL: no memory. */
struct bfs_scratch *bfs_engine_take_scratch(struct bfs_engine *engine);
void bfs_engine_give_scratch(struct bfs_engine *engine,
			     struct bfs_scratch *scratch);

/* The kin of an opening (array/kin.c): makes one of its own; gives it up, and
 * with the last opening of the kin its plans and blocks. */
enum bfs_err bfs_kin_new(struct bfs_array *array) BFS_MUST_CHECK;
void bfs_kin_put(struct bfs_array *array);
/* Sets in which generation the blocks of a new plan lie. known: the plan that
 * an opening before this one had, or NULL. */
void bfs_kin_place(struct bfs_array *array, uint64_t id, struct bfs_plan *plan,
		   const struct bfs_plan *known);

/* Keeps the fingerprint of a chunk that was looked at, so that a later opening
 * is held against it. */
void bfs_kin_note(struct bfs_array *array, uint64_t id,
		  const struct bfs_plan *plan);

/* The source of a planned chunk, referenced. CHANGED when it is no longer
 * the file that was planned. */
enum bfs_err bfs_array_source(struct bfs_array *array, uint64_t id,
			      const struct bfs_plan *plan,
			      struct bfs_source **ret_source,
			      struct bfs_diag *diag) BFS_MUST_CHECK;

/* Keeps a fault of a chunk id, where err says that it is one, and no error of
 * the moment was met since the mark. Returns err. */
enum bfs_err bfs_array_fault(struct bfs_array *array, uint64_t id,
			     uint64_t mark, enum bfs_err err,
			     const struct bfs_diag *why);

/* The plan of a chunk id (data chunk or one of the bits | i), referenced. */
enum bfs_err bfs_array_find_plan(struct bfs_array *array, uint64_t id,
				 struct bfs_plan *ret_plan,
				 struct bfs_diag *diag) BFS_MUST_CHECK;

/* Whether bfs_array_find_plan would find it without reading. */
bool bfs_array_knows_plan(struct bfs_array *array, uint64_t id);

/* Pins the n (<= BFS_FETCH_MAX) listed blocks of a chunk, in that order;
 * what is missing is read and decoded by the caller's thread. All or none
 * are pinned. */
enum bfs_err bfs_array_fetch(struct bfs_array *array, uint64_t id,
			     const struct bfs_plan *plan,
			     const uint32_t *blocks, size_t n,
			     struct bfs_cache_pin *ret_pins,
			     struct bfs_diag *diag) BFS_MUST_CHECK;

/* Chunk n as stored and as a lazy chunk (array/raw.c). */
enum bfs_err bfs_array_raw_len(struct bfs_array *array, uint64_t n,
			       uint64_t *ret_len,
			       struct bfs_diag *diag) BFS_MUST_CHECK;
enum bfs_err bfs_array_raw_read(struct bfs_array *array, uint64_t n,
				uint64_t off, void *dst, size_t len,
				struct bfs_diag *diag) BFS_MUST_CHECK;
enum bfs_err bfs_array_lazy_len(struct bfs_array *array, uint64_t n,
				uint64_t *ret_len,
				struct bfs_diag *diag) BFS_MUST_CHECK;
enum bfs_err bfs_array_lazy_read(struct bfs_array *array, uint64_t n,
				 uint64_t off, void *dst, size_t len,
				 struct bfs_diag *diag) BFS_MUST_CHECK;

/* Whether all bytes of the chunk are zeros that need no block (array/copy.c).
 */
static inline bool bfs_array_is_zero(const struct bfs_chunk *chunk)
{
	return chunk->head.kind == BFS_CHUNK_ZEROS ||
	       chunk->head.kind == BFS_CHUNK_UNINIT;
}
/* Copies [pos, pos + len) of one chunk (an id as above). */
enum bfs_err bfs_array_copy(struct bfs_array *array, uint64_t id, uint32_t pos,
			    uint8_t *dst, size_t len,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

/* Copies [off, off + len) of the array in C order. */
enum bfs_err bfs_array_gather(struct bfs_array *array, uint64_t off,
			      uint8_t *dst, size_t len,
			      struct bfs_diag *diag) BFS_MUST_CHECK;
/* The same of chunk n (< n_chunks) as BFS_STREAM_TILE has it. */
enum bfs_err bfs_array_gather_tile(struct bfs_array *array, uint64_t n,
				   uint64_t off, uint8_t *dst, size_t len,
				   struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
