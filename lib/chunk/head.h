/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * head.h - what a chunk's header says. See docs/formats/chunk.md.
 */
#ifndef BFS_CHUNK_HEAD_H
#define BFS_CHUNK_HEAD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BFS_CHUNK_MIN_HEADER 16
#define BFS_CHUNK_HEADER 32
#define BFS_CHUNK_MAX_NBYTES UINT32_C(2147483631)
#define BFS_N_FILTER_SLOTS 6

enum bfs_chunk_kind {
	BFS_CHUNK_BLOCKS,	/* bstarts and streams */
	BFS_CHUNK_VLBLOCKS,	/* the same with blocks of any size */
	BFS_CHUNK_RAW,		/* memcpyed: bytes behind the header */
	BFS_CHUNK_ZEROS,
	BFS_CHUNK_NAN,
	BFS_CHUNK_VALUE,	/* one value repeated */
	BFS_CHUNK_UNINIT,	/* reads as zeros */
};

/* What a header says, checked. Sizes in bytes, offsets from the chunk's
 * first byte. */
struct bfs_chunk_head {
	enum bfs_chunk_kind kind;
	uint8_t version;
	uint8_t flags;			/* byte 2 */
	uint8_t flags2;			/* byte 30, 0 without it */
	uint8_t flags3;			/* byte 31, 0 without it */
	uint8_t header_len;		/* 16 or 32 */
	uint32_t typesize;		/* 1 ... 256 */
	uint32_t nbytes;
	uint32_t blocksize;		/* as to be used (clamped); VL: 0 */
	uint32_t cbytes;
	uint32_t n_blocks;
	uint32_t value_len;		/* kind VALUE: width of the value */
	unsigned codec_format;		/* flags bits 5-7 */
	unsigned codec_id;		/* byte 22 */
	uint8_t codec_meta;
	uint8_t filters[BFS_N_FILTER_SLOTS];
	uint8_t filters_meta[BFS_N_FILTER_SLOTS];
	bool instrumented;		/* streams are measurements */
	bool mended;			/* marked memcpyed, but is not */
};

/* Parses the first head_len (>= 16, 32 if there) bytes of a chunk of which
 * `avail` bytes exist (0: unknown, do not check cbytes against it). */
enum bfs_err bfs_chunk_parse(const uint8_t *head, size_t head_len,
			     uint64_t avail, struct bfs_chunk_head *ret_head,
			     struct bfs_diag *diag) BFS_MUST_CHECK;

#endif
