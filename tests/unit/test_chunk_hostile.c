/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_chunk_hostile.c - what a hostile chunk can claim, one test for each
 * field: the claim must give a clear error, and nothing but an error.
 *
 * Each test patches a known vector or builds a chunk around one stream.
 */
#include "chunk/plan.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "support/decode.h"
#include "support/vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* Decodes and expects `want`, a reason, and an untouched output. */
static void assert_refused(const char *what, const uint8_t *p, size_t len,
			   enum bfs_err want)
{
	uint64_t held = bfs_mem_used();
	struct bfs_diag diag = { 0 };
	uint8_t *got = NULL;
	size_t got_len = 12345;
	enum bfs_err err = decode_chunk(p, len, 0, &got, &got_len, &diag);

	if (err != want)
		fail_msg("%s: %s instead of %s (%s)", what, bfs_err_name(err),
			 bfs_err_name(want), diag.text);
	assert_string_not_equal(diag.text, "");
	assert_int_equal(diag.err, want);
	assert_null(got);
	assert_int_equal(got_len, 12345);
	assert_int_equal(bfs_mem_used(), held);
}

static void put_le(uint8_t *p, unsigned width, uint64_t value)
{
	for (unsigned i = 0; i < width; i++)
		p[i] = (uint8_t)(value >> 8 * i);
}

/* The vector with one number of `width` bytes at off replaced. */
static void refuses(const char *name, size_t off, unsigned width,
		    uint64_t value, enum bfs_err want)
{
	char what[96];
	size_t len;
	uint8_t *p = vector_chunk(vector_find(name), &len);

	assert_true(off + width <= len);
	put_le(p + off, width, value);
	snprintf(what, sizeof(what), "%s, %#llx at %zu", name,
		 (unsigned long long)value, off);
	assert_refused(what, p, len, want);
	free(p);
}

static void corrupt(const char *name, size_t off, unsigned width,
		    uint64_t value)
{
	refuses(name, off, width, value, BFS_ERR_CORRUPT);
}

/* A chunk of one block, not split, of one stream for `format`. */
static uint8_t *chunk_of_stream(unsigned format, uint32_t nbytes,
				const void *stream, size_t stream_len,
				size_t *ret_len)
{
	size_t len = 40 + stream_len;
	uint8_t *p = decode_alloc(len);

	memset(p, 0, 40);
	p[0] = 5;
	p[1] = 1;
	p[2] = (uint8_t)(0x15 | format << 5);
	p[3] = 1;
	put_le(p + 4, 4, nbytes);
	put_le(p + 8, 4, nbytes);
	put_le(p + 12, 4, len);
	put_le(p + 32, 4, 36);
	put_le(p + 36, 4, stream_len);
	memcpy(p + 40, stream, stream_len);
	*ret_len = len;
	return p;
}

static void refuses_stream(unsigned format, uint32_t nbytes,
			   const void *stream, size_t stream_len)
{
	char what[64];
	size_t len;
	uint8_t *p = chunk_of_stream(format, nbytes, stream, stream_len, &len);

	snprintf(what, sizeof(what), "format %u, %zu bytes for %u", format,
		 stream_len, nbytes);
	assert_refused(what, p, len, BFS_ERR_CORRUPT);
	free(p);
}

/* ---- the header ---- */

static void chunk_refuses_less_than_a_header(void **state)
{
	size_t len;
	uint8_t *p = vector_chunk(vector_find("special-zeros"), &len);

	(void)state;
	for (size_t n = 0; n < 32; n++) {
		uint8_t *some = decode_alloc(n);

		memcpy(some, p, n);
		assert_refused("cut header", some, n, BFS_ERR_TRUNCATED);
		free(some);
	}
	free(p);
}

static void chunk_refuses_versions_that_never_were(void **state)
{
	(void)state;
	corrupt("codec-lz4", 0, 1, 0);
	corrupt("B1-zlib", 0, 1, 0);
	refuses("B1-zlib", 0, 1, 7, BFS_ERR_UNSUPPORTED);
	refuses("B1-zlib", 0, 1, 255, BFS_ERR_UNSUPPORTED);
}

