/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_view_arrow.c - files of Arrow: where columns lie, how their bytes are
 * made, and what is refused. tests/mount/arrow_test.py reads whole files.
 */
#include "base/bytes.h"
#include "base/mem.h"
#include "text/json.h"
#include "view/arrow/batches.h"
#include "view/arrow/fill.h"
#include "view/arrow/flat.h"
#include "view/arrow/items.h"
#include "view/arrow/layout.h"
#include "view/arrow/text.h"
#include "view/arrow/utf8.h"

#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Stores are memory, and what is read of them is counted. */
struct stores {
	const uint8_t *bytes[2];
	size_t len[2];
	uint64_t read;
};

static struct stores stores;

static enum bfs_err read_bytes(const void *arg, size_t store, uint64_t off,
			       void *buf, size_t len, struct bfs_diag *diag)
{
	(void)arg;
	(void)diag;
	assert_true(bfs_inside(off, len, stores.len[store]));
	memcpy(buf, stores.bytes[store] + off, len);
	stores.read += len;
	return BFS_OK;
}

static const struct bfs_arrow_reader reader = { read_bytes, NULL };

/* A table of the items of a dtype, in one run. */
static void make_table(const char *dtype, uint64_t typesize, uint64_t n_rows,
		       struct bfs_arrow_table *ret_table,
		       struct bfs_arrow_lefts *ret_lefts)
{
	char *text = bfs_memdup0(dtype, strlen(dtype));
	struct bfs_array_meta meta = { .present = true, .ndim = 1,
				       .dtype = text,
				       .dtype_len = strlen(dtype) };

	assert_non_null(text);
	meta.shape[0] = (int64_t)n_rows;
	*ret_table = (struct bfs_arrow_table){ 0 };
	*ret_lefts = (struct bfs_arrow_lefts){ 0 };
	assert_int_equal(bfs_arrow_add_items(ret_table, ret_lefts, &meta,
					     typesize, "data", 4, 0,
					     &ret_table->n_rows, NULL), BFS_OK);
	if (ret_table->n_rows)
		assert_int_equal(bfs_arrow_add_run(ret_table, 0,
						   ret_table->n_rows, NULL),
				 BFS_OK);
	bfs_free(text);
}

/* All bytes of the file; each range of it must be the same. */
static uint8_t *read_file(const struct bfs_arrow_table *table)
{
	size_t len = (size_t)table->len;
	uint8_t *all = malloc(len), part[97];

	assert_non_null(all);
	assert_int_equal(bfs_arrow_fill(table, &reader, NULL, 0, all, len,
					NULL), BFS_OK);
	for (size_t off = 0; off < len; off += 31) {
		size_t n = (size_t)bfs_min(sizeof(part), len - off);

		assert_int_equal(bfs_arrow_fill(table, &reader, NULL, off,
						part, n, NULL), BFS_OK);
		assert_memory_equal(part, all + off, n);
	}
	return all;
}

static void slots_are_aligned_and_lead_to_children(void **state)
{
	static const uint8_t sizes[] = { 1, 8, 4, 2, 0, 8 };
	struct bfs_flat flat;
	size_t table, text;

	(void)state;
	bfs_flat_init(&flat);
	text = bfs_flat_string(&flat, "odd", 3);
	table = bfs_flat_table(&flat, sizes, 6);
	bfs_flat_root(&flat, table);
	assert_int_equal(flat.err, BFS_OK);
	assert_int_equal(bfs_le32(flat.buf), table);
	assert_memory_equal(flat.buf + text + 4, "odd", 4);
	for (size_t i = 0; i < 6; i++) {
		size_t slot = bfs_flat_slot(&flat, table, i);

		if (sizes[i])
			assert_int_equal(slot % sizes[i], 0);
		else
			assert_int_equal(slot, table);
	}
	text = bfs_flat_vector(&flat, 3, 24, 8);
	assert_int_equal((text + 4) % 8, 0);
	bfs_flat_vector(&flat, SIZE_MAX / 2, 24, 8);
	assert_int_equal(flat.err, BFS_ERR_LIMIT);
	bfs_flat_release(&flat);
}

