/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_codec.c - the table of codecs, and what holds for each of its rows.
 */
#include "codec_try.h"

#include <limits.h>

static void table_gives_the_row_of_a_format(void **unused)
{
	(void)unused;
	assert_ptr_equal(bfs_codec_find(0, 9), &bfs_codec_blosclz);
	assert_ptr_equal(bfs_codec_find(1, 2), &bfs_codec_lz4);
	assert_ptr_equal(bfs_codec_find(3, 0), &bfs_codec_zlib);
	assert_ptr_equal(bfs_codec_find(4, 0), &bfs_codec_zstd);
	assert_ptr_equal(bfs_codec_find(2, 7), &bfs_codec_snappy);
	assert_ptr_equal(bfs_codec_find(6, 32), &bfs_codec_ndlz);
	assert_ptr_equal(bfs_codec_find(6, 40), &bfs_codec_htj2k);
	assert_null(bfs_codec_find(7, 0));
	for (unsigned id = 0; id < 32; id++)
		assert_null(bfs_codec_find(6, id));
	assert_null(bfs_codec_find(UINT_MAX, UINT_MAX));
}

static void table_gives_the_row_of_a_code(void **unused)
{
	(void)unused;
	assert_ptr_equal(bfs_codec_by_code(0), &bfs_codec_blosclz);
	assert_ptr_equal(bfs_codec_by_code(1), &bfs_codec_lz4);
	assert_ptr_equal(bfs_codec_by_code(2), &bfs_codec_lz4);
	assert_ptr_equal(bfs_codec_by_code(4), &bfs_codec_zlib);
	assert_ptr_equal(bfs_codec_by_code(5), &bfs_codec_zstd);
	assert_null(bfs_codec_by_code(7));
	assert_null(bfs_codec_by_code(255));
	assert_null(bfs_codec_by_code(UINT_MAX));
}

static void table_names_every_code(void **unused)
{
	char buf[24];

	(void)unused;
	assert_string_equal(bfs_codec_code_name(2, buf), "lz4hc");
	assert_string_equal(bfs_codec_code_name(3, buf), "snappy");
	assert_string_equal(bfs_codec_code_name(6, buf), "lizard");
	assert_string_equal(bfs_codec_code_name(7, buf), "codec-7");
	assert_string_equal(bfs_codec_code_name(31, buf), "codec-31");
	assert_string_equal(bfs_codec_code_name(32, buf), "ndlz");
	assert_string_equal(bfs_codec_code_name(40, buf), "htj2k");
	assert_string_equal(bfs_codec_code_name(41, buf), "codec-41");
	assert_string_equal(bfs_codec_code_name(UINT_MAX, buf),
			    "codec-4294967295");
	assert_string_equal(bfs_codec_format_name(1, 2, buf), "lz4");
	assert_string_equal(bfs_codec_format_name(2, 0, buf), "snappy");
	assert_string_equal(bfs_codec_format_name(3, 4, buf), "zlib");
	assert_string_equal(bfs_codec_format_name(5, 0, buf), "lizard");
	assert_string_equal(bfs_codec_format_name(6, 33, buf), "zfp_acc");
	assert_string_equal(bfs_codec_format_name(6, 5, buf), "codec-5");
	assert_string_equal(bfs_codec_format_name(6, 200, buf), "codec-200");
	assert_string_equal(bfs_codec_format_name(7, 1, buf), "format-7");
}

static void table_and_names_agree(void **unused)
{
	char buf[24];

	(void)unused;
	for (size_t i = 0; i < bfs_n_codecs; i++) {
		const struct bfs_codec *c = bfs_codecs[i];

		assert_non_null(c->name);
		if (c->id < 0 || c->format < 0)
			continue;
		assert_string_equal(bfs_codec_code_name((unsigned)c->id, buf),
				    c->name);
		assert_string_equal(
			bfs_codec_format_name((unsigned)c->format,
					      (unsigned)c->id, buf), c->name);
		assert_ptr_equal(bfs_codec_by_code((unsigned)c->id), c);
		assert_ptr_equal(bfs_codec_find((unsigned)c->format,
						(unsigned)c->id), c);
	}
}

static void codec_without_operation_is_unsupported(void **unused)
{
	static const struct bfs_codec absent = { .name = "absent" };

	(void)unused;
	assert_int_equal(decode(&absent, "x", 1, 1), BFS_ERR_UNSUPPORTED);
}

