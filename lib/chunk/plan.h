/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.h - one chunk: its header checked into a plan, one block decoded.
 *
 * bfs_chunk_parse reads facts from the header alone. bfs_chunk_open makes
 * the plan: header, bstarts, dictionary, all checked once. After that any
 * block is decoded from its own compressed bytes, by any thread, without
 * allocating. See docs/formats/chunk.md.
 */
#ifndef BFS_CHUNK_PLAN_H
#define BFS_CHUNK_PLAN_H

#include "chunk/head.h"
#include "codec/codec.h"
#include "base/err.h"
#include "filter/filter.h"
#include "source/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A plan's first read takes the tables of most chunks with the header. */
#define BFS_CHUNK_FIRST_READ 512

struct bfs_chunk_filter {
	const struct bfs_filter *op;
	uint8_t meta;
};

struct bfs_chunk;

/* What a container does to decoded blocks, behind codec and filters: to len
 * bytes at off of the chunk. The place in diag counts from the start of the
 * container's source. */
struct bfs_chunk_last {
	enum bfs_err (*run)(void *arg, const struct bfs_chunk *chunk,
			    uint32_t off, uint8_t *dst, size_t len,
			    struct bfs_diag *diag);	/* NULL: nothing */
	void *arg;			/* borrowed: the container */
};

/* A plan. Immutable once opened; shared by reference count. */
struct bfs_chunk {
	struct bfs_chunk_head head;
	struct bfs_codec_env env;
	_Atomic uint32_t refs;
	const struct bfs_codec *codec;
	struct bfs_chunk_filter filters[BFS_N_FILTER_SLOTS]; /* undo order */
	unsigned n_filters;
	bool needs_ref;			/* delta: blocks > 0 want block 0 */
	struct bfs_chunk_last last;	/* set by who opened the plan, before
					 * others see it */
	uint8_t value[8];		/* a short repeated value or NaN */
	uint8_t *long_value;		/* a longer one, value_len bytes */
	uint8_t *dict;
	uint32_t dict_len;
	struct bfs_codec_dict *ready_dict;
	uint32_t *starts;		/* n_blocks, in the chunk */
	uint32_t *spans;		/* n_blocks: compressed bytes */
	uint64_t fingerprint;		/* of its first bytes, as stored */
	uint32_t *vl_offs;		/* n_blocks + 1: where blocks begin */
	size_t mem_len;			/* what the plan holds, bytes */
};

/* Reads and checks header, bstarts and dictionary of the chunk at `off` of
 * `source`, of which at most `avail` bytes belong to it. want_nbytes is what
 * the container says it must decode to (UINT32_MAX: unknown). `env` is
 * copied. The place in diag counts from the chunk's start. UNSUPPORTED names
 * the codec or filter. */
enum bfs_err bfs_chunk_open(struct bfs_source *source, uint64_t off,
			    uint64_t avail, uint32_t want_nbytes,
			    const struct bfs_codec_env *env,
			    struct bfs_chunk **ret_chunk,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

/* The fingerprint that a plan of the chunk at `off` would have: a hash of the
 * chunk's first bytes as stored, never 0. */
enum bfs_err bfs_chunk_fingerprint(struct bfs_source *source, uint64_t off,
				   uint64_t avail, uint64_t *ret_fingerprint,
				   struct bfs_diag *diag) BFS_MUST_CHECK;

/* A plan for a chunk that is stored nowhere (special entries of an index).
 * kind: ZEROS, NAN or UNINIT; blocksize only shapes its blocks. */
enum bfs_err bfs_chunk_special(enum bfs_chunk_kind kind, uint32_t nbytes,
			       uint32_t typesize, uint32_t blocksize,
			       struct bfs_chunk **ret_chunk,
			       struct bfs_diag *diag) BFS_MUST_CHECK;

struct bfs_chunk *bfs_chunk_ref(struct bfs_chunk *chunk);
void bfs_chunk_unref(struct bfs_chunk *chunk);	/* NULL is fine */

/* Where block k begins in the decoded chunk, and how long it is. */
uint32_t bfs_chunk_block_off(const struct bfs_chunk *chunk, uint32_t k);
uint32_t bfs_chunk_block_len(const struct bfs_chunk *chunk, uint32_t k);
/* The block that holds decoded byte `pos` (< nbytes). */
uint32_t bfs_chunk_block_at(const struct bfs_chunk *chunk, uint32_t pos);
/* The compressed bytes of block k, from the chunk's start. 0 bytes for
 * special kinds. */
void bfs_chunk_block_span(const struct bfs_chunk *chunk, uint32_t k,
			  uint32_t *ret_off, uint32_t *ret_len);
/* How many streams block k has; 0: one or as many as an item has bytes, which
 * chunks of version 1 and 2 do not tell. */
uint32_t bfs_chunk_n_streams(const struct bfs_chunk *chunk, uint32_t k);

/* Working memory and codec states of one thread at a time. */
struct bfs_scratch {
	struct bfs_codec_states *codecs;
	struct bfs_budget *budget;	/* of all buffers */
	uint8_t *buf[2];		/* filter stages; n_bufs are there */
	unsigned n_bufs;
	size_t buf_len;
	uint8_t *in;			/* the caller's: compressed bytes */
	size_t in_len;
};

struct bfs_scratch *bfs_scratch_new(void);		/* NULL: no memory */
void bfs_scratch_free(struct bfs_scratch *scratch);
/* Makes `in` at least that long; and as many bufs as the chunk's filters need
 * (0, 1 or 2), for blocks of up to buf_len bytes. After NOMEM they may be
 * NULL. */
enum bfs_err bfs_scratch_fit_in(struct bfs_scratch *scratch, size_t in_len)
	BFS_MUST_CHECK;
enum bfs_err bfs_scratch_fit(struct bfs_scratch *scratch,
			     const struct bfs_chunk *chunk, size_t buf_len)
	BFS_MUST_CHECK;

/* Decodes block k into dst (bfs_chunk_block_len bytes). `in` are the bytes of
 * its span. `ref`: the finished block 0, needed if needs_ref and k > 0. The
 * scratch must have been fitted for the largest block. */
enum bfs_err bfs_chunk_decode(const struct bfs_chunk *chunk, uint32_t k,
			      const uint8_t *in, size_t in_len,
			      const uint8_t *ref, uint8_t *dst,
			      struct bfs_scratch *scratch,
			      struct bfs_diag *diag) BFS_MUST_CHECK;

/* The last stage, on block k that was decoded or copied into dst. Only while
 * the container that the plan was made for is open. */
static inline enum bfs_err bfs_chunk_finish(const struct bfs_chunk *chunk,
					    uint32_t k, uint8_t *dst,
					    struct bfs_diag *diag)
{
	return BFS_LIKELY(!chunk->last.run) ? BFS_OK :
	       chunk->last.run(chunk->last.arg, chunk,
			       bfs_chunk_block_off(chunk, k), dst,
			       bfs_chunk_block_len(chunk, k), diag);
}

/* Reads and decodes the whole chunk into dst (nbytes). For small things:
 * index blocks, metadata. */
enum bfs_err bfs_chunk_read_all(const struct bfs_chunk *chunk,
				struct bfs_source *source, uint64_t off,
				uint8_t *dst, struct bfs_scratch *scratch,
				struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