/* Records of ten bytes: a big-endian number, and a truth value between. */
static void a_field_is_gathered_from_its_rows_alone(void **state)
{
	enum { N = 20000, STEP = 10 };
	struct bfs_arrow_table table;
	struct bfs_arrow_lefts lefts;
	uint8_t *records = malloc(N * STEP), *all, part[64];
	const uint8_t *body;

	(void)state;
	assert_non_null(records);
	for (size_t i = 0; i < N; i++) {
		memset(records + i * STEP, 0xee, STEP);
		records[i * STEP + 2] = (uint8_t)(i >> 8);
		records[i * STEP + 3] = (uint8_t)i;
		records[i * STEP + 4] = i % 3 == 0;
	}
	stores = (struct stores){ .bytes = { records },
				  .len = { N * STEP } };
	make_table("[('skip', '<u2'), ('n', '>u2'), ('b', '|b1'), "
		   "('rest', '|V5')]", STEP, N, &table, &lefts);
	assert_int_equal(lefts.n, 0);
	assert_int_equal(table.n_columns, 4);
	assert_int_equal(bfs_arrow_lay(&table, NULL), BFS_OK);
	assert_int_equal(table.runs[0].off % 64, 0);
	all = read_file(&table);
	body = all + table.runs[0].off + table.runs[0].meta_len;
	for (size_t i = 0; i < N; i++) {
		const uint8_t *bits = body + 2 * bfs_arrow_pad(2 * N);

		assert_int_equal(bfs_le16(body + bfs_arrow_pad(2 * N) + 2 * i),
				 i & 0xffff);
		assert_int_equal(bits[i / 8] >> i % 8 & 1, i % 3 == 0);
	}
	stores.read = 0;
	assert_int_equal(bfs_arrow_fill(&table, &reader, NULL, (uint64_t)
					(body - all) + bfs_arrow_pad(2 * N),
					part, sizeof(part), NULL), BFS_OK);
	assert_in_range(stores.read, 1, (sizeof(part) / 2 + 2) * STEP);
	bfs_arrow_release(&table);
	free(records);
	free(all);
}

static void texts_of_utf32_are_views_or_errors(void **state)
{
	static uint32_t texts[16] = {
		'a', 0xe9, 0, 0, 0, 0, 0, 0,
		0x1f600, 0x1f600, 0x1f600, 0x1f600, 'x', 0, 'y', 0,
	};
	struct bfs_arrow_table table;
	struct bfs_arrow_lefts lefts;
	uint32_t bad[] = { htole32(0xd800), 0, 0, 0 };
	uint8_t *all, *views, byte;
	struct bfs_diag diag = { 0 };

	(void)state;
	for (size_t i = 0; i < 16; i++)
		texts[i] = htole32(texts[i]);
	stores = (struct stores){ .bytes = { (const uint8_t *)texts },
				  .len = { sizeof(texts) } };
	make_table("<U4", 16, 4, &table, &lefts);
	assert_int_equal(bfs_arrow_lay(&table, NULL), BFS_OK);
	all = read_file(&table);
	views = all + table.runs[0].off + table.runs[0].meta_len;
	assert_memory_equal(views, "\3\0\0\0a\xc3\xa9\0\0\0\0\0\0\0\0\0", 16);
	assert_memory_equal(views + 32,
			    "\x10\0\0\0\xf0\x9f\x98\x80\0\0\0\0\x20\0\0\0", 16);
	assert_memory_equal(views + 48, "\3\0\0\0x\0y\0", 8);
	assert_memory_equal(views + 64 + 32, "\xf0\x9f\x98\x80\xf0\x9f", 6);
	free(all);
	stores.bytes[0] = (const uint8_t *)bad;
	assert_int_equal(bfs_arrow_fill(&table, &reader, NULL,
					table.runs[0].off +
					table.runs[0].meta_len, &byte, 1,
					&diag), BFS_ERR_UNSUPPORTED);
	assert_true(diag.text[0]);
	bfs_arrow_release(&table);
}

