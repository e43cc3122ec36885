/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_codec_libs.c - the codecs that are libraries, against what their own
 * compressors make.
 */
#include "codec_try.h"

#include <lz4.h>
#include <lz4hc.h>
#include <stdio.h>
#include <zdict.h>
#include <zlib.h>
#include <zstd.h>

/* ---- LZ4 ---- */

static const char dict_text[] = "The quick brown fox jumps over the lazy dog. ";

/* The stream, decoded with a dictionary: raw, made ready, or both. */
static enum bfs_err decode_dict(const struct bfs_codec *codec,
				const void *src, size_t src_len,
				const void *dict, size_t dict_len,
				const struct bfs_codec_dict *ready,
				size_t dst_len)
{
	struct bfs_codec_job job = {
		.src = src, .src_len = src_len, .dst_len = dst_len,
		.dict = dict, .dict_len = dict_len, .ready = ready,
	};

	return decode_job(codec, &job);
}

static void lz4_decodes_what_both_writers_make(void **unused)
{
	static uint8_t raw[70000], packed[80000];
	int level, n;

	(void)unused;
	for (size_t len = 1; len <= sizeof(raw); len += 1 + len / 3) {
		fill(raw, len);
		n = LZ4_compress_default((char *)raw, (char *)packed, (int)len,
					 sizeof(packed));
		assert_true(n > 0);
		expect_bytes(&bfs_codec_lz4, packed, (size_t)n, raw, len);
		expect_corrupt(&bfs_codec_lz4, packed, (size_t)n, len + 1);
		expect_corrupt(&bfs_codec_lz4, packed, (size_t)n, len - 1);
		level = (int)draw(12) + 1;
		n = LZ4_compress_HC((char *)raw, (char *)packed, (int)len,
				    sizeof(packed), level);
		assert_true(n > 0);
		expect_bytes(&bfs_codec_lz4, packed, (size_t)n, raw, len);
	}
}

static void lz4_contains_mutants_and_truncations(void **unused)
{
	uint8_t raw[1500], packed[2000];
	size_t n;

	(void)unused;
	fill(raw, sizeof(raw));
	n = (size_t)LZ4_compress_default((char *)raw, (char *)packed,
					 sizeof(raw), sizeof(packed));
	for (size_t i = 0; i < n; i++)
		expect_corrupt(&bfs_codec_lz4, packed, i, sizeof(raw));
	expect_mutants_contained(&bfs_codec_lz4, packed, n, sizeof(raw));
}

static void lz4_uses_a_dictionary(void **unused)
{
	static const uint8_t src[2][16] = {
		{ 0x0a, 0x0e, 0x00, 0x0d, 0x3b, 0x00, 0x50, 'o', 'x', '.',
		  '.', '.' },
		{ 0x0f, 0x19, 0x00, 0x06, 0xb0, 'q', 'u', 'i', 'c', 'k', ' ',
		  'b', 'r', 'o', 'w', 'n' },
	};
	static const char *const want[2] = {
		"the lazy dog. The quick brown fox...",
		"jumps over the lazy dog. quick brown",
	};

	(void)unused;
	for (int i = 0; i < 2; i++) {
		size_t len = i ? 16 : 12;

		assert_int_equal(decode_dict(&bfs_codec_lz4, src[i], len,
					     dict_text, 45, NULL, 36), BFS_OK);
		assert_memory_equal(result, want[i], 36);
		expect_corrupt(&bfs_codec_lz4, src[i], len, 36);
		/* a dictionary too short for the offset */
		assert_int_equal(decode_dict(&bfs_codec_lz4, src[i], len,
					     dict_text + 41, 4, NULL, 36),
				 BFS_ERR_CORRUPT);
	}
}

