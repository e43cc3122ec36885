/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * array.h - the bytes of one opened container: a byte range becomes pinned
 * pieces of blocks or copied bytes; what is missing is read and decoded.
 *
 * Only the plan of a touched chunk and the compressed bytes of the touched
 * blocks are read, neighbours in one pread. The thread that asks decodes.
 * No lock is held during I/O or decode. See docs/architecture.md.
 */
#ifndef BFS_ARRAY_ARRAY_H
#define BFS_ARRAY_ARRAY_H

#include "cache/cache.h"
#include "container/container.h"
#include "base/err.h"
#include "array/engine.h"
#include "array/faults.h"
#include "array/nd.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* The byte streams that an opened container can give. */
enum bfs_stream_kind {
	BFS_STREAM_DATA,	/* the array in C order, or all chunks joined */
	BFS_STREAM_JOINED,	/* all chunks joined, padding and all */
	BFS_STREAM_CHUNK,	/* chunk `index` */
	BFS_STREAM_TILE,	/* of a tiled array: chunk `index` in C order,
				 * zeros where it goes beyond the array */
	BFS_STREAM_META,	/* fixed metalayer `index` */
	BFS_STREAM_VLMETA,	/* variable-length metalayer `index` */
	BFS_STREAM_SOURCE,	/* the container's own bytes */
	BFS_STREAM_RAW_CHUNK,	/* chunk `index` as it is stored */
	BFS_STREAM_LAZY_CHUNK,	/* chunk `index` as a lazy chunk */
};

struct bfs_stream {
	enum bfs_stream_kind kind;
	uint64_t index;
};

/* A reader that may be sequential, or step through an array. */
struct bfs_reader {
	struct bfs_stream stream;
	uint64_t next;			/* where its next read should begin */
	uint64_t last, len;		/* its last read */
	uint64_t step;			/* from read to read */
	unsigned n_steps;		/* of this length in a row */
	uint64_t ahead;			/* being decoded up to here */
	uint64_t used;			/* 0 = free */
	uint64_t number;		/* of the reader in this slot */
	unsigned run;			/* reads in a row */
	bool busy;			/* a job is ahead of it */
};

#define BFS_READERS 8

struct bfs_ahead {
	atomic_bool ending;		/* the array closes: jobs give up */
	pthread_mutex_t lock;		/* guards all below */
	pthread_cond_t done;
	unsigned n_jobs;
	uint64_t clock;
	struct bfs_reader readers[BFS_READERS];
};

struct bfs_kin;

/* Immutable after opening, but for `ahead`, `faults` and the fingerprints. */
struct bfs_array {
	struct bfs_engine *engine;
	struct bfs_container *container; /* owned */
	uint64_t gen;			/* unique to this opening */
	struct bfs_kin *kin;		/* with openings before and after */
	uint64_t kin_gen;		/* the first generation of the kin */
	uint64_t n_before;		/* chunks of the one it continues */
	bool digested;			/* digest is that of the whole index */
	uint64_t digest;
	_Atomic uint64_t *fingerprints;	/* of chunks; 0: not looked at */
	bool has_nd;			/* an array with sound geometry */
	bool plain;			/* chunks are in C order themselves */
	struct bfs_nd nd;
	_Atomic uint32_t seen_block;	/* of the last plan; 0: none yet */
	struct bfs_ahead ahead;
	struct bfs_faults faults;	/* met up to now */
};

/* Takes over container, also on failure. An array metalayer whose geometry does
 * not hold makes the container DAMAGED and leaves has_nd false. */
enum bfs_err bfs_array_open(struct bfs_engine *engine,
			    struct bfs_container *container,
			    struct bfs_array **ret_array,
			    struct bfs_diag *diag) BFS_MUST_CHECK;
/* Computes a digest of the index and fingerprints of some chunks, so that a
 * later opening can be compared with this one even when the index has been
 * overwritten in the meantime. Before the array is shared. */
void bfs_array_digest(struct bfs_array *array);
/* Whether newer is older with chunks appended, or unchanged; both must have
 * been digested. With take_blocks newer shares the decoded blocks of those
 * chunks that are proven to be the same. Before newer is shared. */
bool bfs_array_continue(struct bfs_array *newer, const struct bfs_array *older,
			bool take_blocks) BFS_MUST_CHECK;
/* No pin of it may be left. */
void bfs_array_close(struct bfs_array *array);

/* Exact length in bytes, from headers and index alone. Fails where it
 * cannot be known. */
enum bfs_err bfs_array_len(struct bfs_array *array,
			   const struct bfs_stream *stream, uint64_t *ret_len,
			   struct bfs_diag *diag) BFS_MUST_CHECK;

/* Whether the whole stream can be read (sizes known, ...): open()'s answer. */
enum bfs_err bfs_array_ready(struct bfs_array *array,
			     const struct bfs_stream *stream,
			     struct bfs_diag *diag) BFS_MUST_CHECK;

/* What reading the first len bytes of a metalayer decodes, in bytes. */
enum bfs_err bfs_array_meta_cost(struct bfs_array *array,
				 const struct bfs_stream *stream, size_t len,
				 uint64_t *ret_cost,
				 struct bfs_diag *diag) BFS_MUST_CHECK;

/* Copies exactly len bytes; RANGE beyond the end. */
enum bfs_err bfs_array_read(struct bfs_array *array,
			    const struct bfs_stream *stream, uint64_t off,
			    void *buf, size_t len,
			    struct bfs_diag *diag) BFS_MUST_CHECK;
/* The same for who picks out items here and there: it counts as no reader, and
 * nothing is decoded ahead of it. */
enum bfs_err bfs_array_sample(struct bfs_array *array,
			      const struct bfs_stream *stream, uint64_t off,
			      void *buf, size_t len,
			      struct bfs_diag *diag) BFS_MUST_CHECK;

#define BFS_MAX_PIECES 24

/* A range as memory: pieces in order, which stay valid until released. */
struct bfs_pieces {
	size_t n;
	struct iovec iov[BFS_MAX_PIECES];
	size_t n_pins;
	struct bfs_cache_pin pins[BFS_MAX_PIECES];
	/* at_end: the range takes the block to its end. consumed: so that a
	 * sequential reader will not ask for it again. */
	bool at_end[BFS_MAX_PIECES];
	bool consumed[BFS_MAX_PIECES];
};

/* Appends exactly len bytes of the stream to pieces: pinned blocks where the
 * range falls into few of them, else copied into buf (len bytes, the
 * caller's, which must outlive the pieces). On failure what was there before
 * stays; the caller releases. */
enum bfs_err bfs_array_pin(struct bfs_array *array,
			   const struct bfs_stream *stream, uint64_t off,
			   void *buf, size_t len, struct bfs_pieces *pieces,
			   struct bfs_diag *diag) BFS_MUST_CHECK;
void bfs_array_release(struct bfs_array *array, struct bfs_pieces *pieces);

/* Decoded bytes [off, off + len) of a stream as a source of their own. The
 * array must outlive it. */
enum bfs_err bfs_array_as_source(struct bfs_array *array,
				 const struct bfs_stream *stream, uint64_t off,
				 uint64_t len, struct bfs_source **ret_source,
				 struct bfs_diag *diag) BFS_MUST_CHECK;

/* The plan of chunk n, referenced (bfs_chunk_unref), and where the chunk
 * lies; for views that show facts of a chunk. */
enum bfs_err bfs_array_plan(struct bfs_array *array, uint64_t n,
			    struct bfs_chunk **ret_chunk,
			    struct bfs_span *ret_span,
			    struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