static void what_arrow_cannot_hold_has_a_reason(void **state)
{
	static const struct {
		const char *dtype;
		uint64_t size;
	} cases[] = {
		{ "<f16", 16 }, { "<c32", 32 }, { "<U5000", 20000 },
		{ "<M8[ps]", 8 }, { "<m8[M]", 8 }, { "<M8", 8 },
	};

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(cases); i++) {
		struct bfs_arrow_type type;
		struct bfs_diag diag = { 0 };
		struct bfs_dtype dtype;

		assert_int_equal(bfs_dtype_parse(cases[i].dtype,
						 strlen(cases[i].dtype),
						 &dtype, NULL), BFS_OK);
		assert_int_equal(bfs_arrow_type_get(&dtype, &type, &diag),
				 BFS_ERR_UNSUPPORTED);
		assert_true(diag.text[0]);
		bfs_dtype_release(&dtype);
	}
}

/* Days of leap years, and times that four bytes do not hold. */
static void months_begin_on_their_days(void **state)
{
	static const struct {
		int64_t month, day;
	} cases[] = {
		{ 0, 0 }, { 1, 31 }, { 2, 59 }, { 26, 790 }, { 27, 821 },
		{ -1, -31 }, { 361, 10988 }, { 362, 11017 },
		{ -12 * 370, -135140 }, { 12 * 130 + 2, 47541 },
	};
	struct bfs_arrow_type type;
	struct bfs_dtype dtype;
	uint8_t buf[8], out[4];

	(void)state;
	assert_int_equal(bfs_dtype_parse("<M8[M]", 6, &dtype, NULL), BFS_OK);
	assert_int_equal(bfs_arrow_type_get(&dtype, &type, NULL), BFS_OK);
	for (size_t i = 0; i < BFS_ARRAY_LEN(cases); i++) {
		bfs_arrow_store(buf, (uint64_t)cases[i].month, 8);
		assert_int_equal(bfs_arrow_type_make(&type, buf, 1, out, NULL),
				 BFS_OK);
		assert_int_equal((int32_t)bfs_le32(out), cases[i].day);
	}
	bfs_arrow_store(buf, INT64_MAX, 8);
	assert_int_equal(bfs_arrow_type_make(&type, buf, 1, out, NULL),
			 BFS_ERR_UNSUPPORTED);
	bfs_dtype_release(&dtype);
}

static void equal_names_get_a_number(void **state)
{
	const struct bfs_arrow_type type = { .id = BFS_ARROW_BOOL,
					     .way = BFS_ARROW_BITS, .src = 1,
					     .swap = 1 };
	struct bfs_arrow_table table = { 0 };
	struct bfs_arrow_column *column;
	struct bfs_diag diag = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(bfs_arrow_add(&table, "a", 1, &type, &column,
					       NULL), BFS_OK);
	assert_int_equal(table.columns[1].name_len, 4);
	assert_memory_equal(table.columns[1].name, "a%~2", 4);
	assert_memory_equal(table.columns[2].name, "a%~3", 4);
	for (int i = 3; i < 9; i++)
		assert_int_equal(bfs_arrow_add(&table, "a", 1, &type, &column,
					       NULL), BFS_OK);
	assert_int_equal(bfs_arrow_add(&table, "a", 1, &type, &column, &diag),
			 BFS_ERR_UNSUPPORTED);
	while (table.n_columns < BFS_ARROW_COLUMNS) {
		char name[16];
		int len = snprintf(name, sizeof(name), "c%zu",
				   table.n_columns);

		assert_int_equal(bfs_arrow_add(&table, name, (size_t)len,
					       &type, &column, NULL), BFS_OK);
	}
	assert_int_equal(bfs_arrow_add(&table, "b", 1, &type, &column, &diag),
			 BFS_ERR_LIMIT);
	table.n_rows = 8;
	assert_int_equal(bfs_arrow_add_run(&table, 0, 8, NULL), BFS_OK);
	assert_int_equal(bfs_arrow_lay(&table, NULL), BFS_OK);
	/* Names, schema and places of all take this. */
	assert_in_range(table.len, 1, 2 << 20);
	bfs_arrow_release(&table);
}

static void a_table_beyond_all_lengths_is_refused(void **state)
{
	struct bfs_arrow_table table;
	struct bfs_arrow_lefts lefts;
	struct bfs_diag diag = { 0 };

	(void)state;
	make_table("<f8", 8, INT64_MAX / 8, &table, &lefts);
	assert_int_equal(bfs_arrow_lay(&table, &diag), BFS_ERR_UNSUPPORTED);
	bfs_arrow_release(&table);
	make_table("<f8", 8, UINT64_C(1) << 50, &table, &lefts);
	assert_int_equal(bfs_arrow_lay(&table, &diag), BFS_OK);
	assert_true(table.len > UINT64_C(1) << 53);
	assert_true(table.len < (UINT64_C(1) << 53) + 4096);
	bfs_arrow_release(&table);
}