static void lz4_uses_dictionaries_of_every_size(void **unused)
{
	static uint8_t dict[32768], raw[4000], packed[5000];
	LZ4_stream_t *stream = LZ4_createStream();
	int n;

	(void)unused;
	fill(dict, sizeof(dict));
	for (size_t len = 1; len <= sizeof(dict); len += len / 2 + 1) {
		fill(raw, sizeof(raw));
		memcpy(raw + 100, dict, len < 2000 ? len : 2000);
		LZ4_resetStream_fast(stream);
		LZ4_loadDict(stream, (char *)dict, (int)len);
		n = LZ4_compress_fast_continue(stream, (char *)raw,
					       (char *)packed, sizeof(raw),
					       sizeof(packed), 1);
		assert_true(n > 0);
		assert_int_equal(decode_dict(&bfs_codec_lz4, packed, (size_t)n,
					     dict, len, NULL, sizeof(raw)),
				 BFS_OK);
		assert_memory_equal(result, raw, sizeof(raw));
	}
	LZ4_freeStream(stream);
}

/* ---- zlib ---- */

static void zlib_decodes_every_level(void **unused)
{
	static uint8_t raw[70000], packed[80000];

	(void)unused;
	for (int level = 0; level <= 9; level++) {
		for (size_t len = 1; len <= sizeof(raw); len *= 5) {
			uLongf n = sizeof(packed);

			fill(raw, len);
			assert_int_equal(compress2(packed, &n, raw, len,
						   level), Z_OK);
			expect_bytes(&bfs_codec_zlib, packed, n, raw, len);
			expect_corrupt(&bfs_codec_zlib, packed, n, len + 1);
			expect_corrupt(&bfs_codec_zlib, packed, n, len - 1);
		}
	}
}

static void zlib_ignores_bytes_behind_the_stream(void **unused)
{
	const struct bfs_codec_sample *s = &bfs_codec_zlib.sample;
	uint8_t src[200];

	(void)unused;
	for (size_t more = 1; more <= 100; more++) {
		memset(src, (int)draw(256), sizeof(src));
		memcpy(src, s->src, s->src_len);
		expect_bytes(&bfs_codec_zlib, src, s->src_len + more, s->want,
			     s->want_len);
	}
}

static void zlib_refuses_a_wrong_checksum(void **unused)
{
	const struct bfs_codec_sample *s = &bfs_codec_zlib.sample;
	uint8_t src[200];

	(void)unused;
	memcpy(src, s->src, s->src_len);
	for (size_t i = s->src_len - 4; i < s->src_len; i++) {
		src[i] ^= 1;
		expect_corrupt(&bfs_codec_zlib, src, s->src_len, s->want_len);
		src[i] ^= 1;
	}
	/* and the worker's state is good for the next stream */
	expect_bytes(&bfs_codec_zlib, src, s->src_len, s->want, s->want_len);
}

static void zlib_refuses_a_preset_dictionary(void **unused)
{
	uint8_t raw[500], packed[1000];
	z_stream z = { 0 };

	(void)unused;
	fill(raw, sizeof(raw));
	assert_int_equal(deflateInit(&z, 6), Z_OK);
	assert_int_equal(deflateSetDictionary(&z, raw, 300), Z_OK);
	z.next_in = raw;
	z.avail_in = sizeof(raw);
	z.next_out = packed;
	z.avail_out = sizeof(packed);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	expect_corrupt(&bfs_codec_zlib, packed, z.total_out, sizeof(raw));
	deflateEnd(&z);
}

static void zlib_contains_mutants_and_truncations(void **unused)
{
	uint8_t raw[1500], packed[2000];
	uLongf n = sizeof(packed);

	(void)unused;
	fill(raw, sizeof(raw));
	assert_int_equal(compress2(packed, &n, raw, sizeof(raw), 6), Z_OK);
	for (size_t i = 0; i < n; i++)
		expect_corrupt(&bfs_codec_zlib, packed, i, sizeof(raw));
	expect_mutants_contained(&bfs_codec_zlib, packed, n, sizeof(raw));
}

/* ---- Zstandard ---- */