static void chunk_refuses_newer_version_with_unknown_flags(void **state)
{
	size_t len;
	uint8_t *p = vector_chunk(vector_find("codec-lz4"), &len);

	(void)state;
	p[0] = 7;
	p[30] = 0x02;
	assert_refused("version 7", p, len, BFS_ERR_UNSUPPORTED);
	p[30] = 0x80;
	assert_refused("version 7", p, len, BFS_ERR_UNSUPPORTED);
	free(p);
}

static void chunk_refuses_cbytes_out_of_range(void **state)
{
	(void)state;
	corrupt("codec-lz4", 12, 4, 0);
	corrupt("codec-lz4", 12, 4, 31);
	corrupt("B1-zlib", 12, 4, 15);
	corrupt("codec-lz4", 12, 4, UINT32_C(0xffffffff));
	corrupt("codec-lz4", 12, 4, UINT32_C(0x80000000));
	refuses("codec-lz4", 12, 4, 153, BFS_ERR_TRUNCATED);
	refuses("codec-lz4", 12, 4, INT32_MAX, BFS_ERR_TRUNCATED);
}

static void chunk_refuses_cbytes_that_cut_its_data(void **state)
{
	(void)state;
	/* Other readers take the bytes behind: they belong to others. */
	corrupt("codec-lz4", 12, 4, 151);
	corrupt("split-streams", 12, 4, 116);
	corrupt("vlblocks", 12, 4, 85);
	corrupt("memcpy-small", 12, 4, 51);
}

static void chunk_refuses_nbytes_out_of_range(void **state)
{
	(void)state;
	corrupt("codec-lz4", 4, 4, UINT32_C(0xffffffff));
	corrupt("codec-lz4", 4, 4, UINT32_C(0x80000000));
	corrupt("special-zeros", 4, 4, UINT32_C(2147483616));
	corrupt("B1-zlib", 4, 4, UINT32_C(2147483632));
	/* Within the limit, but no such data. */
	corrupt("codec-lz4", 4, 4, UINT32_C(2147483615));
	corrupt("B1-zlib", 4, 4, UINT32_C(2147483631));
}

static void chunk_refuses_blocksize_out_of_range(void **state)
{
	(void)state;
	corrupt("codec-lz4", 8, 4, 0);
	corrupt("empty", 8, 4, 0);
	corrupt("special-zeros", 8, 4, 0);
	corrupt("codec-lz4", 8, 4, UINT32_C(0xffffffff));
	corrupt("codec-lz4", 8, 4, UINT32_C(536866817));
	corrupt("B1-zlib", 8, 4, UINT32_C(715827543));
}

static void chunk_refuses_tables_that_do_not_fit(void **state)
{
	(void)state;
	corrupt("codec-lz4", 8, 4, 1);
	corrupt("codec-lz4", 8, 4, 8);
	corrupt("B1-zlib", 8, 4, 1);
	corrupt("blosclz-far", 8, 4, 1);
	/* Only a header where tables should follow. */
	corrupt("special-zeros", 31, 1, 0);
}

static void chunk_refuses_typesize_0(void **state)
{
	(void)state;
	corrupt("codec-lz4", 3, 1, 0);
	corrupt("B1-zlib", 3, 1, 0);
	corrupt("empty", 3, 1, 0);
}

static void chunk_refuses_streams_that_do_not_fill_the_block(void **state)
{
	(void)state;
	corrupt("split-streams", 3, 1, 3);
	corrupt("split-streams", 3, 1, 129);
	corrupt("split-streams", 3, 1, 255);
	corrupt("v5-16byte-header", 3, 1, 7);
}

/* ---- special, stored, lazy ---- */

static void chunk_refuses_special_kinds_5_to_7(void **state)
{
	(void)state;
	corrupt("special-zeros", 31, 1, 0x50);
	corrupt("special-zeros", 31, 1, 0x60);
	corrupt("special-zeros", 31, 1, 0x70);
}

static void chunk_refuses_kinds_that_exclude_each_other(void **state)
{
	(void)state;
	corrupt("special-zeros", 2, 1, 0x07);	/* special and memcpyed */
	corrupt("special-zeros", 30, 1, 0x01);	/* special and VL */
	corrupt("vlblocks", 31, 1, 0x10);
	corrupt("vlblocks", 2, 1, 0x37);	/* VL and memcpyed */
	corrupt("memcpy-fallback", 30, 1, 0x01);
}

