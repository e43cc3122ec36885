/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_codec_plugins.c - the codecs that few files use: Snappy, NDLZ, the
 * formats of Zstandard before 1.0, and those known by name alone. For ZFP see
 * test_codec_zfp.c.
 *
 * NDLZ streams are made here, cell by cell, next to what they mean; the others
 * by their own compressors. What those and the original writers made long ago
 * stands as hex, here and in support/vectors.h.
 */
#include "codec_jobs.h"

#include "chunk/plan.h"
#include "support/vectors.h"

#include <openssl/sha.h>
#include <stdio.h>
#include <zstd.h>

#ifdef BFS_HAVE_SNAPPY
#include <snappy-c.h>
#endif

/* ---- whole chunks ---- */

struct answer {
	const char *name;	/* in support/vectors.h */
	size_t len;
	const char *sha;	/* of what comes out */
	struct bfs_codec_env env;
};

#define ARRAY_8_BY_8 { .typesize = 4, .ndim = 2, .blockshape = { 8, 8 } }

static void expect_answer(const struct answer *a)
{
	const struct vector *v = vector_find(a->name);
	struct bfs_scratch *scratch = bfs_scratch_new();
	struct bfs_diag diag = { .text = "" };
	struct bfs_source *source;
	struct bfs_chunk *chunk;
	uint8_t sum[SHA256_DIGEST_LENGTH];
	char hex[2 * sizeof(sum) + 1];
	uint8_t *got = malloc(a->len), *p;
	size_t len;

	assert_non_null(v);
	assert_non_null(got);
	p = vector_chunk(v, &len);
	assert_int_equal(bfs_source_memory(p, len, false, &source, NULL),
			 BFS_OK);
	if (bfs_chunk_open(source, 0, len, (uint32_t)a->len, &a->env, &chunk,
			   &diag) != BFS_OK ||
	    bfs_chunk_read_all(chunk, source, 0, got, scratch, &diag) != BFS_OK)
		fail_msg("%s: %s", a->name, diag.text);
	SHA256(got, a->len, sum);
	for (size_t i = 0; i < sizeof(sum); i++)
		snprintf(hex + 2 * i, 3, "%02x", sum[i]);
	assert_string_equal(hex, a->sha);
	bfs_chunk_unref(chunk);
	bfs_source_unref(source);
	bfs_scratch_free(scratch);
	free(got);
	free(p);
}

static void chunks_of_the_original_writers_decode(void **unused)
{
	static const struct answer answers[] = {
#ifdef BFS_HAVE_SNAPPY
		{ "B1-snappy", 2048, "1f197702640d67aaa82ccf0c60d28db02022a6c"
		  "76c3571363ba06056021a629c", { 0 } },
#endif
		{ "ndlz4", 160, "1eb2abda65ebd48eb94ec1af406457ec1dcd5d0f9d9"
		  "b8915da1294d19f06b2f4", { 0 } },
		{ "ndlz8", 384, "01a3f239ba1bfd4a33b2a8774df4647d90e421c8dc7"
		  "a7d6c25e974ef8ebe568f", { 0 } },
		{ "ndlz8-pair", 256, "3a9753c6e4ae14e1f8e4dee62e9226eddf90da"
		  "cf1f98622cbb29cd9542858e20", { 0 } },
#ifdef BFS_HAVE_ZFP
		{ "zfp-accuracy", 256, "97cc622e8ea3df5bbab9dc2bc6b52621cb6b"
		  "37ee5be5b4b45df643df95440bbe", ARRAY_8_BY_8 },
		{ "zfp-rate", 256, "97cc622e8ea3df5bbab9dc2bc6b52621cb6b37ee"
		  "5be5b4b45df643df95440bbe", ARRAY_8_BY_8 },
#endif
	};

	(void)unused;
	for (size_t i = 0; i < BFS_ARRAY_LEN(answers); i++)
		expect_answer(&answers[i]);
}

/* ---- by name alone ---- */

