/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_chunk.c - the chunk decoder and the oracle against known answers, and
 * against each other.
 */
#include "chunk/plan.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "support/decode.h"
#include "support/oracle.h"
#include "support/vectors.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void assert_known(const struct vector *v, const uint8_t *got,
			 size_t off, size_t len)
{
	uint8_t *want = vector_want(v);

	assert_true(off + len <= v->want_len);
	if (memcmp(got, want + off, len) != 0)
		fail_msg("%s: other bytes in [%zu, %zu)", v->name, off,
			 off + len);
	free(want);
}

static void assert_opens(const struct vector *v, const uint8_t *p, size_t len,
			 struct bfs_source **ret_source,
			 struct bfs_chunk **ret_chunk)
{
	struct bfs_diag diag = { 0 };

	if (decode_open(p, len, 0, ret_source, ret_chunk, &diag) != BFS_OK)
		fail_msg("%s: %s", v->name, diag.text);
}

static void chunk_decodes_every_vector(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_VECTORS; i++) {
		const struct vector *v = &vectors[i];
		struct bfs_diag diag = { 0 };
		size_t len, got_len = 0;
		uint8_t *p = vector_chunk(v, &len), *got = NULL;
		enum bfs_err err = decode_chunk(p, len, 0, &got, &got_len,
						&diag);

		free(p);
		if (v->unsupported && err == BFS_OK) {
			/* test_codec_plugins.c knows what comes out. */
			free(got);
			continue;
		}
		if (v->unsupported) {
			if (err != BFS_ERR_UNSUPPORTED)
				fail_msg("%s: %s", v->name, bfs_err_name(err));
			assert_string_not_equal(diag.text, "");
			continue;
		}
		if (err != BFS_OK)
			fail_msg("%s: %s", v->name, diag.text);
		assert_int_equal(got_len, v->want_len);
		assert_known(v, got, 0, got_len);
		free(got);
	}
}

static void oracle_decodes_every_vector(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_VECTORS; i++) {
		const struct vector *v = &vectors[i];
		struct oracle_bytes got;
		char err[ORACLE_ERR];
		size_t len;
		uint8_t *p = vector_chunk(v, &len);
		enum oracle_verdict verdict = oracle_chunk(p, len, NULL, &got,
							   err);

		free(p);
		if (v->unsupported) {
			assert_int_equal(verdict, ORACLE_UNSUPPORTED);
			continue;
		}
		if (verdict != ORACLE_GOOD)
			fail_msg("%s: %s", v->name, err);
		assert_int_equal(got.len, v->want_len);
		assert_known(v, got.data, 0, got.len);
		oracle_release(&got);
	}
}

/* Last block first: no block may lean on one decoded before, except on the
 * reference it asks for. */
static void check_blocks(const struct vector *v, uint8_t fill)
{
	struct bfs_source *source = NULL;
	struct bfs_chunk *chunk = NULL;
	struct bfs_diag diag = { 0 };
	size_t len, total = 0;
	uint8_t *p = vector_chunk(v, &len), *want = vector_want(v), *got = NULL;

	assert_opens(v, p, len, &source, &chunk);
	for (uint32_t k = chunk->head.n_blocks; k-- > 0;) {
		uint32_t off = bfs_chunk_block_off(chunk, k);
		uint32_t n = bfs_chunk_block_len(chunk, k);
		uint8_t *ref = NULL;

		if (chunk->needs_ref && k > 0) {
			ref = decode_alloc(n);
			memcpy(ref, want, n);
		}
		if (decode_block(chunk, p, k, ref, fill, &got, &diag))
			fail_msg("%s: block %u: %s", v->name, k, diag.text);
		assert_known(v, got, off, n);
		assert_int_equal(bfs_chunk_block_at(chunk, off), k);
		assert_int_equal(bfs_chunk_block_at(chunk, off + n - 1), k);
		free(got);
		free(ref);
		total += n;
	}
	assert_int_equal(total, v->want_len);
	bfs_chunk_unref(chunk);
	bfs_source_unref(source);
	free(want);
	free(p);
}

static void chunk_decodes_every_block_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_VECTORS; i++)
		if (!vectors[i].unsupported)
			check_blocks(&vectors[i], 0x00);
}

/* Run twice over memory with other contents, old bytes would show. */
static void chunk_leaves_no_old_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_VECTORS; i++) {
		if (vectors[i].unsupported)
			continue;
		check_blocks(&vectors[i], 0x5a);
		check_blocks(&vectors[i], 0xff);
	}
}

