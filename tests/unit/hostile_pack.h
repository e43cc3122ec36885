/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hostile_pack.h - for tests: Bloscpack files of the digits 0 to 9 over and
 * over, as the original writers made them.
 */
#ifndef HOSTILE_PACK_H
#define HOSTILE_PACK_H

#include "base/bytes.h"
#include "base/digest.h"
#include "support/build2.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char digits[] = "01234567890123456789012345678901234567890123456"
			     "7890123456789012345678901234567890123456789";

static inline void put_digest(struct build *b, size_t from, unsigned kind)
{
	uint8_t bytes[BFS_DIGEST_MAX];
	struct bfs_digest d;

	assert_int_equal(bfs_digest_init(&d, (enum bfs_digest_kind)kind),
			 BFS_OK);
	/* Nothing built yet is NULL. */
	if (b->len > from)
		bfs_digest_add(&d, b->p + from, b->len - from);
	assert_int_equal(bfs_digest_finish(&d, bytes), BFS_OK);
	build_bytes(b, bytes, bfs_digest_len((enum bfs_digest_kind)kind));
}

/* A memcpyed chunk of Blosc 1 in blocks of whole items, and its checksum. */
static inline void put_chunk(struct build *b, const void *p, size_t len,
			     unsigned typesize, unsigned digest)
{
	size_t at = b->len;

	build_plain(b, 2, typesize, p, len);
	b->p[at + 2] = 0x13;
	patch_le(b, at + 8, len - len % typesize, 4);
	put_digest(b, at, digest);
}

/* 25, 25 and 15 digits; where the chunks lie, unless NULL. */
static inline void put_digit_chunks(struct build *b, unsigned digest,
				    size_t *ret_at)
{
	for (unsigned n = 0; n < 3; n++) {
		if (ret_at)
			ret_at[n] = b->len;
		put_chunk(b, digits + 25 * n, n == 2 ? 15 : 25, 4, digest);
	}
}

static inline void put_head(struct build *b, unsigned version,
			    unsigned options, unsigned digest, int chunk_size,
			    int last_chunk, int64_t n_chunks)
{
	build_bytes(b, "blpk", 4);
	build_byte(b, version);
	build_byte(b, options);
	build_byte(b, digest);
	build_byte(b, 4);
	build_le32(b, (uint32_t)chunk_size);
	build_le32(b, (uint32_t)last_chunk);
	build_le64(b, (uint64_t)n_chunks);
	build_le64(b, 0);
}

static inline struct build make_v1(void)
{
	struct build b = { 0 };

	build_bytes(&b, "blpk\1\0\0\0\3\0\0\0\0\0\0\0", 16);
	put_digit_chunks(&b, BFS_DIGEST_NONE, NULL);
	return b;
}

/* With offsets and adler32. */
static inline struct build make_v2(void)
{
	struct build b = { 0 };
	size_t at[3];

	put_head(&b, 2, 1, BFS_DIGEST_ADLER32, 25, 15, 3);
	for (unsigned n = 0; n < 3; n++)
		build_le64(&b, 0);
	put_digit_chunks(&b, BFS_DIGEST_ADLER32, at);
	for (unsigned n = 0; n < 3; n++)
		patch_le(&b, 32 + 8 * n, at[n], 8);
	return b;
}

/* The section of {"k":"v"} as it lies in a file. */
static inline void put_metadata(struct build *b)
{
	static const uint8_t zeros[81];

	build_bytes(b, "JSON\0\0\0\0\0\1\0\6\x09\0\0\0", 16);
	build_bytes(b, "\x5a\0\0\0\x09\0\0\0\0\0\0\0\0\0\0\0", 16);
	build_bytes(b, "{\"k\":\"v\"}", 9);
	build_bytes(b, zeros, sizeof(zeros));
	build_bytes(b, "\x9c\x02\xf2\x0c", 4);
}

/* With metadata, offsets with room for two more, and crc32. */
static inline struct build make_v3(void)
{
	struct build b = { 0 };

	put_head(&b, 3, 3, BFS_DIGEST_CRC32, 25, 25, 2);
	b.p[7] = 8;
	b.p[24] = 2;
	put_metadata(&b);
	build_le64(&b, 0xbe);
	build_le64(&b, 0xeb);
	build_le64(&b, UINT64_MAX);
	build_le64(&b, UINT64_MAX);
	put_chunk(&b, digits, 25, 8, BFS_DIGEST_CRC32);
	put_chunk(&b, digits + 25, 25, 8, BFS_DIGEST_CRC32);
	return b;
}

static inline struct bfs_array *open_pack(const struct build *b)
{
	struct bfs_array *a = hostile_open(b, "x.blp");

	assert_string_equal(a->container->ops->name, "bloscpack");
	return a;
}

static inline void expect_digits(struct bfs_array *a)
{
	assert_int_equal(a->container->n_chunks, 3);
	expect_stream(a, BFS_STREAM_DATA, 0, digits, 65);
	expect_stream(a, BFS_STREAM_CHUNK, 0, digits, 25);
	expect_stream(a, BFS_STREAM_CHUNK, 1, digits + 25, 25);
	expect_stream(a, BFS_STREAM_CHUNK, 2, digits + 50, 15);
}

#endif