static void zstd_decodes_every_kind_of_level(void **unused)
{
	static const int levels[] = { -5, 1, 3, 9, 19, 22 };
	static uint8_t raw[70000], packed[80000];

	(void)unused;
	for (size_t i = 0; i < BFS_ARRAY_LEN(levels); i++) {
		for (size_t len = 1; len <= sizeof(raw); len *= 5) {
			size_t n;

			fill(raw, len);
			n = ZSTD_compress(packed, sizeof(packed), raw, len,
					  levels[i]);
			assert_false(ZSTD_isError(n));
			expect_bytes(&bfs_codec_zstd, packed, n, raw, len);
			expect_corrupt(&bfs_codec_zstd, packed, n, len + 1);
			expect_corrupt(&bfs_codec_zstd, packed, n, len - 1);
		}
	}
}

static void zstd_joins_frames_and_skips_the_skippable(void **unused)
{
	static const uint8_t skip[] = "\x53\x2a\x4d\x18\x03\0\0\0abc";
	uint8_t raw[600], packed[2000];
	size_t n, m;

	(void)unused;
	fill(raw, sizeof(raw));
	n = ZSTD_compress(packed, sizeof(packed), raw, 400, 3);
	memcpy(packed + n, skip, sizeof(skip) - 1);
	n += sizeof(skip) - 1;
	m = ZSTD_compress(packed + n, sizeof(packed) - n, raw + 400, 200, 3);
	expect_bytes(&bfs_codec_zstd, packed, n + m, raw, 600);
	expect_corrupt(&bfs_codec_zstd, packed, n + m, 400);
	expect_corrupt(&bfs_codec_zstd, packed, n + m + 1, 600);
}

/* The library may well decode it: a raw block in the format of 0.7. Alone it
 * is a stream (see test_codec_plugins.c), behind another frame it is not. */
static void zstd_joins_no_frames_from_before_1_0(void **unused)
{
	static const uint8_t old[] = {
		0x27, 0xb5, 0x2f, 0xfd, 0x20, 0x04, 0x40, 0x00, 0x04,
		'a', 'b', 'c', 'd', 0xc0, 0x00, 0x00,
	};
	const struct bfs_codec_sample *s = &bfs_codec_zstd.sample;
	uint8_t src[300];

	(void)unused;
	memcpy(src, s->src, s->src_len);
	memcpy(src + s->src_len, old, sizeof(old));
	expect_bytes(&bfs_codec_zstd, src, s->src_len, s->want, s->want_len);
	expect_corrupt(&bfs_codec_zstd, src, s->src_len + sizeof(old),
		       s->want_len + 4);
	expect_corrupt(&bfs_codec_zstd, "", 0, 0);
}

static size_t compress_with(ZSTD_CCtx *ctx, const void *raw, size_t len,
			    uint8_t *packed, size_t room)
{
	size_t n = ZSTD_compress2(ctx, packed, room, raw, len);

	assert_false(ZSTD_isError(n));
	ZSTD_freeCCtx(ctx);
	return n;
}

static void zstd_checks_a_checksum_that_is_there(void **unused)
{
	ZSTD_CCtx *ctx = ZSTD_createCCtx();
	uint8_t raw[600], packed[2000];
	size_t n;

	(void)unused;
	fill(raw, sizeof(raw));
	ZSTD_CCtx_setParameter(ctx, ZSTD_c_checksumFlag, 1);
	n = compress_with(ctx, raw, sizeof(raw), packed, sizeof(packed));
	expect_bytes(&bfs_codec_zstd, packed, n, raw, sizeof(raw));
	packed[n - 1] ^= 1;
	expect_corrupt(&bfs_codec_zstd, packed, n, sizeof(raw));
}