static void *own_state(void)
{
	return &seed;
}

static void codec_with_state_but_no_row_is_refused(void **unused)
{
	struct bfs_codec stranger = bfs_codec_blosclz;

	(void)unused;
	stranger.state_new = own_state;
	assert_int_equal(decode(&stranger, "x", 1, 1), BFS_ERR_INVALID);
}

static void states_fail_without_memory_and_recover(void **unused)
{
	const struct bfs_codec_sample *sample = &bfs_codec_zstd.sample;
	struct bfs_codec_states *own;
	uint64_t used = bfs_mem_used();
	uint8_t dst[256];
	struct bfs_codec_job job = {
		.src = sample->src, .src_len = sample->src_len,
		.dst = dst, .dst_len = sample->want_len, .env = &env,
	};

	(void)unused;
	bfs_mem_fail_at(1);
	assert_null(bfs_codec_states_new());
	own = bfs_codec_states_new();
	assert_non_null(own);
	bfs_mem_fail_at(1);
	assert_int_equal(bfs_codec_decode(&bfs_codec_zstd, &job, own),
			 BFS_ERR_NOMEM);
	assert_int_equal(bfs_codec_decode(&bfs_codec_zstd, &job, own), BFS_OK);
	assert_memory_equal(dst, sample->want, sample->want_len);
	bfs_codec_states_free(own);
	bfs_codec_states_free(NULL);
	assert_int_equal(bfs_mem_used(), used);
}

/* ---- every row ---- */

/* The first src_len bytes of a row's sample, for dst_len bytes. */
static enum bfs_err decode_sample(const struct bfs_codec *codec,
				  size_t src_len, size_t dst_len)
{
	const struct bfs_codec_sample *s = &codec->sample;
	struct bfs_codec_job job = {
		.src = s->src, .src_len = src_len, .dst_len = dst_len,
		.meta = s->meta, .env = &s->env,
	};

	return decode_job(codec, &job);
}

static void row_decodes_its_sample(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < bfs_n_codecs; i++) {
		const struct bfs_codec_sample *s = &bfs_codecs[i]->sample;

		if (!bfs_codecs[i]->decode) {
			assert_null(s->src);
			continue;
		}
		assert_non_null(s->src);
		assert_int_equal(decode_sample(bfs_codecs[i], s->src_len,
					       s->want_len), BFS_OK);
		assert_memory_equal(result, s->want, s->want_len);
	}
}

static void row_refuses_every_other_output_length(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < bfs_n_codecs; i++) {
		const struct bfs_codec_sample *s = &bfs_codecs[i]->sample;

		for (size_t n = 0; s->src && n < s->want_len + 70; n++) {
			if (n != s->want_len)
				assert_int_equal(
					decode_sample(bfs_codecs[i],
						      s->src_len, n),
					BFS_ERR_CORRUPT);
		}
	}
}

static void row_refuses_every_truncation(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < bfs_n_codecs; i++) {
		const struct bfs_codec_sample *s = &bfs_codecs[i]->sample;

		for (size_t n = 0; s->src && n < s->src_len; n++)
			assert_int_equal(decode_sample(bfs_codecs[i], n,
						       s->want_len),
					 BFS_ERR_CORRUPT);
	}
}

static void row_reports_a_version_or_none(void **unused)
{
	(void)unused;
	assert_null(bfs_codec_blosclz.version);
	for (size_t i = 0; i < bfs_n_codecs; i++) {
		if (bfs_codecs[i]->version)
			assert_true(strlen(bfs_codecs[i]->version()) >= 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_gives_the_row_of_a_format),
		cmocka_unit_test(table_gives_the_row_of_a_code),
		cmocka_unit_test(table_names_every_code),
		cmocka_unit_test(table_and_names_agree),
		cmocka_unit_test(codec_without_operation_is_unsupported),
		cmocka_unit_test(codec_with_state_but_no_row_is_refused),
		cmocka_unit_test(states_fail_without_memory_and_recover),
		cmocka_unit_test(row_decodes_its_sample),
		cmocka_unit_test(row_refuses_every_other_output_length),
		cmocka_unit_test(row_refuses_every_truncation),
		cmocka_unit_test(row_reports_a_version_or_none),
	};

	return cmocka_run_group_tests_name("codec", tests, set_up, tear_down);
}