static void chunk_decodes_inside_a_bigger_source(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_VECTORS; i++) {
		const struct vector *v = &vectors[i];
		struct bfs_codec_env env = { 0 };
		struct bfs_scratch *scratch = bfs_scratch_new();
		struct bfs_source *source;
		struct bfs_chunk *chunk;
		struct bfs_diag diag = { 0 };
		size_t len;
		uint8_t *p = vector_chunk(v, &len), *big, *got = NULL;

		big = decode_alloc(len + 300);
		memset(big, 0xee, len + 300);
		memcpy(big + 177, p, len);
		got = decode_alloc(v->want_len);
		assert_int_equal(bfs_source_memory(big, len + 300, false,
						   &source, NULL), BFS_OK);
		if (!v->unsupported) {
			if (bfs_chunk_open(source, 177, len + 123,
					   (uint32_t)v->want_len, &env, &chunk,
					   &diag) != BFS_OK ||
			    bfs_chunk_read_all(chunk, source, 177, got,
					       scratch, &diag) != BFS_OK)
				fail_msg("%s: %s", v->name, diag.text);
			assert_known(v, got, 0, v->want_len);
			bfs_chunk_unref(chunk);
		}
		bfs_source_unref(source);
		bfs_scratch_free(scratch);
		free(got);
		free(big);
		free(p);
	}
}

static void chunk_refuses_every_cut_vector(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_VECTORS; i++) {
		const struct vector *v = &vectors[i];
		size_t len;
		uint8_t *p = vector_chunk(v, &len);

		for (size_t cut = 0; cut < len; cut++) {
			struct bfs_diag diag = { 0 };
			uint8_t *some = decode_alloc(cut), *got = NULL;
			size_t got_len = 0;
			enum bfs_err err;

			memcpy(some, p, cut);
			err = decode_chunk(some, cut, 0, &got, &got_len,
					   &diag);
			if (err != BFS_ERR_TRUNCATED)
				fail_msg("%s cut to %zu: %s", v->name, cut,
					 bfs_err_name(err));
			assert_string_not_equal(diag.text, "");
			free(some);
		}
		free(p);
	}
}

static void chunk_refuses_another_length_than_the_container_says(void **state)
{
	struct bfs_codec_env env = { 0 };
	struct bfs_source *source = NULL;
	struct bfs_chunk *chunk = NULL;
	struct bfs_diag diag = { 0 };
	size_t len;
	uint8_t *p = vector_chunk(vector_find("codec-lz4"), &len);

	(void)state;
	assert_int_equal(bfs_source_memory(p, len, false, &source, NULL),
			 BFS_OK);
	assert_int_equal(bfs_chunk_open(source, 0, len, 255, &env, &chunk,
					&diag), BFS_ERR_CORRUPT);
	assert_int_equal(diag.off, 4);
	assert_int_equal(bfs_chunk_open(source, 0, len, 256, &env, &chunk,
					&diag), BFS_OK);
	bfs_chunk_unref(chunk);
	bfs_source_unref(source);
	free(p);
}

static void vl_blocks_have_their_own_lengths(void **state)
{
	static const uint32_t lens[] = { 35, 3, 62 };
	const struct vector *v = vector_find("vlblocks");
	struct bfs_source *source = NULL;
	struct bfs_chunk *chunk = NULL;
	size_t len;
	uint8_t *p = vector_chunk(v, &len);

	(void)state;
	assert_opens(v, p, len, &source, &chunk);
	assert_int_equal(chunk->head.kind, BFS_CHUNK_VLBLOCKS);
	assert_int_equal(chunk->head.n_blocks, 3);
	for (uint32_t k = 0; k < 3; k++)
		assert_int_equal(bfs_chunk_block_len(chunk, k), lens[k]);
	bfs_chunk_unref(chunk);
	bfs_source_unref(source);
	free(p);
}

static void wrong_blocksize_is_mended(void **state)
{
	const struct vector *v = vector_find("bug-blocksize");
	struct bfs_source *source = NULL;
	struct bfs_chunk *chunk = NULL;
	size_t len;
	uint8_t *p = vector_chunk(v, &len);

	(void)state;
	assert_opens(v, p, len, &source, &chunk);
	assert_int_equal(chunk->head.blocksize, 96);
	assert_int_equal(chunk->head.n_blocks, 3);
	bfs_chunk_unref(chunk);
	bfs_source_unref(source);
	free(p);
}

/* One block of 31 bytes as they are, 4 bytes behind bstarts: as if bstarts had
 * a second entry, which puts its block at 0. */