static void chunk_refuses_repeated_value_of_bad_width(void **state)
{
	(void)state;
	corrupt("special-zeros", 31, 1, 0x30);	/* no value at all */
	corrupt("special-value3", 4, 4, 16);	/* does not divide */
	corrupt("special-value3", 4, 4, 2);	/* wider than the data */
	corrupt("special-value3", 3, 1, 15);	/* not the typesize's */
	corrupt("special-value300", 4, 4, 599);
}

static void chunk_refuses_nan_of_odd_width(void **state)
{
	(void)state;
	corrupt("special-nan32", 3, 1, 1);
	corrupt("special-nan32", 3, 1, 2);
	corrupt("special-nan64", 3, 1, 12);
	corrupt("special-nan64", 4, 4, 20);
}

static void special_chunk_of_two_gib_costs_nothing(void **state)
{
	struct bfs_source *source = NULL;
	struct bfs_chunk *chunk = NULL;
	struct bfs_diag diag = { 0 };
	uint64_t held = bfs_mem_used();
	size_t len;
	uint8_t *p = vector_chunk(vector_find("special-zeros"), &len);
	uint8_t *got = NULL;

	(void)state;
	put_le(p + 4, 4, UINT32_C(2147483615));
	put_le(p + 8, 4, 4096);
	assert_int_equal(decode_open(p, len, 0, &source, &chunk, &diag),
			 BFS_OK);
	assert_true(bfs_mem_used() - held < 65536);
	assert_int_equal(chunk->head.n_blocks, 524288);
	assert_int_equal(decode_block(chunk, p, 524287, NULL, 0xff, &got,
				      &diag), BFS_OK);
	assert_int_equal(bfs_chunk_block_len(chunk, 524287), 4063);
	for (size_t i = 0; i < 4063; i++)
		assert_int_equal(got[i], 0);
	free(got);
	bfs_chunk_unref(chunk);
	bfs_source_unref(source);
	free(p);
}

static void chunk_refuses_stored_length_that_disagrees(void **state)
{
	(void)state;
	corrupt("memcpy-fallback", 4, 4, 99);
	corrupt("memcpy-fallback", 4, 4, 101);
	corrupt("memcpy-fallback", 12, 4, 131);
	corrupt("memcpy-small", 4, 4, 0);
	corrupt("B1-memcpy", 4, 4, 19);
	corrupt("B1-memcpy", 4, 4, 21);
}

static void chunk_refuses_stored_lazy_chunks(void **state)
{
	(void)state;
	corrupt("codec-lz4", 31, 1, 0x08);
	corrupt("memcpy-small", 31, 1, 0x08);
	corrupt("special-zeros", 31, 1, 0x18);
}

/* The same fault as in the vector "bug-memcpy-dict", with a stream so short
 * that the chunk is smaller than a stored one would be. */
static void false_memcpy_is_mended_when_smaller_too(void **state)
{
	size_t len, got_len = 0;
	uint8_t *p = vector_chunk(vector_find("bug-memcpy-dict"), &len);
	uint8_t *got = NULL;
	struct bfs_diag diag = { 0 };

	(void)state;
	put_le(p + 36, 4, (uint32_t)-0x41);
	p[40] = 0x01;
	put_le(p + 12, 4, 41);
	if (decode_chunk(p, 41, 0, &got, &got_len, &diag) != BFS_OK)
		fail_msg("%s", diag.text);
	assert_int_equal(got_len, 27);
	for (size_t i = 0; i < got_len; i++)
		assert_int_equal(got[i], 0x41);
	free(got);
	free(p);
}

/* ---- block starts and streams ---- */

static void chunk_refuses_starts_outside_the_data(void **state)
{
	static const uint32_t starts[] = {
		0, 16, 31, 32, 36, 43, 114, 117, 118, INT32_MAX,
		UINT32_C(0x80000000), UINT32_C(0xfffffffc),
	};

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(starts); i++)
		corrupt("split-leftover", 36, 4, starts[i]);
	corrupt("B1-zlib", 16, 4, 19);
	corrupt("B1-zlib", 16, 4, 0);
}

