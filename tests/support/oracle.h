/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * oracle.h - a second decoder, slow and plain, to check the library against.
 *
 * Written from docs/formats/ alone: it shares no file, no table and no line
 * with lib/. Whole files in memory go in, freshly allocated bytes come out.
 * Safe on hostile input: every read is bounded, nothing above ORACLE_MAX is
 * allocated. It reads bare chunks and contiguous frames.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORACLE_MAX ((uint64_t)256 << 20)	/* bytes, of one result */
#define ORACLE_ERR 200
#define ORACLE_MAX_DIM 16

enum oracle_verdict {
	ORACLE_GOOD,
	ORACLE_BAD,		/* the bytes contradict the format */
	ORACLE_UNSUPPORTED,	/* a codec or filter that is not known here */
	ORACLE_LIMIT,		/* more than ORACLE_MAX: no opinion */
};

/* What the frame around a chunk knows. */
struct oracle_env {
	uint32_t typesize;	/* 0 = bare chunk */
};

/* A decoded chunk: its bytes, and where its blocks begin in them. */
struct oracle_bytes {
	uint8_t *data;
	size_t len;
	size_t *starts;		/* n_blocks, or NULL */
	size_t n_blocks;
};

void oracle_release(struct oracle_bytes *bytes);

/* Decodes the chunk at the beginning of len bytes; bytes behind it do not
 * matter. *ret is zeroed on anything but GOOD, and err says why. env may be
 * NULL. */
enum oracle_verdict oracle_chunk(const uint8_t *chunk, size_t len,
				 const struct oracle_env *env,
				 struct oracle_bytes *ret,
				 char err[ORACLE_ERR]);

struct oracle_meta {
	char name[32];		/* name_len bytes, NUL behind */
	size_t name_len;
	const uint8_t *data;	/* as stored; a Blosc chunk in vlmetas */
	size_t len;
};

struct oracle_array {
	bool present;
	unsigned ndim;
	int64_t shape[ORACLE_MAX_DIM];
	int32_t chunkshape[ORACLE_MAX_DIM];
	int32_t blockshape[ORACLE_MAX_DIM];
	bool linear;		/* chunks are plain C order, not blocked */
	uint64_t nbytes;	/* of the items, without padding */
};

/* One contiguous frame at the beginning of a file in memory, which must
 * outlive it. `verdict` and `why` tell the first fault of the frame itself
 * (metalayers, trailer, index, sizes), array_verdict the one of the array
 * metalayer; the chunks may be good all the same. */
struct oracle_frame {
	const uint8_t *file;
	uint64_t frame_len, header_len, cbytes, nbytes, trailer_off;
	uint32_t typesize;
	int32_t chunksize;
	uint8_t general_flags;
	uint64_t n_chunks;	/* 0 if the index is lost */
	int64_t *index;
	int64_t *sizes;		/* of every chunk; -1 = cannot be known */
	struct oracle_meta metas[16];
	size_t n_metas;
	struct oracle_meta *vlmetas;
	size_t n_vlmetas;
	struct oracle_array array;
	enum oracle_verdict array_verdict;
	enum oracle_verdict verdict;
	char why[ORACLE_ERR];
};

/* BAD when the header is useless or the frame does not end inside the file;
 * otherwise GOOD, see frame->verdict. Release in any case. */
enum oracle_verdict oracle_frame_open(const uint8_t *file, size_t len,
				      struct oracle_frame *frame,
				      char err[ORACLE_ERR]);
void oracle_frame_release(struct oracle_frame *frame);

enum oracle_verdict oracle_frame_chunk(const struct oracle_frame *frame,
				       uint64_t n, struct oracle_bytes *ret,
				       char err[ORACLE_ERR]);
/* Bytes [off, off + len) of all chunks joined; len may be cut at the end. */
enum oracle_verdict oracle_frame_range(const struct oracle_frame *frame,
				       uint64_t off, uint64_t len,
				       struct oracle_bytes *ret,
				       char err[ORACLE_ERR]);
/* The same of the array's items in C order. */
enum oracle_verdict oracle_frame_items(const struct oracle_frame *frame,
				       uint64_t off, uint64_t len,
				       struct oracle_bytes *ret,
				       char err[ORACLE_ERR]);
enum oracle_verdict oracle_frame_vlmeta(const struct oracle_frame *frame,
					size_t i, struct oracle_bytes *ret,
					char err[ORACLE_ERR]);

#endif
