/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * codec.h - the table of codecs: one row in rows.def and one file each.
 *
 * A codec turns one stream into exactly the bytes that it must become. It is
 * blind to chunks, filters and I/O, allocates nothing per call beyond its
 * own state, and trusts nothing in the stream. See docs/formats/codecs.md.
 */
#ifndef BFS_CODEC_CODEC_H
#define BFS_CODEC_CODEC_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* What the container around a chunk knows and some codecs and filters need; a
 * bare chunk has typesize 0 and ndim 0. */
struct bfs_codec_env {
	uint32_t typesize;		/* of the frame, bytes; 0 = none */
	uint8_t ndim;			/* of the array; 0 = none */
	int32_t blockshape[16];
	uint8_t old_bitshuffle;		/* of betas: bitshuffle as in chunks of
					 * versions 1 and 2 */
};

/* A dictionary that the codec prepared once for a chunk; read-only from then
 * on. */
struct bfs_codec_dict;

struct bfs_codec_job {
	const uint8_t *src;
	size_t src_len;
	uint8_t *dst;
	size_t dst_len;			/* exactly this many must come out */
	const uint8_t *dict;		/* raw dictionary bytes, or NULL */
	size_t dict_len;
	const struct bfs_codec_dict *ready;	/* by dict_new, or NULL */
	uint8_t meta;			/* header byte 23 */
	const struct bfs_codec_env *env;	/* never NULL */
};

/* Stored and expected bytes that every row can show. */
struct bfs_codec_sample {
	const uint8_t *src;
	size_t src_len;
	const uint8_t *want;
	size_t want_len;
	uint8_t meta;
	struct bfs_codec_env env;
};

struct bfs_codec {
	const char *name;		/* as users know it: "lz4" */
	int format;			/* chunk flags bits 5-7, or -1 */
	int id;				/* header byte 22 when format is 6,
					 * else the API code; -1 = none */
	/* Version of the library behind it, or NULL for our own. */
	const char *(*version)(void);
	/* NULL: known, but not decodable here ("unsupported"). On failure
	 * dst holds anything; the caller does not show it. state is what
	 * state_new made in this thread, or NULL where that is NULL. */
	enum bfs_err (*decode)(const struct bfs_codec_job *job, void *state);
	void *(*state_new)(void);	/* NULL on no memory */
	void (*state_free)(void *state);
	/* Makes a dictionary ready; NULL where raw bytes do. */
	struct bfs_codec_dict *(*dict_new)(const uint8_t *dict, size_t len);
	void (*dict_free)(struct bfs_codec_dict *ready);
	struct bfs_codec_sample sample;	/* src NULL where decode is NULL */
};

#define BFS_CODEC_ROW(stem) extern const struct bfs_codec bfs_codec_##stem;
#include "codec/rows.def"
#undef BFS_CODEC_ROW

/* All rows, in order of rows.def. */
extern const struct bfs_codec *const bfs_codecs[];
extern const size_t bfs_n_codecs;

/* By the codec format of the chunk flags (0-5), or, with format 6, by the id
 * in header byte 22. NULL when there is no such row. */
const struct bfs_codec *bfs_codec_find(unsigned format, unsigned id);
/* By the API code that frame headers use (0 blosclz, 1 lz4, 2 lz4hc,
 * 3 snappy, 4 zlib, 5 zstd, >= 32 registered); NULL when unknown. lz4hc
 * gives the lz4 row. */
const struct bfs_codec *bfs_codec_by_code(unsigned code);
/* The name for an API code; "codec-<n>" style names are written to buf. */
const char *bfs_codec_code_name(unsigned code, char buf[24]);
/* The name of the codec that a chunk says it uses (as for bfs_codec_find),
 * also where there is no row; "codec-<id>" and "format-<n>" are written to
 * buf. */
const char *bfs_codec_format_name(unsigned format, unsigned id, char buf[24]);

/* The codecs' states of one thread at a time, one for each row, made when first
 * needed. */
struct bfs_codec_states;
struct bfs_codec_states *bfs_codec_states_new(void);	/* NULL: no memory */
void bfs_codec_states_free(struct bfs_codec_states *states);

/* Decodes one stream with the worker's state. UNSUPPORTED if the row has no
 * operation. */
enum bfs_err bfs_codec_decode(const struct bfs_codec *codec,
			      const struct bfs_codec_job *job,
			      struct bfs_codec_states *states) BFS_MUST_CHECK;

#endif