static void plugins_are_known_by_name_alone(void **unused)
{
	static const struct {
		const struct bfs_codec *row;
		const char *name;
		unsigned format, code;
	} rows[] = {
		{ &bfs_codec_lizard, "lizard", 5, 6 },
		{ &bfs_codec_openhtj2k, "openhtj2k", 6, 36 },
		{ &bfs_codec_grok, "grok", 6, 37 },
		{ &bfs_codec_openzl, "openzl", 6, 38 },
		{ &bfs_codec_j2k, "j2k", 6, 39 },
		{ &bfs_codec_htj2k, "htj2k", 6, 40 },
	};
	char buf[24];

	(void)unused;
	for (size_t i = 0; i < BFS_ARRAY_LEN(rows); i++) {
		assert_ptr_equal(bfs_codec_find(rows[i].format, rows[i].code),
				 rows[i].row);
		assert_string_equal(bfs_codec_code_name(rows[i].code, buf),
				    rows[i].name);
		assert_int_equal(decode(rows[i].row, "x", 1, 1),
				 BFS_ERR_UNSUPPORTED);
	}
}

/* What is built without a library is known like the others. */
static void absent_libraries_leave_a_name(void **unused)
{
	const struct bfs_codec *const rows[] = {
		&bfs_codec_snappy, &bfs_codec_zfp_acc, &bfs_codec_zfp_prec,
		&bfs_codec_zfp_rate,
	};
	bool built[] = { false, false, false, false };

	(void)unused;
#ifdef BFS_HAVE_SNAPPY
	built[0] = true;
#endif
#ifdef BFS_HAVE_ZFP
	built[1] = built[2] = built[3] = true;
#endif
	for (size_t i = 0; i < BFS_ARRAY_LEN(rows); i++) {
		assert_int_equal(rows[i]->decode != NULL, built[i]);
		assert_int_equal(rows[i]->version != NULL, built[i]);
		assert_non_null(rows[i]->name);
	}
}

/* ---- Snappy ---- */

#ifdef BFS_HAVE_SNAPPY

static size_t pack_snappy(const uint8_t *raw, size_t len, uint8_t *packed,
			  size_t room)
{
	size_t n = room;

	assert_int_equal(snappy_compress((const char *)raw, len,
					 (char *)packed, &n), SNAPPY_OK);
	return n;
}

static void snappy_decodes_what_its_writer_makes(void **unused)
{
	static uint8_t raw[70000], packed[90000];

	(void)unused;
	for (size_t len = 1; len <= sizeof(raw); len += 1 + len / 3) {
		size_t n;

		fill(raw, len);
		n = pack_snappy(raw, len, packed, sizeof(packed));
		expect_bytes(&bfs_codec_snappy, packed, n, raw, len);
		expect_corrupt(&bfs_codec_snappy, packed, n, len + 1);
		expect_corrupt(&bfs_codec_snappy, packed, n, len - 1);
		packed[n] = 0;
		expect_corrupt(&bfs_codec_snappy, packed, n + 1, len);
	}
}

static void snappy_contains_mutants_and_truncations(void **unused)
{
	uint8_t raw[1500], packed[2000];
	struct bfs_codec_job job = { .src = packed, .dst_len = sizeof(raw) };

	(void)unused;
	fill(raw, sizeof(raw));
	job.src_len = pack_snappy(raw, sizeof(raw), packed, sizeof(packed));
	expect_result(&bfs_codec_snappy, &job, raw);
	expect_exact(&bfs_codec_snappy, &job);
	expect_changes_contained(&bfs_codec_snappy, &job);
}

static void snappy_refuses_a_length_that_is_none(void **unused)
{
	static const uint8_t endless[] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
	};
	static const uint8_t huge[] = { 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 1 };

	(void)unused;
	expect_corrupt(&bfs_codec_snappy, endless, sizeof(endless), 1);
	expect_corrupt(&bfs_codec_snappy, huge, sizeof(huge), 1);
}

#endif

/* ---- NDLZ ---- */

/* Which rows of a cell a token takes from its first reference and from its
 * second, as digits; the others are literal. */
struct match {
	uint8_t token;
	const char *first, *second;
};