static enum bfs_err read_damage(const void *arg, size_t store, uint64_t off,
				void *buf, size_t len, struct bfs_diag *diag)
{
	(void)arg;
	(void)store;
	(void)buf;
	(void)len;
	return bfs_fail(diag, BFS_ERR_CORRUPT, off, "damage");
}

/* Every third of 20000 times is none. */
static void what_is_none_is_counted_batch_by_batch(void **state)
{
	static const struct bfs_arrow_reader damage = { read_damage, NULL };
	static int64_t times[20000];
	struct bfs_arrow_counts counts;
	struct bfs_arrow_table table;
	struct bfs_arrow_lefts lefts;
	int64_t n, all = 0;

	(void)state;
	for (size_t i = 0; i < 20000; i++)
		times[i] = (int64_t)htole64(i % 3 ? i : (uint64_t)INT64_MIN);
	stores = (struct stores){ .bytes = { (const uint8_t *)times },
				  .len = { sizeof(times) } };
	make_table("<M8[us]", 8, 20000, &table, &lefts);
	assert_int_equal(bfs_arrow_cut_runs(&table, 8 * 4096, NULL), BFS_OK);
	assert_int_equal(table.n_runs, 5);
	assert_int_equal(table.runs[4].first, 4 * 4096);
	assert_int_equal(table.runs[4].n, 20000 - 4 * 4096);
	assert_int_equal(bfs_arrow_counts_new(&table, &counts, NULL), BFS_OK);
	assert_int_equal(bfs_arrow_count_batch(&table, &damage, &counts, 4, &n,
					       NULL), BFS_OK);
	assert_int_equal(n, 1);
	bfs_arrow_counts_release(&counts);
	assert_int_equal(bfs_arrow_counts_new(&table, &counts, NULL), BFS_OK);
	for (size_t i = 0; i < 10; i++) {
		stores.read = 0;
		assert_int_equal(bfs_arrow_count_batch(
			&table, &reader, &counts, i % 5, &n, NULL), BFS_OK);
		all += n;
		/* Once, and of that batch alone. */
		assert_int_equal(stores.read,
				 i < 5 ? 8 * table.runs[i].n : 0);
	}
	assert_int_equal(all, 2 * 6667);
	bfs_arrow_counts_release(&counts);
	bfs_arrow_release(&table);
}

static void runs_are_cut_where_values_may_be_none_alone(void **state)
{
	struct bfs_arrow_table table;
	struct bfs_arrow_lefts lefts;
	uint64_t n = 0;

	(void)state;
	make_table("<i8", 8, UINT64_C(1) << 40, &table, &lefts);
	assert_int_equal(bfs_arrow_cut_runs(&table, 1, NULL), BFS_OK);
	assert_int_equal(table.n_runs, 1);
	bfs_arrow_release(&table);
	/* There are never too many. */
	make_table("<M8[s]", 8, UINT64_C(1) << 40, &table, &lefts);
	assert_int_equal(bfs_arrow_cut_runs(&table, 1, NULL), BFS_OK);
	assert_true(table.n_runs > 1 && table.n_runs <= BFS_ARROW_RUNS);
	for (size_t i = 0; i < table.n_runs; i++) {
		assert_int_equal(table.runs[i].first, n);
		n += table.runs[i].n;
	}
	assert_int_equal(n, UINT64_C(1) << 40);
	bfs_arrow_release(&table);
}

/* Which bytes are part of a character, said in another way. */
static void find_good(const uint8_t *text, size_t len, bool *ret_good)
{
	size_t i = 0, n;

	while (i < len) {
		n = 1;
		while (n <= 4 && n <= len - i &&
		       !bfs_json_is_utf8(text + i, n))
			n++;
		ret_good[i] = n <= 4 && n <= len - i;
		for (size_t k = 1; ret_good[i] && k < n; k++)
			ret_good[i + k] = true;
		i += ret_good[i] ? n : 1;
	}
}