/* A start that is wrong is the trouble of its own block. */
static void bad_start_spoils_no_other_block(void **state)
{
	const struct vector *v = vector_find("split-leftover");
	struct bfs_source *source = NULL;
	struct bfs_chunk *chunk = NULL;
	struct bfs_diag diag = { 0 };
	size_t len;
	uint8_t *p = vector_chunk(v, &len), *want = vector_want(v);
	uint8_t *got = NULL;

	(void)state;
	put_le(p + 36, 4, 7);
	assert_int_equal(decode_open(p, len, 0, &source, &chunk, &diag),
			 BFS_OK);
	for (uint32_t k = 0; k < 3; k += 2) {
		assert_int_equal(decode_block(chunk, p, k, NULL, 0, &got,
					      &diag), BFS_OK);
		assert_memory_equal(got, want + bfs_chunk_block_off(chunk, k),
				    bfs_chunk_block_len(chunk, k));
		free(got);
	}
	assert_int_equal(decode_block(chunk, p, 1, NULL, 0, &got, &diag),
			 BFS_ERR_CORRUPT);
	assert_string_not_equal(diag.text, "");
	bfs_chunk_unref(chunk);
	bfs_source_unref(source);
	free(want);
	free(p);
}

static void blocks_may_share_their_bytes(void **state)
{
	size_t len, got_len = 0;
	uint8_t *p = vector_chunk(vector_find("split-leftover"), &len);
	uint8_t *got = NULL;
	struct bfs_diag diag = { 0 };

	(void)state;
	memcpy(p + 36, p + 32, 4);
	if (decode_chunk(p, len, 0, &got, &got_len, &diag) != BFS_OK)
		fail_msg("%s", diag.text);
	assert_memory_equal(got, got + 256, 256);
	free(got);
	free(p);
}

static void chunk_refuses_streams_beyond_the_end(void **state)
{
	(void)state;
	corrupt("codec-lz4", 36, 4, 113);
	corrupt("codec-lz4", 36, 4, INT32_MAX);
	corrupt("split-leftover", 101, 4, 13);
	/* Into the next block's bytes. */
	corrupt("split-leftover", 83 - 22, 4, 0x7fff);
	corrupt("B1-zlib", 20, 4, 141);
}

static void chunk_refuses_runs_of_impossible_values(void **state)
{
	(void)state;
	corrupt("split-streams", 76, 4, (uint32_t)-256);
	corrupt("split-streams", 76, 4, (uint32_t)-100000);
	corrupt("split-streams", 76, 4, UINT32_C(0x80000000));
	corrupt("split-streams", 80, 1, 0x00);
	corrupt("split-streams", 80, 1, 0x02);
	corrupt("split-streams", 80, 1, 0xfe);
}

static void chunk_refuses_runs_without_a_token(void **state)
{
	size_t len;
	uint8_t *p = chunk_of_stream(0, 64, "", 0, &len);

	(void)state;
	put_le(p + 36, 4, (uint32_t)-1);
	assert_refused("no token", p, len, BFS_ERR_CORRUPT);
	free(p);
}

static void chunk_refuses_runs_in_old_versions(void **state)
{
	(void)state;
	corrupt("B1-zlib", 20, 4, 0);
	corrupt("B1-zlib", 20, 4, (uint32_t)-1);
}

static void chunk_refuses_streams_of_another_length(void **state)
{
	static const char *const names[] = {
		"codec-lz4", "codec-lz4hc", "codec-zlib", "codec-zstd",
	};

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(names); i++) {
		for (unsigned nbytes = 252; nbytes <= 260; nbytes += 8) {
			size_t len;
			uint8_t *p = vector_chunk(vector_find(names[i]),
						  &len);

			put_le(p + 4, 4, nbytes);
			put_le(p + 8, 4, nbytes);
			assert_refused(names[i], p, len, BFS_ERR_CORRUPT);
			free(p);
		}
	}
}

/* ---- codecs ---- */