static const struct match matches4[] = {
	{ 0x28, "01", "23" }, { 0x30, "02", "13" }, { 0x38, "03", "12" },
	{ 0x80, "23", "" }, { 0x88, "01", "" }, { 0x90, "02", "" },
	{ 0x98, "03", "" }, { 0xb0, "12", "" }, { 0xb8, "13", "" },
	{ 0xe0, "123", "" }, { 0xe8, "012", "" }, { 0xf0, "013", "" },
	{ 0xf8, "023", "" },
};
static const struct match matches8[] = {
	{ 0xa8, "012", "" }, { 0xa9, "123", "" }, { 0xaa, "234", "" },
	{ 0xab, "345", "" }, { 0xac, "456", "" }, { 0xad, "567", "" },
	{ 0x88, "01", "" }, { 0x89, "12", "" }, { 0x8a, "23", "" },
	{ 0x8b, "34", "" }, { 0x8c, "45", "" }, { 0x8d, "56", "" },
	{ 0x8e, "67", "" },
};

static struct {
	uint8_t src[ARENA_LEN];
	size_t len;
	uint8_t want[ARENA_LEN];
	uint32_t side, n_rows, n_cols;
	unsigned n_matches;
} nd;

static void emit(unsigned byte)
{
	nd.src[nd.len++] = (uint8_t)byte;
}

static void emit32(uint32_t v)
{
	for (int i = 0; i < 4; i++)
		emit(v >> 8 * i & 0xff);
}

static void begin(uint32_t side, uint32_t n_rows, uint32_t n_cols)
{
	nd.len = 0;
	nd.side = side;
	nd.n_rows = n_rows;
	nd.n_cols = n_cols;
	emit(2);
	emit32(n_rows);
	emit32(n_cols);
}

/* A reference to len bytes somewhere before `token_at`, in reach of 16 bits. */
static const uint8_t *emit_reference(size_t token_at, size_t len)
{
	size_t back = len + draw((uint32_t)bfs_min(token_at - len, 60000));

	emit(back & 0xff);
	emit(back >> 8 & 0xff);
	return nd.src + token_at - back;
}

/* A cell with a match of rows; its contents, side bytes a row, to `cell`. */
static void emit_match(uint8_t *cell)
{
	const size_t at = nd.len, w = nd.side;
	const struct match *m = w == 4 ?
		&matches4[draw(BFS_ARRAY_LEN(matches4))] :
		&matches8[draw(BFS_ARRAY_LEN(matches8))];
	const char *list[2] = { m->first, m->second };
	unsigned done = 0;

	emit(m->token);
	for (int k = 0; k < 2; k++) {
		size_t n = strlen(list[k]);
		const uint8_t *ref = n ? emit_reference(at, n * w) : NULL;

		for (size_t i = 0; i < n; i++) {
			unsigned row = (unsigned)(list[k][i] - '0');

			memcpy(cell + row * w, ref + i * w, w);
			done |= 1u << row;
		}
	}
	for (unsigned row = 0; row < w; row++)
		for (unsigned i = 0; i < w && !(done >> row & 1); i++) {
			cell[row * w + i] = (uint8_t)draw(256);
			emit(cell[row * w + i]);
		}
	nd.n_matches++;
}

/* A cell of h rows and w columns; rows of `cell` are nd.side apart. */
static void emit_cell(uint8_t *cell, uint32_t h, uint32_t w)
{
	const size_t at = nd.len, len = (size_t)h * w;
	uint32_t kind = draw(5);
	const uint8_t *from;

	if (kind == 0) {
		emit(0x40);
		emit(draw(256));
		memset(cell, nd.src[nd.len - 1], (size_t)nd.side * nd.side);
		return;
	}
	if (kind >= 3 && h == nd.side && w == nd.side && at > 100) {
		emit_match(cell);
		return;
	}
	if (kind == 2 && at > 100) {
		emit(0xc0);
		from = emit_reference(at, len);
	} else {
		emit(0x00);
		from = nd.src + nd.len;
		for (size_t i = 0; i < len; i++)
			emit(draw(256));
	}
	for (uint32_t i = 0; i < h; i++)
		memcpy(cell + (size_t)i * nd.side, from + (size_t)i * w, w);
}