static void blocksize_is_not_mended_against_an_entry(void **state)
{
	uint8_t p[75] = { 5, 1, 0x15, 16, 31, 0, 0, 0, 31, 0, 0, 0, 75,
			  [32] = 40, [40] = 31, [44] = 'a', [74] = 'z' };
	struct bfs_codec_env env = { 0 };
	struct bfs_source *source;
	struct bfs_chunk *chunk;

	(void)state;
	assert_int_equal(bfs_source_memory(p, sizeof(p), false, &source, NULL),
			 BFS_OK);
	assert_int_equal(bfs_chunk_open(source, 0, sizeof(p), 31, &env, &chunk,
					NULL), BFS_OK);
	assert_int_equal(chunk->head.n_blocks, 1);
	assert_int_equal(bfs_chunk_block_len(chunk, 0), 31);
	bfs_chunk_unref(chunk);
	/* Where that entry holds, too, they are two blocks. */
	p[36] = 56;
	assert_int_equal(bfs_chunk_open(source, 0, sizeof(p), 31, &env, &chunk,
					NULL), BFS_OK);
	assert_int_equal(chunk->head.n_blocks, 2);
	assert_int_equal(chunk->head.blocksize, 16);
	bfs_chunk_unref(chunk);
	bfs_source_unref(source);
}

static void version_3_ignores_its_sixth_slot(void **state)
{
	const struct vector *v = vector_find("delta");
	size_t len, got_len = 0;
	uint8_t *p = vector_chunk(v, &len), *got = NULL;
	struct bfs_diag diag = { 0 };

	(void)state;
	/* Delta moves to the fifth slot, garbage fills the sixth. */
	p[0] = 3;
	p[16 + 4] = 3;
	p[16 + 5] = 0xcd;
	p[24 + 5] = 0xcd;
	if (decode_chunk(p, len, 0, &got, &got_len, &diag) != BFS_OK)
		fail_msg("%s", diag.text);
	assert_known(v, got, 0, got_len);
	free(got);
	free(p);
}

static void special_plans_equal_stored_special_chunks(void **state)
{
	static const struct {
		const char *name;
		enum bfs_chunk_kind kind;
		uint32_t typesize;
	} cases[] = {
		{ "special-zeros-odd", BFS_CHUNK_ZEROS, 8 },
		{ "special-nan32", BFS_CHUNK_NAN, 4 },
		{ "special-nan64", BFS_CHUNK_NAN, 8 },
		{ "special-uninit", BFS_CHUNK_UNINIT, 4 },
	};

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(cases); i++) {
		const struct vector *v = vector_find(cases[i].name);
		struct bfs_chunk *chunk;
		uint8_t *got = NULL;

		/* A blocksize that cuts items in two. */
		assert_int_equal(bfs_chunk_special(cases[i].kind,
						   (uint32_t)v->want_len,
						   cases[i].typesize, 7,
						   &chunk, NULL), BFS_OK);
		for (uint32_t k = 0; k < chunk->head.n_blocks; k++) {
			assert_int_equal(decode_block(chunk, NULL, k, NULL,
						      0x11, &got, NULL),
					 BFS_OK);
			assert_known(v, got, bfs_chunk_block_off(chunk, k),
				     bfs_chunk_block_len(chunk, k));
			free(got);
		}
		bfs_chunk_unref(chunk);
	}
}

static void special_plan_refuses_nan_of_odd_width(void **state)
{
	struct bfs_diag diag = { 0 };
	struct bfs_chunk *chunk = NULL;

	(void)state;
	assert_int_equal(bfs_chunk_special(BFS_CHUNK_NAN, 12, 3, 0, &chunk,
					   &diag), BFS_ERR_CORRUPT);
	assert_int_equal(bfs_chunk_special(BFS_CHUNK_NAN, 12, 8, 0, &chunk,
					   &diag), BFS_ERR_CORRUPT);
	assert_string_not_equal(diag.text, "");
}

/* Patches one vector and expects the same bytes as before. */
static void assert_harmless(const char *name, size_t off, uint8_t value)
{
	const struct vector *v = vector_find(name);
	size_t len, got_len = 0;
	uint8_t *p = vector_chunk(v, &len), *got = NULL;
	struct bfs_diag diag = { 0 };

	p[off] = value;
	if (decode_chunk(p, len, 0, &got, &got_len, &diag) != BFS_OK)
		fail_msg("%s, byte %zu = %u: %s", name, off, value, diag.text);
	assert_int_equal(got_len, v->want_len);
	assert_known(v, got, 0, got_len);
	free(got);
	free(p);
}