static void zstd_gives_a_big_window_no_memory(void **unused)
{
	ZSTD_CCtx *ctx = ZSTD_createCCtx();
	uint8_t raw[600], packed[2000];
	ZSTD_inBuffer in = { raw, sizeof(raw), 0 };
	ZSTD_outBuffer out = { packed, sizeof(packed), 0 };
	uint64_t used;

	(void)unused;
	fill(raw, sizeof(raw));
	assert_int_equal(ZSTD_compressStream2(ctx, &out, &in, ZSTD_e_flush), 0);
	assert_int_equal(ZSTD_compressStream2(ctx, &out, &in, ZSTD_e_end), 0);
	ZSTD_freeCCtx(ctx);
	assert_int_equal(packed[4], 0);	/* no size, so a window byte follows */
	packed[5] = 17 << 3;		/* 128 MiB */
	expect_bytes(&bfs_codec_zstd, packed, out.pos, raw, sizeof(raw));
	used = bfs_mem_used();
	bfs_mem_fail_at(1);
	expect_bytes(&bfs_codec_zstd, packed, out.pos, raw, sizeof(raw));
	bfs_mem_fail_at(0);
	assert_int_equal(bfs_mem_used(), used);
	packed[5] = 21 << 3;		/* 2 GiB, beyond what a decoder takes */
	if (decode(&bfs_codec_zstd, packed, out.pos, sizeof(raw)) == BFS_OK)
		assert_memory_equal(result, raw, sizeof(raw));
	assert_int_equal(bfs_mem_used(), used);
}

static void zstd_contains_mutants_and_truncations(void **unused)
{
	uint8_t raw[1500], packed[2000];
	size_t n;

	(void)unused;
	fill(raw, sizeof(raw));
	n = ZSTD_compress(packed, sizeof(packed), raw, sizeof(raw), 3);
	for (size_t i = 0; i < n; i++)
		expect_corrupt(&bfs_codec_zstd, packed, i, sizeof(raw));
	expect_mutants_contained(&bfs_codec_zstd, packed, n, sizeof(raw));
}

static void zstd_uses_a_raw_dictionary(void **unused)
{
	static const uint8_t src[2][22] = {
		{ 0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x24, 0x6d, 0x00, 0x00, 0x20,
		  0x74, 0x2e, 0x2e, 0x2e, 0x02, 0x00, 0x5e, 0x25, 0x10, 0xc7,
		  0xbc, 0x02 },
		{ 0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x24, 0x55, 0x00, 0x00, 0x08,
		  0x6a, 0x02, 0x00, 0x45, 0xe0, 0x80, 0xeb, 0x79, 0x05 },
	};
	static const char *const want[2] = {
		"the lazy dog. The quick brown fox...",
		"jumps over the lazy dog. quick brown",
	};
	const struct bfs_codec *zstd = &bfs_codec_zstd;
	struct bfs_codec_dict *ready;

	(void)unused;
	ready = zstd->dict_new((const uint8_t *)dict_text, 45);
	assert_non_null(ready);
	for (int i = 0; i < 6; i++) {	/* raw, made ready, both */
		size_t len = i & 1 ? 19 : 22;

		assert_int_equal(decode_dict(zstd, src[i & 1], len,
					     i < 4 ? dict_text : NULL,
					     i < 4 ? 45 : 0,
					     i < 2 ? NULL : ready, 36),
				 BFS_OK);
		assert_memory_equal(result, want[i & 1], 36);
		expect_corrupt(zstd, src[i & 1], len, 36);
	}
	zstd->dict_free(ready);
}

static size_t train(uint8_t *dict, size_t room)
{
	static uint8_t samples[400][100];
	static size_t lens[400];
	size_t n;

	for (unsigned i = 0; i < 400; i++) {
		lens[i] = sizeof(samples[i]);
		snprintf((char *)samples[i], 100,
			 "{\"station\": %u, \"height\": %u, \"kind\": \"%s\", "
			 "\"temperature\": %u.%u}", draw(99), draw(3000),
			 draw(2) ? "mast" : "buoy", draw(30), draw(10));
	}
	n = ZDICT_trainFromBuffer(dict, room, samples, lens, 400);
	assert_false(ZDICT_isError(n));
	return n;
}