static void emit_cells(void)
{
	uint8_t cell[64];

	for (uint32_t y = 0; y < nd.n_rows; y += nd.side)
		for (uint32_t x = 0; x < nd.n_cols; x += nd.side) {
			uint32_t h = (uint32_t)bfs_min(nd.side, nd.n_rows - y);
			uint32_t w = (uint32_t)bfs_min(nd.side, nd.n_cols - x);

			emit_cell(cell, h, w);
			for (uint32_t i = 0; i < h; i++)
				memcpy(nd.want + (size_t)(y + i) * nd.n_cols +
				       x, cell + (size_t)i * nd.side, w);
		}
}

static struct bfs_codec_job nd_job(void)
{
	return (struct bfs_codec_job){
		.src = nd.src, .src_len = nd.len, .meta = (uint8_t)nd.side,
		.dst_len = (size_t)nd.n_rows * nd.n_cols,
	};
}

static void ndlz_decodes_every_kind_of_cell(void **unused)
{
	(void)unused;
	nd.n_matches = 0;
	for (int i = 0; i < 400; i++) {
		begin(i & 1 ? 4 : 8, 1 + draw(i < 300 ? 40 : 200),
		      1 + draw(i < 300 ? 60 : 300));
		emit_cells();
		expect_result(&bfs_codec_ndlz, &(struct bfs_codec_job){
				.src = nd.src, .src_len = nd.len,
				.meta = (uint8_t)nd.side,
				.dst_len = (size_t)nd.n_rows * nd.n_cols,
			}, nd.want);
	}
	assert_true(nd.n_matches > 1000);
}

static void ndlz_refuses_truncations_and_contains_mutants(void **unused)
{
	struct bfs_codec_job job;

	(void)unused;
	for (uint32_t side = 4; side <= 8; side += 4) {
		begin(side, 37, 43);
		emit_cells();
		job = nd_job();
		expect_result(&bfs_codec_ndlz, &job, nd.want);
		expect_exact(&bfs_codec_ndlz, &job);
		for (int i = 0; i < 5; i++)
			expect_changes_contained(&bfs_codec_ndlz, &job);
		nd.src[nd.len] = 0x40;
		job.src_len++;
		assert_int_equal(decode_job(&bfs_codec_ndlz, &job),
				 BFS_ERR_CORRUPT);
	}
}

/* One cell behind a literal one: `token`, references that far back, zeros
 * until it is enough. */
static enum bfs_err decode_token(uint32_t side, unsigned token, unsigned back)
{
	struct bfs_codec_job job;

	begin(side, side, 2 * side);
	emit(0x00);
	for (uint32_t i = 0; i < side * side; i++)
		emit(i);
	emit(token);
	for (int i = 0; i < 70; i++) {
		job = nd_job();
		if (decode_job(&bfs_codec_ndlz, &job) == BFS_OK)
			return BFS_OK;
		emit(i > 3 ? 0 : back >> 8 * (i & 1) & 0xff);
	}
	return BFS_ERR_CORRUPT;
}

static bool is_token(uint32_t side, unsigned token)
{
	if (token == 0x00 || token == 0x40 || token == 0xc0)
		return true;
	for (size_t i = 0; i < BFS_ARRAY_LEN(matches4); i++)
		if ((side == 4 ? matches4 : matches8)[i].token == token)
			return true;
	return false;
}

static void ndlz_refuses_tokens_that_mean_nothing(void **unused)
{
	(void)unused;
	assert_int_equal(BFS_ARRAY_LEN(matches4), BFS_ARRAY_LEN(matches8));
	for (uint32_t side = 4; side <= 8; side += 4)
		for (unsigned token = 0; token < 256; token++)
			assert_int_equal(decode_token(side, token,
						      side * side),
					 is_token(side, token) ?
					 BFS_OK : BFS_ERR_CORRUPT);
}

