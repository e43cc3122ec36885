/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_view_image.c - arrays as images: which sizes formats hold, what lies
 * where in files of TIFF and NIfTI, and what items are as numbers.
 */
#include "base/bytes.h"
#include "base/mem.h"
#include "support/build.h"
#include "support/frames.h"
#include "view/image/headers.h"
#include "view/image/pages.h"
#include "view/preview/number.h"

#include <math.h>
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

/* ---- numbers --------------------------------------------------------- */

static void items_are_numbers_in_either_order_of_bytes(void **state)
{
	static const struct {
		char kind;
		unsigned size;
		const char *little;	/* least byte first, of each part */
		double number;
	} rows[] = {
		{ 'u', 1, "\xff", 255 }, { 'i', 1, "\xff", -1 },
		{ 'i', 1, "\x80", -128 }, { 'u', 2, "\1\2", 513 },
		{ 'i', 2, "\0\x80", -32768 },
		{ 'i', 4, "\xfe\xff\xff\xff", -2 },
		{ 'i', 4, "\xff\xff\xff\x7f", 2147483647 },
		{ 'i', 8, "\0\0\0\0\0\0\0\x80", -9223372036854775808.0 },
		{ 'u', 8, "\0\0\0\0\0\0\0\x80", 9223372036854775808.0 },
		{ 'f', 2, "\0\x3c", 1 }, { 'f', 2, "\0\xc0", -2 },
		{ 'f', 2, "\xff\x7b", 65504 }, { 'f', 2, "\0\x7c", HUGE_VAL },
		{ 'f', 2, "\0\xfc", -HUGE_VAL }, { 'f', 2, "\0\4", 0x1p-14 },
		{ 'f', 2, "\1\0", 0x1p-24 }, { 'f', 2, "\xff\x83",
						-1023 * 0x1p-24 },
		{ 'f', 2, "\x55\x35", 0x1.554p-2 },
		{ 'f', 4, "\0\0\xc0\xbf", -1.5 },
		{ 'f', 8, "\0\0\0\0\0\0\x04\x40", 2.5 },
		{ 'c', 8, "\0\0\x40\x40\0\0\x80\xc0", 5 },
		{ 'c', 8, "\0\0\x80\xc0\0\0\x40\x40", 5 },
		{ 'c', 8, "\0\0\0\0\0\0\x80\x3f", 1 },
		{ 'c', 8, "\0\0\0\0\0\0\0\x80", 0 },
		{ 'c', 8, "\0\0\x80\xff\0\0\x40\x40", HUGE_VAL },
		{ 'c', 16, "\0\0\0\0\0\0\x14\x40\0\0\0\0\0\0\x28\xc0",
		  13 },
		/* Their squares would be beyond all numbers. */
		{ 'c', 16, "\0\0\0\0\0\0\x08\x7f\0\0\0\0\0\0\x10\x7f",
		  0x1.4p+1010 },
	};

	(void)state;
	for (size_t i = 0; i < 2 * BFS_ARRAY_LEN(rows); i++) {
		size_t k = i / 2, part = rows[k].size;
		struct bfs_plain plain = { .kind = rows[k].kind, .big = i % 2,
					   .size = rows[k].size };
		uint8_t item[16];
		double got, slack;

		part /= rows[k].kind == 'c' ? 2 : 1;
		for (size_t b = 0; b < rows[k].size; b++)
			item[b] = (uint8_t)rows[k].little[!plain.big ? b :
				b / part * part + part - 1 - b % part];
		got = bfs_preview_number(&plain, item);
		/* Of a root the last bit may be another one. */
		slack = rows[k].kind == 'c' ? 1e-15 : 0;
		if (got < rows[k].number * (1 - slack) ||
		    got > rows[k].number * (1 + slack))
			fail_msg("%c%u, row %zu: %.17g", rows[k].kind,
				 rows[k].size, k, got);
	}
}

