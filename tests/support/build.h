/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * build.h - for tests: chunks and contiguous frames made from plain bytes,
 * written from docs/formats/ alone. Aborts when memory is short.
 */
#ifndef BUILD_H
#define BUILD_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that grow. Start with all zeros; free p. */
struct build {
	uint8_t *p;
	size_t len, cap;
};

void build_bytes(struct build *b, const void *p, size_t len);
void build_le32(struct build *b, uint32_t v);
void build_le64(struct build *b, uint64_t v);
void build_be16(struct build *b, unsigned v);
void build_be32(struct build *b, uint32_t v);
void build_be64(struct build *b, uint64_t v);
void build_byte(struct build *b, unsigned v);

enum build_codec { BUILD_RAW, BUILD_LZ4, BUILD_ZSTD };

/* Appends one chunk, version 5, unsplit, of `len` bytes in blocks of
 * `blocksize`; with `shuffle` (byte shuffle) or `delta` as filters. RAW
 * makes it memcpyed. */
struct build_chunk {
	const uint8_t *data;
	size_t len;
	unsigned typesize;
	uint32_t blocksize;
	enum build_codec codec;
	int shuffle, delta;
	int bytedelta;		/* behind shuffle alone */
};
void build_chunk(struct build *b, const struct build_chunk *c);

/* A frame being made: chunks appended to `data`, entries to `index`. */
struct build_frame {
	struct build data;
	struct build index;
	uint64_t nbytes;
	int64_t chunksize;	/* 0 = variable */
	uint32_t typesize;
	uint8_t flags;		/* 0x12 when 0 */
	/* Optional metalayer "b2nd". */
	unsigned ndim;
	int64_t shape[16];
	int32_t chunkshape[16], blockshape[16];
	const char *dtype;	/* NULL: no metalayer */
	/* Or one of this name (4 to 31 bytes) with these bytes. */
	const char *meta_name;
	const uint8_t *meta;
	size_t meta_len;
};
/* Compresses and appends one chunk. */
void build_frame_chunk(struct build_frame *f, const struct build_chunk *c);
/* Appends an entry that is no offset (special chunk of len bytes). */
void build_frame_special(struct build_frame *f, uint64_t entry, size_t len);
/* Writes the whole frame and frees what f holds. */
void build_frame_finish(struct build_frame *f, struct build *out);

/* Bytes that compress somewhat and differ everywhere, from a seed. */
void build_fill(uint8_t *p, size_t len, uint32_t seed);

#endif