static void ndlz_refuses_references_out_of_the_stream(void **unused)
{
	(void)unused;
	/* The token of the second cell stands at 9 + 1 + 16. */
	assert_int_equal(decode_token(4, 0xc0, 26), BFS_OK);
	assert_int_equal(decode_token(4, 0xc0, 27), BFS_ERR_CORRUPT);
	assert_int_equal(decode_token(4, 0x28, 26), BFS_OK);
	assert_int_equal(decode_token(4, 0x28, 27), BFS_ERR_CORRUPT);
	assert_int_equal(decode_token(4, 0xe8, 0xffff), BFS_ERR_CORRUPT);
	assert_int_equal(decode_token(8, 0x88, 74), BFS_OK);
	assert_int_equal(decode_token(8, 0x88, 75), BFS_ERR_CORRUPT);
	/* Within the stream, but too near for so many bytes. */
	assert_int_equal(decode_token(8, 0xc0, 0), BFS_ERR_CORRUPT);
}

static void expect_bad_header(unsigned n_dims, uint32_t n_rows,
			      uint32_t n_cols, size_t dst_len, uint8_t meta)
{
	struct bfs_codec_job job = {
		.src = nd.src, .dst_len = dst_len, .meta = meta,
	};

	begin(4, n_rows, n_cols);
	nd.src[0] = (uint8_t)n_dims;
	for (int i = 0; i < 64; i++) {
		emit(0x40);
		emit(7);
	}
	job.src_len = nd.len;
	assert_int_equal(decode_job(&bfs_codec_ndlz, &job), BFS_ERR_CORRUPT);
}

static void ndlz_refuses_other_headers(void **unused)
{
	(void)unused;
	expect_bad_header(1, 4, 4, 16, 4);
	expect_bad_header(3, 4, 4, 16, 4);
	expect_bad_header(2, 4, 4, 16, 0);
	expect_bad_header(2, 4, 4, 16, 5);
	expect_bad_header(2, 4, 4, 16, 16);
	expect_bad_header(2, 4, 5, 16, 4);
	expect_bad_header(2, 0, 16, 16, 4);
	expect_bad_header(2, 16, 0, 0, 4);
	expect_bad_header(2, 0, 0, 0, 4);
	/* Negative ones, and products that wrap at 32 and 64 bits. */
	expect_bad_header(2, 0xfffffffcu, 0xfffffffcu, 16, 4);
	expect_bad_header(2, 0x80000000u, 0x80000000u, 0, 4);
	expect_bad_header(2, 0x10000u, 0x10001u, 0x10000, 4);
}

/* ---- Zstandard before 1.0 ---- */

/* 300 bytes, by the compressors of 0.5.1 and 0.6.1; that of 0.7.4 differs
 * from the latter in bytes 0 and 4 alone. */
static const char legacy5[] =
	"25b52ffd00000091129c4e0be00900b47511c96f00a702cf"
	"ec5cd9b79b86881b58d45097393a50b05e4713be06d29293"
	"ad082cf4ccc2f4321162ba095a34883786912b4625c32899"
	"e8acaf13b238d08f491fc540cae7a5882d16000096408112"
	"0ca33300102800204ba0400996a129142881324081017506"
	"004aa00c5000409640810c5548300c02d148a00c84432490"
	"06016124c806000801c00000";
static const char legacy6[] =
	"26b52ffd802c00000085129c4c09e0096d5d44f21bc0a9cf"
	"ec5cd9b79b86881b58d45097393a50b05e4713be06d29293"
	"ad082cf4ccc2f4321162ba095a34883786912b4625c32899"
	"e8acaf13b238d08f491fc540cae7a5882d16001923346a0c"
	"c81246d640c6088d1abe638a460d1ad91d90c9003538b203"
	"19d3741c642838eeda42c128470c9409bbdb42191c8036c0"
	"0000";

/* The stream of version 0.<minor> in src, and one more byte there. */
static struct bfs_codec_job legacy_job(int minor, uint8_t src[256])
{
	const struct vector v = { .chunk = minor == 5 ? legacy5 : legacy6 };
	struct bfs_codec_job job = { .src = src, .dst_len = 300 };
	uint8_t *p = vector_chunk(&v, &job.src_len);