static void what_is_no_number_is_none_of_any_size(void **state)
{
	static const struct {
		char kind;
		unsigned size;
		const char *little;
	} rows[] = {
		{ 'f', 2, "\1\x7c" }, { 'f', 2, "\0\xfe" },
		{ 'f', 4, "\0\0\xc0\x7f" },
		{ 'f', 8, "\0\0\0\0\0\0\xf8\x7f" },
		{ 'c', 8, "\0\0\xc0\x7f\0\0\x80\x3f" },
		{ 'c', 8, "\0\0\x80\x3f\0\0\xc0\xff" },
		/* Not even beside what is infinite. */
		{ 'c', 8, "\0\0\x80\x7f\0\0\xc0\xff" },
	};

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(rows); i++) {
		const struct bfs_plain plain = { .kind = rows[i].kind,
						 .size = rows[i].size };

		assert_true(isnan(bfs_preview_number(
			&plain, (const uint8_t *)rows[i].little)));
	}
}

/* ---- NIfTI ----------------------------------------------------------- */

/* An array of one dimension of n bytes, as NIfTI. */
static uint8_t *read_nifti(int32_t n, size_t *ret_len)
{
	struct build_frame f = { .chunksize = n, .typesize = 1, .ndim = 1,
				 .dtype = "|u1", .shape = { n },
				 .chunkshape = { n }, .blockshape = { n } };
	struct build_chunk c = { .data = frames_pattern, .len = (size_t)n,
				 .typesize = 1, .blocksize = (uint32_t)n,
				 .codec = BUILD_RAW };
	struct build out = { 0 };
	struct frame_bytes bytes;
	struct bfs_file *file;
	uint8_t *text;

	build_frame_chunk(&f, &c);
	build_frame_finish(&f, &out);
	bytes = (struct frame_bytes){ out.p, out.len, out.cap };
	file = frames_open_with(&bytes, "data,nifti");
	text = frames_read(file, "data.nii", ret_len);
	frames_close(file, &bytes);
	return text;
}

static void long_sides_take_the_second_form_of_nifti(void **state)
{
	static const int32_t sides[] = { 32767, 32768 };

	(void)state;
	for (int second = 0; second < 2; second++) {
		const size_t head = second ? 544 : 352;
		int32_t n = sides[second];
		uint8_t *text;
		size_t len;

		text = read_nifti(n, &len);
		assert_int_equal(len, head + (size_t)n);
		assert_memory_equal(text + head, frames_pattern, (size_t)n);
		assert_int_equal(bfs_le32(text), second ? 540 : 348);
		if (second) {
			assert_memory_equal(text + 4, "n+2\0\r\n\032\n", 8);
			assert_int_equal(bfs_le16(text + 12), 2);
			assert_int_equal(bfs_le16(text + 14), 8);
			assert_int_equal(bfs_le64(text + 16), 1);
			assert_int_equal(bfs_le64(text + 24), n);
			assert_int_equal(bfs_le64(text + 32), 1);
			/* 1.0: steps, slope, and the matrix. */
			assert_int_equal(bfs_le64(text + 112), 0x3ffULL << 52);
			assert_int_equal(bfs_le64(text + 168), 544);
			assert_int_equal(bfs_le64(text + 176), 0x3ffULL << 52);
			assert_int_equal(bfs_le32(text + 348), 1);
			assert_int_equal(bfs_le64(text + 400), 0x3ffULL << 52);
			assert_int_equal(bfs_le64(text + 408), 0);
		} else {
			assert_int_equal(bfs_le16(text + 40), 1);
			assert_int_equal(bfs_le16(text + 42), n);
			assert_int_equal(bfs_le16(text + 70), 2);
			assert_memory_equal(text + 344, "n+1", 4);
		}
		free(text);
	}
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
		cmocka_unit_test(items_are_numbers_in_either_order_of_bytes),
		cmocka_unit_test(what_is_no_number_is_none_of_any_size),
		cmocka_unit_test(long_sides_take_the_second_form_of_nifti),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, frames_setup, frames_teardown);
}