static void zstd_uses_a_trained_dictionary_and_no_other(void **unused)
{
	static const char raw[] = "{\"station\": 17, \"height\": 1204, "
				  "\"kind\": \"mast\", \"temperature\": 4.2}";
	static uint8_t dict[4000], packed[400];
	const struct bfs_codec *zstd = &bfs_codec_zstd;
	struct bfs_codec_dict *ready, *other;
	ZSTD_CCtx *ctx = ZSTD_createCCtx();
	size_t len = train(dict, sizeof(dict)), n;

	(void)unused;
	n = ZSTD_compress_usingDict(ctx, packed, sizeof(packed), raw,
				    sizeof(raw), dict, len, 3);
	ZSTD_freeCCtx(ctx);
	assert_false(ZSTD_isError(n));
	assert_true(n < sizeof(raw) * 2 / 3);
	ready = zstd->dict_new(dict, len);
	other = zstd->dict_new((const uint8_t *)dict_text, 45);
	assert_non_null(ready);
	assert_non_null(other);
	assert_int_equal(decode_dict(zstd, packed, n, dict, len, ready,
				     sizeof(raw)), BFS_OK);
	assert_memory_equal(result, raw, sizeof(raw));
	assert_int_equal(decode_dict(zstd, packed, n, dict_text, 45, other,
				     sizeof(raw)), BFS_ERR_CORRUPT);
	expect_corrupt(zstd, packed, n, sizeof(raw));
	zstd->dict_free(other);
	zstd->dict_free(ready);
}

static void zstd_dictionary_fails_without_memory(void **unused)
{
	const struct bfs_codec *zstd = &bfs_codec_zstd;
	uint64_t used = bfs_mem_used();
	struct bfs_codec_dict *ready = NULL;
	uint64_t n;

	(void)unused;
	for (n = 1; !ready && n < 10; n++) {
		bfs_mem_fail_at(n);
		ready = zstd->dict_new((const uint8_t *)dict_text, 45);
		assert_true(ready || bfs_mem_used() == used);
	}
	bfs_mem_fail_at(0);
	assert_non_null(ready);
	assert_true(n > 2);
	zstd->dict_free(ready);
	zstd->dict_free(NULL);
	assert_int_equal(bfs_mem_used(), used);
}

static void zstd_refuses_a_broken_trained_dictionary(void **unused)
{
	static uint8_t dict[4000];
	const struct bfs_codec *zstd = &bfs_codec_zstd;
	struct bfs_codec_dict *ready;

	(void)unused;
	train(dict, sizeof(dict));
	/* the magic number and id, but no tables behind them */
	ready = zstd->dict_new(dict, 8);
	assert_null(ready);
	assert_int_equal(decode_dict(zstd, zstd->sample.src,
				     zstd->sample.src_len, dict, 8, NULL,
				     zstd->sample.want_len), BFS_ERR_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lz4_decodes_what_both_writers_make),
		cmocka_unit_test(lz4_contains_mutants_and_truncations),
		cmocka_unit_test(lz4_uses_a_dictionary),
		cmocka_unit_test(lz4_uses_dictionaries_of_every_size),
		cmocka_unit_test(zlib_decodes_every_level),
		cmocka_unit_test(zlib_ignores_bytes_behind_the_stream),
		cmocka_unit_test(zlib_refuses_a_wrong_checksum),
		cmocka_unit_test(zlib_refuses_a_preset_dictionary),
		cmocka_unit_test(zlib_contains_mutants_and_truncations),
		cmocka_unit_test(zstd_decodes_every_kind_of_level),
		cmocka_unit_test(zstd_joins_frames_and_skips_the_skippable),
		cmocka_unit_test(zstd_joins_no_frames_from_before_1_0),
		cmocka_unit_test(zstd_checks_a_checksum_that_is_there),
		cmocka_unit_test(zstd_gives_a_big_window_no_memory),
		cmocka_unit_test(zstd_contains_mutants_and_truncations),
		cmocka_unit_test(zstd_uses_a_raw_dictionary),
		cmocka_unit_test(zstd_uses_a_trained_dictionary_and_no_other),
		cmocka_unit_test(zstd_dictionary_fails_without_memory),
		cmocka_unit_test(zstd_refuses_a_broken_trained_dictionary),
	};

	return cmocka_run_group_tests_name("codec_libs", tests, set_up,
					   tear_down);
}