static void blosclz_refuses_tokens_that_reach_outside(void **state)
{
	uint8_t many[300];

	(void)state;
	refuses_stream(0, 8, "\x27" "abc", 4);		/* literals missing */
	refuses_stream(0, 3, "\x23" "abcd", 5);		/* literals too many */
	refuses_stream(0, 9, "\x20" "a" "\x20", 3);	/* no distance */
	refuses_stream(0, 9, "\x20" "a" "\xe0", 3);	/* no extension */
	refuses_stream(0, 9, "\x20" "a" "\xe0\x05", 4);	/* nor distance */
	refuses_stream(0, 9, "\x20" "a" "\x20\x01", 4);	/* before the start */
	refuses_stream(0, 9, "\x20" "a" "\x3f\xff\x00", 5); /* half a far one */
	refuses_stream(0, 9, "\x20" "a" "\x3f\xff\x00\x00", 6);
	refuses_stream(0, 4, "\x20" "a" "\xc0\x00\x00" "b", 6); /* too long */
	refuses_stream(0, 9, "\x20" "a", 2);		/* too short */
	memset(many, 0xff, sizeof(many));
	many[0] = 0x20;
	many[2] = 0xe0;
	refuses_stream(0, 4096, many, sizeof(many));
}

static void blosclz_survives_a_length_of_eight_million_extensions(void **state)
{
	size_t n = (8u << 20) + (1u << 18), len;
	uint8_t *stream = decode_alloc(n), *p;

	(void)state;
	/* The sum passes 2^31. */
	memset(stream, 0xff, n);
	stream[0] = 0x20;
	stream[1] = 'a';
	stream[2] = 0xe0;
	stream[n - 2] = 0x00;
	stream[n - 1] = 0x00;
	p = chunk_of_stream(0, 65536, stream, n, &len);
	assert_refused("long length", p, len, BFS_ERR_CORRUPT);
	free(p);
	free(stream);
}

static void codecs_refuse_garbage(void **state)
{
	uint8_t stream[200];
	uint32_t x = 1;

	(void)state;
	for (unsigned round = 0; round < 50; round++) {
		for (size_t i = 0; i < sizeof(stream); i++) {
			x = x * 1664525 + 1013904223;
			stream[i] = (uint8_t)(x >> 24);
		}
		refuses_stream(1, 100000, stream, sizeof(stream));
		refuses_stream(3, 100000, stream, sizeof(stream));
		refuses_stream(4, 100000, stream, sizeof(stream));
	}
}

static void zstd_window_claim_does_no_harm(void **state)
{
	/* A frame whose window would be 1 GiB: four raw bytes. */
	static const uint8_t stream[] = {
		0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa0, 0x21, 0x00, 0x00,
		'w', 'x', 'y', 'z',
	};
	struct bfs_diag diag = { 0 };
	size_t len, got_len = 0;
	uint8_t *p = chunk_of_stream(4, 4, stream, sizeof(stream), &len);
	uint8_t *got = NULL;

	(void)state;
	if (decode_chunk(p, len, 0, &got, &got_len, &diag) != BFS_OK)
		fail_msg("%s", diag.text);
	assert_memory_equal(got, "wxyz", 4);
	free(got);
	free(p);
}

static void chunk_names_codecs_that_it_has_not(void **state)
{
	static const unsigned ids[] = { 33, 35, 36, 38, 41, 159, 160, 255 };

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(ids); i++) {
		size_t len;
		uint8_t *p = vector_chunk(vector_find("codec-lz4"), &len);

		p[2] = 0xd5;
		p[22] = (uint8_t)ids[i];
		assert_refused("codec id", p, len, BFS_ERR_UNSUPPORTED);
		free(p);
	}
	refuses("codec-lz4", 2, 1, 0x55, bfs_codec_snappy.decode ?
		BFS_ERR_CORRUPT : BFS_ERR_UNSUPPORTED);
	refuses("codec-lz4", 2, 1, 0xb5, BFS_ERR_UNSUPPORTED);	/* lizard */
	/* The numbers of built-in codecs are no plug-ins. */
	refuses("codec-lz4", 2, 1, 0xd5, BFS_ERR_UNSUPPORTED);
	corrupt("codec-lz4", 2, 1, 0xf5);
}

/* ---- dictionaries ---- */

static void chunk_refuses_dictionaries_that_do_not_fit(void **state)
{
	static const uint32_t sizes[] = {
		0, 82, 32769, INT32_MAX, UINT32_C(0x80000000),
		UINT32_C(0xffffffff),
	};

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(sizes); i++) {
		corrupt("dict-lz4", 40, 4, sizes[i]);
		corrupt("vlblocks-dict", 40, 4, sizes[i]);
	}
	corrupt("dict-zstd", 40, 4, 0);
	/* No room even for the size. */
	corrupt("codec-lz4", 12, 4, 38);
}