static void chunk_accepts_what_other_readers_accept(void **state)
{
	(void)state;
	/* The version byte does not choose the layout. */
	assert_harmless("codec-lz4", 0, 1);
	assert_harmless("codec-lz4", 0, 2);
	assert_harmless("codec-lz4", 0, 4);
	assert_harmless("codec-lz4", 0, 6);
	assert_harmless("codec-lz4", 0, 7);
	assert_harmless("vlblocks", 0, 5);
	assert_harmless("codec-lz4", 1, 9);
	/* Reserved bits of the last two bytes. */
	assert_harmless("codec-lz4", 30, 0x02);
	assert_harmless("codec-lz4", 31, 0x02);
	assert_harmless("codec-lz4", 31, 0x04);
	/* A blocksize above nbytes means one block. */
	assert_harmless("codec-lz4", 10, 0x01);
	/* All bits of a run token but the lowest. */
	assert_harmless("split-streams", 80, 0x03);
	assert_harmless("split-streams", 80, 0xff);
	/* The codec byte of built-in codecs is a remark. */
	assert_harmless("codec-zstd", 22, 0xaa);
	/* Flags of an empty or special chunk say nothing. */
	assert_harmless("empty", 2, 0xf7);
	assert_harmless("special-zeros", 2, 0xf5);
	assert_harmless("special-zeros", 16, 200);
	/* Filters of a stored chunk are not undone, known or not. */
	assert_harmless("memcpy-small", 21, 200);
	assert_harmless("memcpy-small", 2, 0xf7);
}

static void longest_run_value_is_255(void **state)
{
	const struct vector *v = vector_find("split-streams");
	size_t len, got_len = 0;
	uint8_t *p = vector_chunk(v, &len), *got = NULL;

	(void)state;
	p[76] = 0x01;
	assert_int_equal(decode_chunk(p, len, 0, &got, &got_len, NULL),
			 BFS_OK);
	assert_int_equal(got[2], 0xff);
	assert_int_equal(got[126], 0xff);
	free(got);
	free(p);
}

static void dictionary_beside_a_codec_without_is_skipped(void **state)
{
	const struct vector *v = vector_find("blosclz-near");
	size_t len, got_len = 0;
	uint8_t *p = vector_chunk(v, &len), *got = NULL;
	uint8_t *q = decode_alloc(len + 9);
	struct bfs_diag diag = { 0 };

	(void)state;
	memcpy(q, p, 36);
	memcpy(q + 36, "\x05\0\0\0dummy", 9);
	memcpy(q + 45, p + 36, len - 36);
	q[12] = (uint8_t)(len + 9);
	q[31] = 0x01;
	q[32] = 45;
	if (decode_chunk(q, len + 9, 0, &got, &got_len, &diag) != BFS_OK)
		fail_msg("%s", diag.text);
	assert_known(v, got, 0, got_len);
	free(got);
	free(q);
	free(p);
}

static void bytedelta_takes_its_width_from_the_frame(void **state)
{
	const struct vector *v = vector_find("bytedelta");
	size_t len, got_len = 0;
	uint8_t *p = vector_chunk(v, &len), *got = NULL;
	struct bfs_diag diag = { 0 };

	(void)state;
	assert_int_equal(p[16 + 5], 35);
	p[24 + 5] = 0;
	if (decode_chunk(p, len, 4, &got, &got_len, &diag) != BFS_OK)
		fail_msg("%s", diag.text);
	assert_known(v, got, 0, got_len);
	free(got);
	assert_int_not_equal(decode_chunk(p, len, 0, &got, &got_len, &diag),
			     BFS_OK);
	free(p);
}

/* Every allocation fails once; nothing leaks, nothing half-done comes out. */
static void chunk_survives_lack_of_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_VECTORS; i++) {
		const struct vector *v = &vectors[i];
		size_t len, got_len = 0;
		uint8_t *p = vector_chunk(v, &len), *got = NULL;
		uint64_t held = bfs_mem_used(), n;
		enum bfs_err err = BFS_ERR_NOMEM;

		for (n = 1; !v->unsupported && err != BFS_OK; n++) {
			struct bfs_diag diag = { 0 };

			assert_true(n < 100);
			bfs_mem_fail_at(n);
			err = decode_chunk(p, len, 0, &got, &got_len, &diag);
			bfs_mem_fail_at(0);
			if (err != BFS_OK && err != BFS_ERR_NOMEM)
				fail_msg("%s: %s", v->name, diag.text);
			assert_int_equal(bfs_mem_used(), held);
		}
		if (err == BFS_OK) {
			assert_known(v, got, 0, got_len);
			free(got);
		}
		free(p);
	}
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void mutate(uint8_t *p, size_t len, uint64_t *seed)
{
	unsigned n = 1 + (unsigned)(next_random(seed) % 3);

	while (n-- > 0) {
		uint64_t r = next_random(seed);
		size_t at = (r >> 8) % (r & 1 ? len : bfs_min(len, 56));

		switch (r >> 1 & 3) {
		case 0:
			p[at] ^= (uint8_t)(1u << (r >> 40) % 8);
			break;
		case 1:
			p[at] = (uint8_t)(r >> 40);
			break;
		case 2:
			p[at] = r & 64 ? 0xff : 0x00;
			break;
		default:
			p[at]++;
			break;
		}
	}
}

