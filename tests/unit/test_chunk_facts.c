/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_chunk_facts.c - facts about chunks as values: what they say of a chunk
 * holds for its bytes, stored and decoded, in every sample.
 */
#include "bloscfs.h"
#include "support/frames.h"
#include "support/sample_place.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct bloscfs *fs;
static const char *whose;		/* the sample, for messages */
static uint8_t bytes[1 << 20], stored[1 << 20];
static size_t n_chunks, n_repeating, n_stored, n_unknown;

static int set_up(void **state)
{
	struct bloscfs_options options = { .size = sizeof(options),
					   .views = "info,data,chunks,raw" };

	return frames_setup(state) || bloscfs_new(&options, &fs, NULL);
}

static int tear_down(void **state)
{
	bloscfs_free(fs);
	return frames_teardown(state);
}

static bool read_entry(struct bloscfs_file *file, const char *folder,
		       uint64_t n, uint8_t *buf, size_t *ret_len)
{
	char name[BLOSCFS_NAME_MAX + 1];
	struct bloscfs_node root = bloscfs_root(), dir, node;

	return sample_find(file, &root, folder, &dir) &&
	       bloscfs_list(file, &dir, n, name, &node) &&
	       bloscfs_read(file, &node, 0, buf, sizeof(bytes), ret_len,
			    NULL) == BLOSCFS_OK;
}

static bool has_period(const uint8_t *p, size_t len, size_t period)
{
	return len <= period || memcmp(p, p + period, len - period) == 0;
}

static void hold_against_bytes(struct bloscfs_file *file, uint64_t n,
			       const struct bloscfs_chunk_facts *facts)
{
	size_t len, period = facts->value_len ? facts->value_len :
			     facts->typesize ? facts->typesize : 8;

	if (!read_entry(file, "chunks", n, bytes, &len))
		return;
	if (facts->nbytes != len && len < sizeof(bytes))
		fail_msg("%s: chunk %u has %zu bytes, not %ju", whose,
			 (unsigned)n, len, (uintmax_t)facts->nbytes);
	if (facts->repeats && !has_period(bytes, len, period))
		fail_msg("%s: chunk %u does not repeat", whose, (unsigned)n);
	if (facts->kind == BLOSCFS_CHUNK_ZEROS && len)
		assert_true(bytes[0] == 0 && has_period(bytes, len, 1));
	n_repeating += facts->repeats;
	if (!facts->is_stored || !read_entry(file, "raw/chunks", n, stored,
					     &len))
		return;
	n_stored++;
	assert_int_equal(facts->cbytes, len);
	/* Stored special chunks say so in their own header. */
	if (facts->repeats)
		assert_true(len >= 32 && stored[31] & 0x70);
}

static int take_sample(const char *path, const struct stat *st, int type,
		       struct FTW *at)
{
	struct bloscfs_facts whole = { .size = sizeof(whole) };
	struct bloscfs_file *file;

	(void)st;
	(void)at;
	if (type == FTW_D && !sample_is_container_dir(path))
		return 0;
	if (sample_open(fs, path, &file, NULL) != BLOSCFS_OK)
		return 0;
	whose = path;
	assert_int_equal(bloscfs_facts(file, NULL, &whole, NULL), BLOSCFS_OK);
	for (uint64_t n = 0; n < whole.n_chunks && n < 256; n++) {
		struct bloscfs_chunk_facts facts = { .size = sizeof(facts) };

		assert_int_equal(bloscfs_chunk_facts(file, NULL, n, &facts,
						     NULL), BLOSCFS_OK);
		n_chunks++;
		n_unknown += !facts.is_known;
		if (facts.status == BLOSCFS_GOOD)
			hold_against_bytes(file, n, &facts);
	}
	bloscfs_close(file);
	return 0;
}

static void facts_hold_for_the_bytes_of_chunks(void **state)
{
	(void)state;
	assert_int_equal(nftw(TEST_DATA_DIR, take_sample, 16, FTW_PHYS), 0);
	print_message("# %zu chunks, %zu repeat, %zu stored, %zu unknown\n",
		      n_chunks, n_repeating, n_stored, n_unknown);
	assert_true(n_chunks > 300);
	assert_true(n_repeating >= 10);
	assert_true(n_stored > 200);
	assert_true(n_unknown > 0);
}

static void special_chunks_are_told_and_decode_nothing(void **state)
{
	static const struct {
		const char *name;
		enum bloscfs_chunk_kind kind;
	} samples[] = {
		{ "good-special-zeros.blosc2", BLOSCFS_CHUNK_ZEROS },
		{ "good-special-nan.blosc2", BLOSCFS_CHUNK_NAN },
		{ "good-special-value.blosc2", BLOSCFS_CHUNK_VALUE },
		{ "good-lz4-delta-shuffle.blosc2", BLOSCFS_CHUNK_BLOCKS },
	};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct bloscfs_file *file =
			sample_open_data(fs, samples[i].name);
		struct bloscfs_chunk_facts facts = { .size = sizeof(facts) };
		struct bloscfs_stats stats = { .size = sizeof(stats) };
		uint64_t decoded;

		bloscfs_stats_get(fs, &stats);
		decoded = stats.decoded;
		assert_int_equal(bloscfs_chunk_facts(file, NULL, 0, &facts,
						     NULL), BLOSCFS_OK);
		bloscfs_stats_get(fs, &stats);
		assert_int_equal(stats.decoded, decoded);
		assert_true(facts.is_known && facts.is_stored);
		assert_int_equal(facts.kind, samples[i].kind);
		assert_int_equal(facts.repeats, i < 3);
		assert_int_equal(facts.value_len > 0, i == 2);
		assert_int_equal(facts.size, sizeof(facts));
		bloscfs_close(file);
	}
}

static void chunks_that_are_not_there_are_out_of_range(void **state)
{
	struct bloscfs_file *file =
		sample_open_data(fs, "good-special-nan.blosc2");
	struct bloscfs_chunk_facts facts = { .size = 8, .nbytes = 7 };
	struct bloscfs_node strange = { .child = 9 };
	struct bloscfs_diag diag = { 0 };

	(void)state;
	assert_int_equal(bloscfs_chunk_facts(file, NULL, 1, &facts, &diag),
			 BLOSCFS_ERR_RANGE);
	assert_non_null(strstr(diag.text, "no such chunk"));
	assert_int_equal(bloscfs_chunk_facts(file, &strange, 0, &facts, NULL),
			 BLOSCFS_ERR_INVALID);
	assert_int_equal(bloscfs_chunk_facts(file, NULL, 0, NULL, NULL),
			 BLOSCFS_ERR_INVALID);
	assert_int_equal(bloscfs_chunk_facts(NULL, NULL, 0, &facts, NULL),
			 BLOSCFS_ERR_INVALID);
	/* A caller that knows of the size alone gets that. */
	assert_int_equal(bloscfs_chunk_facts(file, NULL, 0, &facts, NULL),
			 BLOSCFS_OK);
	assert_int_equal(facts.size, 8);
	assert_int_equal(facts.nbytes, 7);
	bloscfs_close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(facts_hold_for_the_bytes_of_chunks),
		cmocka_unit_test(special_chunks_are_told_and_decode_nothing),
		cmocka_unit_test(chunks_that_are_not_there_are_out_of_range),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