static void chunk_refuses_blocks_inside_the_dictionary(void **state)
{
	(void)state;
	corrupt("dict-lz4", 32, 4, 40);
	corrupt("dict-lz4", 32, 4, 88);
	corrupt("vlblocks-dict", 32, 4, 88);
}

static void chunk_refuses_streams_that_miss_their_dictionary(void **state)
{
	(void)state;
	/* Without the flag the section is just unused bytes. */
	corrupt("dict-lz4", 31, 1, 0);
	corrupt("dict-zstd", 31, 1, 0);
}

/* ---- VL blocks ---- */

static void vl_chunk_refuses_starts_out_of_order(void **state)
{
	(void)state;
	corrupt("vlblocks", 36, 4, 44);		/* equal to the first */
	corrupt("vlblocks", 36, 4, 71);		/* equal to the last */
	corrupt("vlblocks", 36, 4, 72);
	corrupt("vlblocks", 36, 4, 48);		/* no data byte in between */
	corrupt("vlblocks", 32, 4, 43);		/* inside the tables */
	corrupt("vlblocks", 32, 4, 0);
	corrupt("vlblocks", 32, 4, UINT32_C(0xffffffff));
	corrupt("vlblocks", 40, 4, 82);		/* cbytes - 4 */
	corrupt("vlblocks", 40, 4, 86);
}

static void vl_chunk_refuses_sizes_that_do_not_add_up(void **state)
{
	(void)state;
	corrupt("vlblocks", 44, 4, 0);
	corrupt("vlblocks", 44, 4, 34);
	corrupt("vlblocks", 44, 4, 36);
	corrupt("vlblocks", 44, 4, INT32_MAX);
	corrupt("vlblocks", 44, 4, UINT32_C(0xffffffff));
	corrupt("vlblocks", 64, 4, UINT32_C(0x80000000));
	corrupt("vlblocks", 4, 4, 99);
	corrupt("vlblocks", 4, 4, 101);
	corrupt("vlblocks", 4, 4, 0);
}

static void vl_chunk_refuses_sizes_that_sum_by_overflow(void **state)
{
	size_t len;
	uint8_t *p = vector_chunk(vector_find("vlblocks"), &len);

	(void)state;
	/* 2^31 - 1 twice and 102: 100 modulo 2^32. */
	put_le(p + 44, 4, INT32_MAX);
	put_le(p + 64, 4, INT32_MAX);
	put_le(p + 71, 4, 102);
	assert_refused("sum", p, len, BFS_ERR_CORRUPT);
	free(p);
}

static void vl_chunk_refuses_counts_that_do_not_fit(void **state)
{
	(void)state;
	corrupt("vlblocks", 8, 4, 0);
	corrupt("vlblocks", 8, 4, 2);
	corrupt("vlblocks", 8, 4, 4);
	corrupt("vlblocks", 8, 4, 14);
	corrupt("vlblocks", 8, 4, 536866816);
	corrupt("vlblocks", 8, 4, UINT32_C(0xffffffff));
}

/* ---- filters ---- */

static void chunk_names_filters_that_it_has_not(void **state)
{
	static const uint8_t ids[] = { 5, 31, 32, 33, 37, 159, 160, 200, 255 };

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(ids); i++)
		for (size_t slot = 0; slot < 6; slot++)
			refuses("codec-lz4", 16 + slot, 1, ids[i],
				BFS_ERR_UNSUPPORTED);
}

static void old_chunk_refuses_its_reserved_flag(void **state)
{
	(void)state;
	/* Bit 3 means delta in later versions only. */
	refuses("B1-zlib", 2, 1, 0x79, BFS_ERR_UNSUPPORTED);
	refuses("B1-split-shuffle", 2, 1, 0x09, BFS_ERR_UNSUPPORTED);
}

static void bytedelta_refuses_width_0(void **state)
{
	(void)state;
	/* The width would be the frame's typesize, and there is no frame. */
	refuses("bytedelta", 29, 1, 0, BFS_ERR_UNSUPPORTED);
	refuses("bytedelta-buggy", 29, 1, 0, BFS_ERR_UNSUPPORTED);
}