	assert_true(job.src_len < 256);
	memcpy(src, p, job.src_len);
	src[job.src_len] = 0;
	free(p);
	if (minor == 7) {
		src[0] = 0x27;
		src[4] = 0x60;
	}
	return job;
}

/* Whether the library here was built with them. */
static bool has_legacy(void)
{
	uint8_t src[256];
	struct bfs_codec_job job = legacy_job(5, src);

	return !ZSTD_isError(ZSTD_findFrameCompressedSize(job.src,
							  job.src_len));
}

static void zstd_decodes_the_formats_before_1_0(void **unused)
{
	uint8_t want[300], src[256];

	(void)unused;
	for (unsigned i = 0; i < sizeof(want); i++)
		want[i] = (uint8_t)"lighthouse"[i * i / 31 % 10];
	for (int minor = 5; minor <= 7; minor++) {
		struct bfs_codec_job job = legacy_job(minor, src);

		if (has_legacy())
			expect_result(&bfs_codec_zstd, &job, want);
		else
			assert_int_equal(decode_job(&bfs_codec_zstd, &job),
					 BFS_ERR_UNSUPPORTED);
	}
}

static void zstd_contains_what_claims_to_be_before_1_0(void **unused)
{
	uint8_t src[256];

	(void)unused;
	for (int minor = 5; minor <= 7 && has_legacy(); minor++) {
		struct bfs_codec_job job = legacy_job(minor, src);

		expect_exact(&bfs_codec_zstd, &job);
		expect_changes_contained(&bfs_codec_zstd, &job);
		/* Nothing comes behind such a frame, not even another. */
		job.src_len++;
		assert_int_equal(decode_job(&bfs_codec_zstd, &job),
				 BFS_ERR_CORRUPT);
		job.src_len--;
		job.dict = (const uint8_t *)"lighthouse";
		job.dict_len = 10;
		assert_int_equal(decode_job(&bfs_codec_zstd, &job),
				 BFS_ERR_CORRUPT);
	}
}

static void zstd_refuses_formats_that_blosc_never_used(void **unused)
{
	uint8_t src[256];
	struct bfs_codec_job job = legacy_job(5, src);

	(void)unused;
	for (unsigned byte = 0x1e; byte < 0x2a; byte++) {
		src[0] = (uint8_t)byte;
		if (byte >= 0x25 && byte <= 0x28)
			continue;
		assert_int_equal(decode_job(&bfs_codec_zstd, &job),
				 BFS_ERR_CORRUPT);
	}
	memcpy(src, "\x1e\xb5\x2f\xfd", 4);
	assert_int_equal(decode_job(&bfs_codec_zstd, &job), BFS_ERR_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_of_the_original_writers_decode),
		cmocka_unit_test(plugins_are_known_by_name_alone),
		cmocka_unit_test(absent_libraries_leave_a_name),
#ifdef BFS_HAVE_SNAPPY
		cmocka_unit_test(snappy_decodes_what_its_writer_makes),
		cmocka_unit_test(snappy_contains_mutants_and_truncations),
		cmocka_unit_test(snappy_refuses_a_length_that_is_none),
#endif
		cmocka_unit_test(ndlz_decodes_every_kind_of_cell),
		cmocka_unit_test(ndlz_refuses_truncations_and_contains_mutants),
		cmocka_unit_test(ndlz_refuses_tokens_that_mean_nothing),
		cmocka_unit_test(ndlz_refuses_references_out_of_the_stream),
		cmocka_unit_test(ndlz_refuses_other_headers),
		cmocka_unit_test(zstd_decodes_the_formats_before_1_0),
		cmocka_unit_test(zstd_contains_what_claims_to_be_before_1_0),
		cmocka_unit_test(zstd_refuses_formats_that_blosc_never_used),
	};

	return cmocka_run_group_tests_name("codec plugins", tests, set_up,
					   tear_down);
}