#define MAX_CLAIM (UINT32_C(16) << 20)

/* One damaged chunk: both decoders refuse it, or both give the same. */
static void assert_agreement(const char *name, uint64_t round,
			     const uint8_t *p, size_t len)
{
	struct bfs_diag diag = { 0 };
	struct oracle_bytes want;
	char why[ORACLE_ERR];
	size_t got_len = 0;
	uint8_t *got = NULL;
	enum oracle_verdict verdict;
	enum bfs_err err;

	/* A special chunk may claim gigabytes, which prove nothing more. */
	if (len >= 8 && bfs_le32(p + 4) > MAX_CLAIM)
		return;
	verdict = oracle_chunk(p, len, NULL, &want, why);
	if (verdict == ORACLE_LIMIT)
		return;
	err = decode_chunk(p, len, 0, &got, &got_len, &diag);
	if (err == BFS_ERR_LIMIT && verdict == ORACLE_GOOD) {
		assert_true(want.len > DECODE_MAX);
		oracle_release(&want);
		return;
	}
	if (err != BFS_OK)
		assert_string_not_equal(diag.text, "");
	if (err == BFS_OK && verdict == ORACLE_UNSUPPORTED) {
		free(got);	/* a codec that the oracle has not */
		return;
	}
	if ((err == BFS_OK) != (verdict == ORACLE_GOOD))
		fail_msg("%s, round %llu: library '%s', oracle '%s'", name,
			 (unsigned long long)round,
			 err ? diag.text : "good", verdict ? why : "good");
	if (err != BFS_OK)
		return;
	assert_int_equal(got_len, want.len);
	if (memcmp(got, want.data, got_len) != 0)
		fail_msg("%s, round %llu: other bytes", name,
			 (unsigned long long)round);
	free(got);
	oracle_release(&want);
}

static void mutated_vectors_meet_the_oracles_answer(void **state)
{
	uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);

	(void)state;
	for (size_t i = 0; i < N_VECTORS; i++) {
		size_t len;
		uint8_t *p = vector_chunk(&vectors[i], &len);
		uint8_t *q = decode_alloc(len);

		for (uint64_t round = 0; round < 400; round++) {
			memcpy(q, p, len);
			mutate(q, len, &seed);
			assert_agreement(vectors[i].name, round, q, len);
		}
		free(q);
		free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunk_decodes_every_vector),
		cmocka_unit_test(oracle_decodes_every_vector),
		cmocka_unit_test(chunk_decodes_every_block_alone),
		cmocka_unit_test(chunk_leaves_no_old_bytes),
		cmocka_unit_test(chunk_decodes_inside_a_bigger_source),
		cmocka_unit_test(chunk_refuses_every_cut_vector),
		cmocka_unit_test(
			chunk_refuses_another_length_than_the_container_says),
		cmocka_unit_test(vl_blocks_have_their_own_lengths),
		cmocka_unit_test(wrong_blocksize_is_mended),
		cmocka_unit_test(blocksize_is_not_mended_against_an_entry),
		cmocka_unit_test(version_3_ignores_its_sixth_slot),
		cmocka_unit_test(special_plans_equal_stored_special_chunks),
		cmocka_unit_test(special_plan_refuses_nan_of_odd_width),
		cmocka_unit_test(chunk_accepts_what_other_readers_accept),
		cmocka_unit_test(longest_run_value_is_255),
		cmocka_unit_test(dictionary_beside_a_codec_without_is_skipped),
		cmocka_unit_test(bytedelta_takes_its_width_from_the_frame),
		cmocka_unit_test(chunk_survives_lack_of_memory),
		cmocka_unit_test(mutated_vectors_meet_the_oracles_answer),
	};

	return cmocka_run_group_tests_name("chunk", tests, NULL, NULL);
}