/* A width above the block's length leaves the block as it is. */
static void filters_wider_than_the_block_do_nothing(void **state)
{
	static const uint8_t ids[] = { 1, 35, 34 };
	const struct vector *v = vector_find("blosclz-near");

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(ids); i++) {
		struct bfs_diag diag = { 0 };
		size_t len, got_len = 0;
		uint8_t *p = vector_chunk(v, &len);
		uint8_t *got = NULL;
		uint8_t *want = vector_want(v);

		p[16] = ids[i];
		p[24] = 255;
		if (decode_chunk(p, len, 0, &got, &got_len, &diag) != BFS_OK)
			fail_msg("%s", diag.text);
		assert_memory_equal(got, want, v->want_len);
		free(got);
		free(want);
		free(p);
	}
}

static void delta_chunk_refuses_a_shortened_last_block(void **state)
{
	(void)state;
	/* The stream of the last block still decodes to all of it. */
	corrupt("delta", 4, 4, 151);
	corrupt("delta", 4, 4, 129);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunk_refuses_less_than_a_header),
		cmocka_unit_test(chunk_refuses_versions_that_never_were),
		cmocka_unit_test(
			chunk_refuses_newer_version_with_unknown_flags),
		cmocka_unit_test(chunk_refuses_cbytes_out_of_range),
		cmocka_unit_test(chunk_refuses_cbytes_that_cut_its_data),
		cmocka_unit_test(chunk_refuses_nbytes_out_of_range),
		cmocka_unit_test(chunk_refuses_blocksize_out_of_range),
		cmocka_unit_test(chunk_refuses_tables_that_do_not_fit),
		cmocka_unit_test(chunk_refuses_typesize_0),
		cmocka_unit_test(
			chunk_refuses_streams_that_do_not_fill_the_block),
		cmocka_unit_test(chunk_refuses_special_kinds_5_to_7),
		cmocka_unit_test(chunk_refuses_kinds_that_exclude_each_other),
		cmocka_unit_test(chunk_refuses_repeated_value_of_bad_width),
		cmocka_unit_test(chunk_refuses_nan_of_odd_width),
		cmocka_unit_test(special_chunk_of_two_gib_costs_nothing),
		cmocka_unit_test(chunk_refuses_stored_length_that_disagrees),
		cmocka_unit_test(chunk_refuses_stored_lazy_chunks),
		cmocka_unit_test(false_memcpy_is_mended_when_smaller_too),
		cmocka_unit_test(chunk_refuses_starts_outside_the_data),
		cmocka_unit_test(bad_start_spoils_no_other_block),
		cmocka_unit_test(blocks_may_share_their_bytes),
		cmocka_unit_test(chunk_refuses_streams_beyond_the_end),
		cmocka_unit_test(chunk_refuses_runs_of_impossible_values),
		cmocka_unit_test(chunk_refuses_runs_without_a_token),
		cmocka_unit_test(chunk_refuses_runs_in_old_versions),
		cmocka_unit_test(chunk_refuses_streams_of_another_length),
		cmocka_unit_test(blosclz_refuses_tokens_that_reach_outside),
		cmocka_unit_test(
			blosclz_survives_a_length_of_eight_million_extensions),
		cmocka_unit_test(codecs_refuse_garbage),
		cmocka_unit_test(zstd_window_claim_does_no_harm),
		cmocka_unit_test(chunk_names_codecs_that_it_has_not),
		cmocka_unit_test(chunk_refuses_dictionaries_that_do_not_fit),
		cmocka_unit_test(chunk_refuses_blocks_inside_the_dictionary),
		cmocka_unit_test(
			chunk_refuses_streams_that_miss_their_dictionary),
		cmocka_unit_test(vl_chunk_refuses_starts_out_of_order),
		cmocka_unit_test(vl_chunk_refuses_sizes_that_do_not_add_up),
		cmocka_unit_test(vl_chunk_refuses_sizes_that_sum_by_overflow),
		cmocka_unit_test(vl_chunk_refuses_counts_that_do_not_fit),
		cmocka_unit_test(chunk_names_filters_that_it_has_not),
		cmocka_unit_test(old_chunk_refuses_its_reserved_flag),
		cmocka_unit_test(bytedelta_refuses_width_0),
		cmocka_unit_test(filters_wider_than_the_block_do_nothing),
		cmocka_unit_test(delta_chunk_refuses_a_shortened_last_block),
	};

	return cmocka_run_group_tests_name("chunk_hostile", tests, NULL, NULL);
}