static void stored_texts_are_characters_or_errors(void **state)
{
	static const char *const pieces[] = {
		"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\x80",
		"\xe2\x82", "\xf0\x9f", "\xc0\x80", "\xed\xa0\x80",
		"\xf4\x90\x80\x80", "\xff", "a long one of ASCII",
	};
	uint8_t text[256], got[256];
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 300; round++) {
		/* Of two bytes before and behind, which are not of it. */
		size_t len = 2, n = 1 + (size_t)round % 7;
		bool good[256] = { false };
		struct bfs_arrow_texts texts = { .reader = &reader };

		memset(text, 0xbf, sizeof(text));
		for (size_t i = 0; i < n; i++) {
			const char *piece;

			seed = seed * 1103515245 + 12345;
			piece = pieces[(seed >> 16) % BFS_ARRAY_LEN(pieces)];
			memcpy(text + len, piece, strlen(piece));
			len += strlen(piece);
		}
		texts.span = (struct bfs_arrow_span){ 2, len };
		stores.bytes[0] = text;
		stores.len[0] = len + 2;
		find_good(text + 2, len - 2, good + 2);
		for (size_t off = 2; off < len; off++) {
			bool all = true;

			for (size_t end = off + 1; end <= len; end++) {
				all = all && good[end - 1];
				assert_int_equal(bfs_arrow_read_texts(
					&texts, off, got, end - off, NULL),
					all ? BFS_OK : BFS_ERR_CORRUPT);
				assert_memory_equal(got, text + off,
						    end - off);
			}
		}
	}
}

static void texts_begin_where_characters_do(void **state)
{
	const struct bfs_arrow_type type = { .src = 8, .swap = 1 };
	static uint8_t text[100000], offsets[8 * 50000];
	static uint8_t scratch[BFS_ARROW_SCRATCH];
	struct bfs_arrow_texts texts = {
		.reader = &reader, .span = { 0, sizeof(text) - 1 } };

	(void)state;
	memset(text, 'a', sizeof(text));
	stores.bytes[0] = text;
	stores.len[0] = sizeof(text);
	/* Near one another, and far. */
	for (size_t step = 2; step < 50000; step = 5 * step + 1) {
		size_t n = (sizeof(text) - 1) / step + 1;

		for (size_t i = 0; i < n; i++)
			bfs_arrow_store(offsets + 8 * i, i * step, 8);
		stores.read = 0;
		assert_int_equal(bfs_arrow_check_begins(&texts, &type, offsets,
							n, scratch, NULL),
				 BFS_OK);
		assert_true(stores.read <= sizeof(text) &&
			    stores.read < n * step);
		for (size_t i = 0; i < n; i += n / 7 + 1) {
			text[i * step] = 0xa9;
			text[i * step + 1] = 0xa9;
			assert_int_equal(bfs_arrow_check_begins(
				&texts, &type, offsets, n, scratch, NULL),
				BFS_ERR_CORRUPT);
			text[i * step] = 'a';
			assert_int_equal(bfs_arrow_check_begins(
				&texts, &type, offsets, n, scratch, NULL),
				BFS_OK);
			text[i * step + 1] = 'a';
		}
	}
	/* At the end of all, and in a span without a byte. */
	for (size_t i = 0; i < 9; i++)
		bfs_arrow_store(offsets + 8 * i, texts.span.end, 8);
	assert_int_equal(bfs_arrow_check_begins(&texts, &type, offsets, 9,
						scratch, NULL), BFS_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_aligned_and_lead_to_children),
		cmocka_unit_test(a_field_is_gathered_from_its_rows_alone),
		cmocka_unit_test(texts_of_utf32_are_views_or_errors),
		cmocka_unit_test(what_arrow_cannot_hold_has_a_reason),
		cmocka_unit_test(months_begin_on_their_days),
		cmocka_unit_test(equal_names_get_a_number),
		cmocka_unit_test(a_table_beyond_all_lengths_is_refused),
		cmocka_unit_test(what_is_none_is_counted_batch_by_batch),
		cmocka_unit_test(runs_are_cut_where_values_may_be_none_alone),
		cmocka_unit_test(stored_texts_are_characters_or_errors),
		cmocka_unit_test(texts_begin_where_characters_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
