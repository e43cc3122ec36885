/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_filter_rows.c - the table of filters: ids, names, which variant is
 * taken, and the parameters that are refused. test_filter.c undoes them.
 */
#include "filter/filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void every_row_is_found_by_its_id(void **state)
{
	static const struct {
		unsigned id;
		const char *name;
	} rows[] = {
		{ 1, "shuffle" }, { 2, "bitshuffle" }, { 3, "delta" },
		{ 4, "trunc_prec" }, { 32, "ndcell" }, { 33, "ndmean" },
		{ 34, "bytedelta_buggy" },
		{ 35, "bytedelta" }, { 36, "int_trunc" },
	};
	char buf[24];

	(void)state;
	assert_int_equal(bfs_n_filters, BFS_ARRAY_LEN(rows));
	for (size_t i = 0; i < BFS_ARRAY_LEN(rows); i++) {
		const struct bfs_filter *f = bfs_filter_find(rows[i].id);

		assert_non_null(f);
		assert_string_equal(f->name, rows[i].name);
		assert_string_equal(bfs_filter_name(rows[i].id, buf),
				    rows[i].name);
	}
	for (size_t i = 0; i < bfs_n_filters; i++)
		assert_ptr_equal(bfs_filter_find((unsigned)bfs_filters[i]->id),
				 bfs_filters[i]);
}

static void ids_without_a_row_still_have_names(void **state)
{
	char buf[24];

	(void)state;
	assert_null(bfs_filter_find(0));
	assert_null(bfs_filter_find(5));
	assert_null(bfs_filter_find(255));
	assert_null(bfs_filter_find(~0u));
	assert_string_equal(bfs_filter_name(0, buf), "none");
	assert_string_equal(bfs_filter_name(32, buf), "ndcell");
	assert_string_equal(bfs_filter_name(33, buf), "ndmean");
	assert_string_equal(bfs_filter_name(200, buf), "filter-200");
	assert_string_equal(bfs_filter_name(~0u, buf), "filter-4294967295");
}

static int called_level;

#define MARK(level)                                                     \
	static void mark_##level(const struct bfs_filter_job *job)      \
	{                                                               \
		(void)job;                                              \
		called_level = BFS_CPU_##level;                         \
	}
MARK(SCALAR)
MARK(SSE2)
MARK(AVX2)
MARK(AVX512)
MARK(NEON)

static void the_best_allowed_variant_is_taken(void **state)
{
	static void (*const marks[])(const struct bfs_filter_job *job) = {
		mark_SCALAR, mark_SSE2, mark_AVX2, mark_AVX512, mark_NEON,
	};

	(void)state;
	/* Every set of variants that has the scalar one. */
	for (unsigned set = 1; set < 1u << BFS_N_CPUS; set += 2) {
		const struct bfs_filter_job job = { .len = 0 };
		struct bfs_filter f = { .name = "marker" };
		int want = BFS_CPU_SCALAR;

		for (int i = 0; i < BFS_N_CPUS; i++) {
			if (!(set & 1u << i))
				continue;
			f.undo[i] = marks[i];
			if (bfs_cpu_allows(bfs_cpu_level(), (enum bfs_cpu)i))
				want = i;
		}
		called_level = -1;
		bfs_filter_undo(&f, &job);
		assert_int_equal(called_level, want);
	}
}

static void only_delta_wants_the_first_block(void **state)
{
	(void)state;
	for (size_t i = 0; i < bfs_n_filters; i++)
		assert_int_equal(bfs_filters[i]->needs_ref,
				 bfs_filters[i] == &bfs_filter_delta);
}

/* ---- What cannot be undone ---- */

static void expect_refusal(const struct bfs_filter *f, enum bfs_err want,
			   const char *text)
{
	const struct bfs_filter_job job = { .len = 64, .version = 5 };
	struct bfs_diag diag = { .text = "" };

	assert_int_equal(f->check(&job, &diag), want);
	assert_int_equal(diag.err, want);
	assert_string_equal(diag.text, text);
	assert_int_equal(f->check(&job, NULL), want);
}

static void a_width_of_0_is_refused(void **state)
{
	(void)state;
	expect_refusal(&bfs_filter_shuffle, BFS_ERR_CORRUPT,
		       "shuffle of elements of 0 bytes");
	expect_refusal(&bfs_filter_bitshuffle, BFS_ERR_CORRUPT,
		       "bitshuffle of elements of 0 bytes");
	expect_refusal(&bfs_filter_delta, BFS_ERR_CORRUPT,
		       "delta of elements of 0 bytes");
}

static void bytedelta_without_a_width_is_refused(void **state)
{
	/* The chunk's own typesize does not help. */
	const struct bfs_filter_job job = {
		.len = 64, .typesize = 4, .version = 5,
	};

	(void)state;
	expect_refusal(&bfs_filter_bytedelta, BFS_ERR_UNSUPPORTED,
		       "bytedelta needs the frame's typesize");
	expect_refusal(&bfs_filter_bytedelta_buggy, BFS_ERR_UNSUPPORTED,
		       "bytedelta needs the frame's typesize");
	assert_int_equal(bfs_filter_bytedelta.check(&job, NULL),
			 BFS_ERR_UNSUPPORTED);
}

static void any_other_width_is_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < bfs_n_filters; i++) {
		const struct bfs_filter *f = bfs_filters[i];
		struct bfs_filter_job job = { .len = 3, .version = 5 };

		if (!f->check || f->sample_ndim)
			continue;	/* nothing, or shapes instead */
		for (unsigned w = 1; w <= 256; w++) {
			job.typesize = job.frame_typesize = w;
			job.meta = 0;
			assert_int_equal(f->check(&job, NULL), BFS_OK);
			job.meta = (uint8_t)w;
			assert_int_equal(f->check(&job, NULL), BFS_OK);
		}
	}
	/* A meta of its own is enough. */
	assert_int_equal(bfs_filter_shuffle.check(
			&(struct bfs_filter_job){ .meta = 1 }, NULL), BFS_OK);
	assert_int_equal(bfs_filter_bytedelta.check(
			&(struct bfs_filter_job){ .meta = 1 }, NULL), BFS_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_found_by_its_id),
		cmocka_unit_test(ids_without_a_row_still_have_names),
		cmocka_unit_test(the_best_allowed_variant_is_taken),
		cmocka_unit_test(only_delta_wants_the_first_block),
		cmocka_unit_test(a_width_of_0_is_refused),
		cmocka_unit_test(bytedelta_without_a_width_is_refused),
		cmocka_unit_test(any_other_width_is_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
