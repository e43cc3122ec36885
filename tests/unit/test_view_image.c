/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_view_image.c - arrays as images: which sizes formats hold, and what
 * lies where in a TIFF file.
 */
#include "base/bytes.h"
#include "base/mem.h"
#include "view/image/headers.h"
#include "view/image/pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* An array whose products are checked, as bfs_plain_get makes it. */
static struct bfs_plain make(char kind, unsigned size, unsigned n,
			     const uint64_t *shape)
{
	struct bfs_plain plain = { .kind = kind, .size = size, .n = n,
				   .n_items = 1 };

	for (unsigned d = 0; d < n; d++) {
		plain.shape[d] = shape[d];
		assert_true(bfs_mul(plain.n_items, shape[d], &plain.n_items));
	}
	assert_true(bfs_mul(plain.n_items, size, &plain.len));
	assert_true(plain.len <= INT64_MAX);
	return plain;
}

static void expect_reason(enum bfs_err err, const struct bfs_diag *diag)
{
	assert_int_equal(err, BFS_ERR_UNSUPPORTED);
	assert_true(diag->text[0] && strlen(diag->text) < BFS_PLAIN_WHY);
}

static void tiff_refuses_shapes_beyond_its_numbers(void **state)
{
	static const uint64_t wide[] = { 1, UINT64_C(1) << 31 };
	static const uint64_t high[] = { UINT64_C(1) << 31, 1 };
	static const uint64_t most[] = { 1, INT32_MAX };
	static const uint64_t many[] = { UINT64_C(1) << 62, 1, 1 };
	const struct {
		const uint64_t *shape;
		unsigned n;
		bool fits, lays;
	} cases[] = {
		{ wide, 2, false, false }, { high, 2, false, false },
		{ most, 2, true, true }, { most, 1, false, false },
		{ many, 3, true, false },
	};

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(cases); i++) {
		struct bfs_plain plain = make('u', 1, cases[i].n,
					      cases[i].shape);
		struct bfs_tiff_form form;
		struct bfs_pages pages;
		struct bfs_diag diag = { 0 };
		enum bfs_err err = bfs_pages_cut(&plain, &pages, &diag);

		if (!cases[i].fits) {
			expect_reason(err, &diag);
			continue;
		}
		assert_int_equal(err, BFS_OK);
		err = bfs_pages_lay(&plain, &pages, true, pages.n, &form,
				    &diag);
		if (cases[i].lays)
			assert_int_equal(err, BFS_OK);
		else
			expect_reason(err, &diag);
	}
}

/* The last length that 32 bits hold, and the first that they do not. */
static void a_tiff_becomes_big_where_a_place_is_beyond_4_gib(void **state)
{
	uint64_t shape[] = { 1, 3, 5 };
	struct bfs_plain plain = make('u', 4, 3, shape);
	struct bfs_tiff_form form;
	struct bfs_pages pages;

	(void)state;
	assert_int_equal(bfs_pages_cut(&plain, &pages, NULL), BFS_OK);
	assert_int_equal(bfs_pages_lay(&plain, &pages, false, 1, &form, NULL),
			 BFS_OK);
	shape[1] = 1;
	shape[2] = (UINT32_MAX - form.data_off) / 4;
	for (int more = 0; more < 2; more++, shape[2]++) {
		plain = make('u', 4, 3, shape);
		assert_int_equal(bfs_pages_cut(&plain, &pages, NULL), BFS_OK);
		assert_int_equal(bfs_pages_lay(&plain, &pages, false, 1, &form,
					       NULL),
				 more ? BFS_ERR_UNSUPPORTED : BFS_OK);
		assert_int_equal(bfs_pages_lay(&plain, &pages, true, 1, &form,
					       NULL), BFS_OK);
	}
}

/* Any range of the bytes before the items is that range of all of them. */
static void directories_are_the_same_in_whatever_range(void **state)
{
	static const uint64_t shape[] = { 7, 4, 3 };

	(void)state;
	for (int big = 0; big < 2; big++) {
		struct bfs_plain plain = make('u', 2, 3, shape);
		struct bfs_tiff_form form;
		struct bfs_pages pages;
		uint8_t *all, part[64];

		plain.big = big;
		assert_int_equal(bfs_pages_cut(&plain, &pages, NULL), BFS_OK);
		assert_int_equal(bfs_pages_lay(&plain, &pages, big, pages.n,
					       &form, NULL), BFS_OK);
		assert_int_equal(form.data_off % 64, 0);
		all = malloc(form.data_off);
		assert_non_null(all);
		bfs_pages_fill(&form, 0, all, form.data_off);
		for (uint64_t off = 0; off + sizeof(part) <= form.data_off;
		     off++) {
			bfs_pages_fill(&form, off, part, 1 + off % 64);
			assert_memory_equal(part, all + off, 1 + off % 64);
		}
		free(all);
	}
}

static void headers_refuse_what_their_formats_have_not(void **state)
{
	static const uint64_t shape[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	static const uint64_t longest[] = { 2, INT32_MAX };
	struct bfs_plain plain = make('u', 2, 2, longest);
	struct bfs_diag diag = { 0 };

	(void)state;
	assert_int_equal(bfs_header_judge(&plain, BFS_HEADER_NRRD, &diag),
			 BFS_OK);
	expect_reason(bfs_header_judge(&plain, BFS_HEADER_VRT, &diag), &diag);
	expect_reason(bfs_header_judge(&plain, BFS_HEADER_ENVI, &diag), &diag);
	plain = make('u', 1, 11, shape);
	assert_int_equal(bfs_header_judge(&plain, BFS_HEADER_NRRD, &diag),
			 BFS_OK);
	expect_reason(bfs_header_judge(&plain, BFS_HEADER_META, &diag), &diag);
	plain = make('f', 2, 2, shape);
	for (unsigned i = 0; i < BFS_HEADER_N; i++)
		expect_reason(bfs_header_judge(&plain, (enum bfs_header)i,
					       &diag), &diag);
}

static void a_vrt_has_lines_for_each_of_its_bands(void **state)
{
	const uint64_t shape[] = { BFS_HEADER_BANDS, 46340, 1 << 28 };
	struct bfs_plain plain = make('f', 4, 3, shape);
	struct bfs_diag diag = { 0 };
	char *text;
	size_t len;

	(void)state;
	assert_int_equal(bfs_header_judge(&plain, BFS_HEADER_VRT, &diag),
			 BFS_OK);
	assert_int_equal(bfs_header_text(&plain, BFS_HEADER_VRT, &text, &len,
					 &diag), BFS_OK);
	assert_int_equal(strlen(text), len);
	assert_non_null(strstr(text, "band=\"4096\""));
	bfs_free(text);
	plain.shape[0]++;
	expect_reason(bfs_header_judge(&plain, BFS_HEADER_VRT, &diag), &diag);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(tiff_refuses_shapes_beyond_its_numbers),
		cmocka_unit_test(
			a_tiff_becomes_big_where_a_place_is_beyond_4_gib),
		cmocka_unit_test(directories_are_the_same_in_whatever_range),
		cmocka_unit_test(headers_refuse_what_their_formats_have_not),
		cmocka_unit_test(a_vrt_has_lines_for_each_of_its_bands),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
