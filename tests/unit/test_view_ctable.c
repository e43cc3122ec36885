/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_view_ctable.c - tables of python-blosc2 in stores: keys of columns,
 * rows that are none, and tables that are not what they say. Whole tables of
 * the original writer are read in tests/mount/arrow_test.py.
 */
#include "base/bytes.h"
#include "base/mem.h"
#include "support/build2.h"
#include "support/frames.h"
#include "view/arrow/ctable.h"
#include "view/arrow/fill.h"
#include "view/arrow/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A member of the store: an array of rows (n = 0: bytes without a shape). */
struct member {
	const char *name, *dtype;
	unsigned size;		/* bytes of an item */
	unsigned n, per_row;	/* rows; items of each (0: one dimension) */
	const void *p;
	size_t len;		/* of bytes without a shape */
};

/* A store being made, and what was opened of it. */
struct table {
	struct zip zip;
	struct bfs_file *file;
	struct bfs_arrow_table table;
	struct bfs_arrow_lefts lefts;
	struct bfs_arrow_stores stores;
	struct bfs_diag diag;
	enum bfs_err err;
};

static uint8_t all_live[3000];
static const uint8_t numbers[3000] = { 1, 2, 3, 4, 5, 6, 7, 8 };

static void add_bytes(struct zip *zip, const char *name, struct build *b)
{
	const struct zip_member m = { .name = name, .p = b->p, .len = b->len };

	zip_add(zip, &m);
	free(b->p);
}

static void add_array(struct zip *zip, const struct member *m)
{
	unsigned per_row = m->per_row ? m->per_row : 1;
	int32_t n = (int32_t)m->n;
	struct build_frame f = {
		.chunksize = (int64_t)m->size * per_row * n,
		.typesize = m->size, .ndim = m->per_row ? 2 : 1,
		.dtype = m->dtype, .shape = { n, per_row },
		.chunkshape = { n, (int32_t)per_row },
		.blockshape = { n, (int32_t)per_row },
	};
	struct build_chunk c = { .data = m->p, .typesize = m->size,
				 .len = (size_t)f.chunksize,
				 .blocksize = (uint32_t)f.chunksize,
				 .codec = BUILD_RAW };
	struct build out = { 0 };

	build_frame_chunk(&f, &c);
	build_frame_finish(&f, &out);
	add_bytes(zip, m->name, &out);
}

static void add_member(struct zip *zip, const struct member *m)
{
	struct frame_input in = { .data = m->p, .len = m->len,
				  .chunksize = m->len, .blocksize = m->len,
				  .typesize = 1 };
	struct frame_bytes bytes;
	struct build b;

	if (m->n) {
		add_array(zip, m);
		return;
	}
	bytes = frames_build(&in);
	b = (struct build){ bytes.p, bytes.len, bytes.cap };
	add_bytes(zip, m->name, &b);
}

/* A text in MessagePack, or as it is where the mark is 0. */
static struct frame_layer pack(const char *name, const char *text,
			       uint8_t mark, uint8_t *buf)
{
	size_t len = strlen(text), head = mark ? 5 : 0;

	buf[0] = mark;
	for (unsigned i = 0; i < 4; i++)
		buf[1 + i] = (uint8_t)(len >> (24 - 8 * i));
	memcpy(buf + head, text, len);
	return (struct frame_layer){ name, strlen(name), buf, head + len };
}

/* What says that the store is a table. */
static void add_meta(struct zip *zip, const char *kind, const char *schema,
		     uint8_t mark)
{
	static uint8_t kind_buf[64];
	uint8_t *buf = malloc(strlen(schema) + 8);
	struct frame_layer layers[2];
	struct frame_input in = { .data = numbers, .len = 1, .chunksize = 1,
				  .blocksize = 1, .typesize = 1,
				  .vlmetas = layers, .n_vlmetas = 2 };
	struct frame_bytes bytes;
	struct build b;

	assert_non_null(buf);
	layers[0] = pack("kind", kind, 0xdb, kind_buf);
	layers[1] = pack("schema", schema, mark, buf);
	bytes = frames_build(&in);
	b = (struct build){ bytes.p, bytes.len, bytes.cap };
	add_bytes(zip, "_meta.b2f", &b);
	free(buf);
}

static void add_valid(struct zip *zip, const uint8_t *marks, unsigned n)
{
	const struct member m = { "_valid_rows.b2nd", "|b1", 1, n, 0, marks,
				  0 };

	add_member(zip, &m);
}

/* Opens what was added. */
static void open_table(struct table *t)
{
	struct build b;

	zip_finish(&t->zip, false);
	b = t->zip.out;
	t->file = hostile_file(&b, "x.b2z");
	free(b.p);
	assert_true(bfs_arrow_is_ctable(t->file));
	t->err = bfs_arrow_add_ctable(t->file, &t->table, &t->lefts,
				      &t->stores, &t->diag);
	if (t->err == BFS_OK)
		t->err = bfs_arrow_lay(&t->table, &t->diag);
}

static void close_table(struct table *t)
{
	bfs_arrow_release(&t->table);
	bfs_arrow_lefts_release(&t->lefts);
	bfs_arrow_stores_release(&t->stores);
	bfs_file_free(t->file);
	memset(t, 0, sizeof(*t));
}

/* A table of n rows with one more column, `ok`, that is well. */
static void open_with(struct table *t, const char *entry, unsigned n,
		      const uint8_t *marks, const struct member *members,
		      size_t n_members)
{
	const struct member ok = { "_cols/ok.b2nd", "|u1", 1, n, 0, numbers,
				   0 };
	char schema[1024];

	snprintf(schema, sizeof(schema), "{\"columns\": [{\"name\": \"ok\", "
		 "\"kind\": \"uint8\"}, %s]}", entry);
	memset(t, 0, sizeof(*t));
	add_meta(&t->zip, "ctable", schema, 0xdb);
	add_valid(&t->zip, marks, n);
	add_member(&t->zip, &ok);
	for (size_t i = 0; i < n_members; i++)
		if (members[i].name)
			add_member(&t->zip, &members[i]);
	open_table(t);
}

/* The buffers of a column in the first run: which values are there, and
 * these. The rest of the file is not looked at. */
static void read_column(const struct table *t, size_t k, uint8_t *bits,
			uint8_t *values)
{
	const struct bfs_arrow_reader reader = bfs_arrow_reader(&t->stores);
	const struct bfs_arrow_run *run = &t->table.runs[0];
	uint64_t at = run->off + run->meta_len;
	struct bfs_arrow_lens lens = { 0 };

	for (size_t i = 0; i <= k; i++) {
		at += bfs_arrow_pad(lens.bits) + bfs_arrow_pad(lens.data) +
		      bfs_arrow_pad(lens.more);
		lens = bfs_arrow_lens(&t->table.columns[i], run);
	}
	if (bits)
		assert_int_equal(bfs_arrow_fill(&t->table, &reader, NULL, at,
						bits, lens.bits, NULL),
				 BFS_OK);
	at += bfs_arrow_pad(lens.bits);
	if (values)
		assert_int_equal(bfs_arrow_fill(&t->table, &reader, NULL, at,
						values, lens.data, NULL),
				 BFS_OK);
}

/* ---- columns that are left out --------------------------------------- */

#define COLUMN(kind, more) \
	"{\"name\": \"a\", \"kind\": \"" kind "\"" more "}"
#define NULLABLE ", \"nullable\": true"
#define A "_cols/a.b2nd"

static const struct {
	const char *entry, *why;
	struct member members[2];
} left_out[] = {
	{ COLUMN("vlstring", ""), "values of variable length", { { 0 } } },
	{ COLUMN("list", ""), "values of variable length", { { 0 } } },
	{ COLUMN("int32", ""), "there is no _cols/a", { { 0 } } },
	{ COLUMN("int32", ""), "less rows than the table",
	  { { A, "<i4", 4, 7, 0, numbers, 0 } } },
	{ COLUMN("int32", ""), "no sound array",
	  { { "_cols/a.b2f", NULL, 1, 0, 0, numbers, 32 } } },
	{ COLUMN("complex256", ""), "Arrow has no such numbers of 32 bytes",
	  { { A, "<c32", 32, 8, 0, numbers, 0 } } },
	{ COLUMN("timestamp", ", \"unit\": \"h\""), "its times are not",
	  { { A, "<i8", 8, 8, 0, numbers, 0 } } },
	{ COLUMN("timestamp", ""), "its times are not",
	  { { A, "<i8", 8, 8, 0, numbers, 0 } } },
	{ COLUMN("timestamp", ", \"unit\": \"ns\""), "its times are not",
	  { { A, "<i4", 4, 8, 0, numbers, 0 } } },
	{ COLUMN("int32", NULLABLE), "nothing tells which of its values",
	  { { A, "<i4", 4, 8, 0, numbers, 0 } } },
	{ COLUMN("int32", NULLABLE ", \"null_value\": null"),
	  "nothing tells which of its values",
	  { { A, "<i4", 4, 8, 0, numbers, 0 } } },
	{ COLUMN("int32", NULLABLE ", \"null_value\": \"x\""),
	  "what stands for no value is no value of it",
	  { { A, "<i4", 4, 8, 0, numbers, 0 } } },
	{ COLUMN("int32", NULLABLE ", \"null_value\": 1.5"),
	  "what stands for no value", { { A, "<i4", 4, 8, 0, numbers, 0 } } },
	{ COLUMN("complex128", NULLABLE ", \"null_value\": 1"),
	  "what stands for no value", { { A, "<c16", 16, 8, 0, numbers, 0 } } },
	{ COLUMN("float16", NULLABLE ", \"null_value\": 1"),
	  "what stands for no value", { { A, "<f2", 2, 8, 0, numbers, 0 } } },
	{ COLUMN("bytes", NULLABLE ", \"null_value\": \"four\""),
	  "what stands for no value", { { A, "|S3", 3, 8, 0, numbers, 0 } } },
	{ COLUMN("bytes", NULLABLE ", \"null_value\": {\"base64\": \"a!\"}"),
	  "what stands for no value", { { A, "|S3", 3, 8, 0, numbers, 0 } } },
	{ COLUMN("bytes", NULLABLE ", \"null_value\": {\"base64\": "
		 "\"YWJjZA==\"}"),
	  "what stands for no value", { { A, "|S3", 3, 8, 0, numbers, 0 } } },
	{ COLUMN("bytes", NULLABLE ", \"null_value\": [1]"),
	  "what stands for no value", { { A, "|S3", 3, 8, 0, numbers, 0 } } },
	{ COLUMN("string", NULLABLE ", \"null_value\": \"abc\""),
	  "what stands for no value", { { A, "<U2", 8, 8, 0, numbers, 0 } } },
	{ COLUMN("string", NULLABLE ", \"null_value\": 1"),
	  "what stands for no value", { { A, "<U2", 8, 8, 0, numbers, 0 } } },
	{ COLUMN("datetime", NULLABLE ", \"null_value\": 1"),
	  "what stands for no value", { { A, "<M8[D]", 8, 8, 0, numbers,
					  0 } } },
	{ COLUMN("int32", NULLABLE), "marks of rows are not a byte each",
	  { { A, "<i4", 4, 8, 0, numbers, 0 },
	    { "_cols/a.notnull.b2nd", "<i2", 2, 8, 0, numbers, 0 } } },
	{ COLUMN("int32", NULLABLE), "less rows than the table",
	  { { A, "<i4", 4, 8, 0, numbers, 0 },
	    { "_cols/a.notnull.b2nd", "|u1", 1, 7, 0, numbers, 0 } } },
	{ COLUMN("utf8", ""), "its offsets are not as Arrow has them",
	  { { A, "<u8", 8, 9, 0, numbers, 0 } } },
	{ COLUMN("utf8", ""), "less rows than the table",
	  { { A, "<i8", 8, 8, 0, numbers, 0 } } },
	{ COLUMN("utf8", ""), "there is no _cols/a.utf8",
	  { { A, "<i8", 8, 9, 0, numbers, 0 } } },
	{ COLUMN("dictionary", ""), "its codes are not as Arrow has them",
	  { { A, "<i8", 8, 8, 0, numbers, 0 } } },
	{ COLUMN("dictionary", ""), "there is no _cols/a_dict",
	  { { A, "<i4", 4, 8, 0, numbers, 0 } } },
	{ COLUMN("dictionary", ""), "its values are no lists of texts",
	  { { A, "<i4", 4, 8, 0, numbers, 0 },
	    { "_cols/a_dict.b2f", NULL, 1, 0, 0, "\xa1x", 2 } } },
	{ COLUMN("dictionary", ""), "its values are not all texts",
	  { { A, "<i4", 4, 8, 0, numbers, 0 },
	    { "_cols/a_dict.b2f", NULL, 1, 0, 0, "\x92\xa1x\7", 4 } } },
	{ COLUMN("dictionary", ""), "its values are not all texts",
	  { { A, "<i4", 4, 8, 0, numbers, 0 },
	    { "_cols/a_dict.b2f", NULL, 1, 0, 0, "\x92\xa1x\xa1\xff", 5 } } },
	{ COLUMN("dictionary", ""), "its values are not all texts",
	  { { A, "<i4", 4, 8, 0, numbers, 0 },
	    { "_cols/a_dict.b2f", NULL, 1, 0, 0, "\x91\xd9\x05xy", 5 } } },
	{ COLUMN("dictionary", ""), "its values are no lists of texts",
	  { { A, "<i4", 4, 8, 0, numbers, 0 },
	    { "_cols/a_dict.b2f", NULL, 1, 0, 0, "\xdd\0\0", 3 } } },
};

static void what_is_no_column_of_arrow_is_left_out_with_a_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(left_out); i++) {
		uint8_t values[8] = { 0 };
		struct table t;

		open_with(&t, left_out[i].entry, 8, all_live,
			  left_out[i].members, 2);
		if (t.err != BFS_OK || t.lefts.n != 1 ||
		    !strstr(t.lefts.list[0].why, left_out[i].why))
			fail_msg("%s: %s, %s", left_out[i].entry, t.diag.text,
				 t.lefts.n ? t.lefts.list[0].why : "taken");
		assert_string_equal(t.lefts.list[0].name, "a");
		/* The other one is as it was, and nothing else is open. */
		assert_int_equal(t.table.n_columns, 1);
		assert_int_equal(t.table.n_texts + t.table.n_words, 0);
		assert_int_equal(t.stores.n, 2);
		read_column(&t, 0, NULL, values);
		assert_memory_equal(values, numbers, 8);
		close_table(&t);
	}
}

/* Names are keys in info.json. */
static void columns_of_one_name_are_told_apart(void **state)
{
	static const struct member none = { 0 };
	struct table t;

	(void)state;
	open_with(&t, COLUMN("list", "") ", " COLUMN("list", "") ", "
		  "{\"name\": \"a%~2\", \"kind\": \"list\"}, "
		  COLUMN("list", ""), 8, all_live, &none, 1);
	assert_int_equal(t.lefts.n, 4);
	assert_string_equal(t.lefts.list[0].name, "a");
	assert_string_equal(t.lefts.list[1].name, "a%~2");
	assert_string_equal(t.lefts.list[2].name, "a%~2%~2");
	assert_string_equal(t.lefts.list[3].name, "a%~3");
	close_table(&t);
}

static void columns_that_are_computed_are_told(void **state)
{
	const struct member ok = { "_cols/ok.b2nd", "|u1", 1, 8, 0, numbers,
				   0 };
	struct table t = { 0 };

	(void)state;
	add_meta(&t.zip, "ctable", "{\"columns\": [{\"name\": \"ok\", "
		 "\"kind\": \"uint8\"}], \"computed_columns\": [{\"name\": "
		 "\"sum\"}, 7, {\"name\": \"mean\"}]}", 0xdb);
	add_valid(&t.zip, all_live, 8);
	add_member(&t.zip, &ok);
	open_table(&t);
	assert_int_equal(t.err, BFS_OK);
	assert_int_equal(t.lefts.n, 2);
	assert_string_equal(t.lefts.list[0].name, "sum");
	assert_string_equal(t.lefts.list[1].name, "mean");
	assert_string_equal(t.lefts.list[1].why, "it is computed, not stored");
	close_table(&t);
}

/* ---- tables that are none -------------------------------------------- */

static void what_no_schema_tells_is_refused_with_a_reason(void **state)
{
	static const struct {
		const char *kind, *schema, *why;
		uint8_t mark;
	} rows[] = {
		{ "tree", "{\"columns\": []}", "another kind of store", 0xdb },
		{ "ctable", "{\"columns\": []}", "schema' is no text", 0 },
		{ "ctable", "{\"columns\": []}", "schema' is no text", 0xc6 },
		{ "ctable", "{\"columns\": [", "", 0xdb },
		{ "ctable", "[]", "its schema has no columns", 0xdb },
		{ "ctable", "{\"columns\": {}}", "its schema has no columns",
		  0xdb },
		{ "ctable", "{\"columns\": []}", "Arrow has none of its "
		  "columns", 0xdb },
		{ "ctable", "{\"columns\": [7]}", "a column without a name",
		  0xdb },
		{ "ctable", "{\"columns\": [{\"name\": \"a\"}]}",
		  "a column without a name", 0xdb },
		{ "ctable", "{\"columns\": [{\"name\": \"a\\u0000b\", "
		  "\"kind\": \"int8\"}]}", "a column without a name", 0xdb },
		{ "ctable", "{\"columns\": [{\"name\": \"\\ud800\", "
		  "\"kind\": \"int8\"}]}", "", 0xdb },
	};

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(rows); i++) {
		struct table t = { 0 };

		add_meta(&t.zip, rows[i].kind, rows[i].schema, rows[i].mark);
		add_valid(&t.zip, all_live, 8);
		open_table(&t);
		assert_int_not_equal(t.err, BFS_OK);
		assert_true(t.diag.text[0]);
		if (!strstr(t.diag.text, rows[i].why))
			fail_msg("%s: %s", rows[i].schema, t.diag.text);
		close_table(&t);
	}
}

static void of_too_many_columns_there_is_no_table(void **state)
{
	const size_t most = BFS_ARROW_COLUMNS + 1;
	char *schema = malloc(3 * most + 32);
	struct table t = { 0 };

	(void)state;
	assert_non_null(schema);
	strcpy(schema, "{\"columns\": [0");
	for (size_t i = 1; i < most; i++)
		memcpy(schema + 12 + 2 * i, ",0", 3);
	strcat(schema, "]}");
	add_meta(&t.zip, "ctable", schema, 0xdb);
	add_valid(&t.zip, all_live, 8);
	open_table(&t);
	assert_int_equal(t.err, BFS_ERR_LIMIT);
	close_table(&t);
	free(schema);
}

/* Offsets of texts that go back, or beyond the bytes. */
static void hostile_offsets_are_no_texts(void **state)
{
	static const uint64_t offsets[][5] = {
		{ 0, 2, 1, 3, 6 }, { 0, 1, 2, 7, 6 }, { 0, 1, UINT64_MAX, 3,
							6 },
	};
	/* The run ends where an offset is read beforehand. */
	static const uint8_t marks[4] = { 1, 1, 0, 1 };

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(offsets); i++)
		for (int gap = 0; gap < 2; gap++) {
			const struct member members[] = {
				{ A, "<i8", 8, 5, 0, offsets[i], 0 },
				{ "_cols/a.utf8.b2nd", "|u1", 1, 6, 0,
				  "abcdef", 0 },
			};
			struct bfs_arrow_reader reader;
			struct table t;
			uint8_t *all;

			open_with(&t, COLUMN("utf8", ""), 4,
				  gap ? marks : all_live, members, 2);
			if (t.err == BFS_OK) {
				reader = bfs_arrow_reader(&t.stores);
				all = malloc(t.table.len);
				assert_non_null(all);
				t.err = bfs_arrow_fill(&t.table, &reader, NULL,
						       0, all, t.table.len,
						       &t.diag);
				free(all);
			}
			assert_int_equal(t.err, BFS_ERR_CORRUPT);
			assert_non_null(strstr(t.diag.text,
					       "offsets of texts are not in "
					       "order"));
			close_table(&t);
		}
}

static void a_code_beyond_its_dictionary_is_an_error(void **state)
{
	static const int32_t codes[] = { 0, 2, -1, 3 };
	const struct member members[] = {
		{ A, "<i4", 4, 4, 0, codes, 0 },
		{ "_cols/a_dict.b2f", NULL, 1, 0, 0,
		  "\xdc\0\2\xa1x\xd9\2yz\xdd\0\0\0\1\xda\0\1w", 18 },
	};
	struct bfs_arrow_reader reader;
	struct table t;
	uint8_t *all;

	(void)state;
	open_with(&t, COLUMN("dictionary", ""), 4, all_live, members, 2);
	assert_int_equal(t.err, BFS_OK);
	assert_int_equal(t.table.n_words, 1);
	assert_int_equal(t.table.columns[1].type.n_words, 3);
	reader = bfs_arrow_reader(&t.stores);
	all = malloc(t.table.len);
	assert_non_null(all);
	assert_int_equal(bfs_arrow_fill(&t.table, &reader, NULL, 0, all,
					t.table.len, &t.diag),
			 BFS_ERR_CORRUPT);
	assert_string_equal(t.diag.text, "a code beyond its dictionary");
	free(all);
	close_table(&t);
}

/* ---- keys ------------------------------------------------------------ */

static void names_lead_to_their_keys(void **state)
{
	static const struct {
		const char *name, *key;
	} rows[] = {
		{ "a.b", "_cols/a/b.b2nd" },
		{ "a\\\\.b", "_cols/a%2Eb.b2nd" },
		{ "a\\\\\\\\b", "_cols/a%5Cb.b2nd" },
		{ "a\\\\b", "_cols/a%5Cb.b2nd" },
		{ "a\\\\", "_cols/a%5C.b2nd" },
		{ "a/b", "_cols/a%2Fb.b2nd" },
		{ "100%", "_cols/100%25.b2nd" },
		{ "\xc3\xa9 ?", "_cols/\xc3\xa9 ?.b2nd" },
	};

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(rows); i++) {
		const struct member m = { rows[i].key, "|u1", 1, 8, 0,
					  numbers + 4, 0 };
		uint8_t values[8];
		char entry[100];
		struct table t;

		snprintf(entry, sizeof(entry), "{\"name\": \"%s\", "
			 "\"kind\": \"uint8\"}", rows[i].name);
		open_with(&t, entry, 8, all_live, &m, 1);
		if (t.err != BFS_OK || t.lefts.n)
			fail_msg("%s: %s", rows[i].name, t.diag.text);
		read_column(&t, 1, NULL, values);
		assert_memory_equal(values, numbers + 4, 8);
		close_table(&t);
	}
}

/* ---- rows ------------------------------------------------------------ */

/* So many runs that each would be a batch: marks tell them instead. */
static void very_many_runs_are_told_by_a_column(void **state)
{
	enum { MOST = BFS_ARROW_RUNS };
	static uint8_t marks[2 * MOST + 2], bits[MOST / 4 + 1];
	static uint8_t values[2 * MOST + 2];

	(void)state;
	/* The last number of runs that may be, and one more. */
	for (unsigned n = 2 * MOST; n <= 2 * MOST + 2; n += 2) {
		struct table t;

		for (size_t i = 0; i < n; i++)
			marks[i] = i % 2 == 0;
		open_with(&t, COLUMN("vlbytes", ""), n, marks, NULL, 0);
		assert_int_equal(t.err, BFS_OK);
		/* Behind the last row that lives there is none. */
		assert_int_equal(t.table.n_rows, n - 1);
		if (n == 2 * MOST) {
			assert_int_equal(t.table.n_runs, MOST);
			assert_int_equal(t.table.n_columns, 1);
			close_table(&t);
			continue;
		}
		assert_int_equal(t.table.n_runs, 1);
		assert_int_equal(t.table.n_columns, 2);
		assert_int_equal(t.table.columns[1].name_len, 6);
		assert_memory_equal(t.table.columns[1].name, "_valid", 6);
		read_column(&t, 1, NULL, bits);
		for (size_t i = 0; i < n - 1; i++)
			assert_int_equal(bits[i / 8] >> i % 8 & 1, marks[i]);
		read_column(&t, 0, NULL, values);
		assert_memory_equal(values, numbers, n - 1);
		close_table(&t);
	}
}

/* ---- which values are none ------------------------------------------- */

static const struct {
	const char *dtype, *null_value;
	unsigned size;
	const char *p;		/* four values, of which the third is none */
} sentinels[] = {
	{ "|i1", "-1", 1, "\1\2\xff\3" },
	{ "<i4", "-2147483648", 4, "\1\0\0\0\0\0\0\1\0\0\0\x80\0\0\0\1" },
	{ ">i2", "258", 2, "\0\1\2\1\1\2\0\0" },
	{ "<u8", "18446744073709551615", 8,
	  "\xff\xff\xff\xff\xff\xff\xff\x7f\0\0\0\0\0\0\0\0"
	  "\xff\xff\xff\xff\xff\xff\xff\xff\1\0\0\0\0\0\0\0" },
	{ "<f4", "1.5", 4, "\0\0\0\0\0\0\xc0\xbf\0\0\xc0\x3f\0\0\xc0\x7f" },
	{ ">f8", "-2", 8, "\0\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\0"
			  "\xc0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xc0" },
	{ "<f8", "NaN", 8, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0\x7f"
			   "\0\0\0\0\0\0\xf8\x7f\0\0\0\0\0\0\xf0\xff" },
	{ "<f2", "NaN", 2, "\0\0\0\x7c\1\xfe\0\xfc" },
	{ "<f4", "NaN", 4, "\0\0\0\0\0\0\x80\x7f\1\0\x80\xff\0\0\x80\xff" },
	{ "|S3", "\"ab\"", 3, "abcab.ab\0a\0\0" },
	{ "|S3", "{\"base64\": \"AP8=\"}", 3,
	  "\0\0\0\0\xff\1\0\xff\0\xff\0\0" },
	{ "|V3", "{\"base64\": \"+/+/\"}", 3,
	  "\0\0\0\xff\xff\xff\xfb\xff\xbf\xbf\xff\xfb" },
	{ "<U2", "\"\xc3\xa9\"", 8,
	  "\xe9\0\0\0\xe9\0\0\0\0\0\0\0\0\0\0\0"
	  "\xe9\0\0\0\0\0\0\0\0\0\0\0\xe9\0\0\0" },
	{ ">U1", "\"\xf0\x9f\x98\x80\"", 4,
	  "\0\1\xf6\1\0\0\xf6\0\0\1\xf6\0\0\0\0\0" },
	{ "<U1", "\"\xe2\x82\xac\"", 4,
	  "\xac\0\0\0\0\0\0\0\xac\x20\0\0\x20\xac\0\0" },
	{ "|b1", "255", 1, "\0\1\xff\0" },
	{ "<M8[s]", NULL, 8, "\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"
			     "\0\0\0\0\0\0\0\x80\0\0\0\0\0\0\0\1" },
};

static void the_value_that_stands_for_none_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(sentinels); i++) {
		const struct member m = { A, sentinels[i].dtype,
					  sentinels[i].size, 4, 0,
					  sentinels[i].p, 0 };
		struct bfs_arrow_reader reader;
		uint8_t bits = 0;
		char entry[200];
		struct table t;
		int64_t n = -1;

		/* Times that are none need no word for it. */
		snprintf(entry, sizeof(entry), "{\"name\": \"a\", \"kind\": "
			 "\"x\"%s%s}", sentinels[i].null_value ?
			 ", \"nullable\": true, \"null_value\": " : "",
			 sentinels[i].null_value ? sentinels[i].null_value :
						   "");
		open_with(&t, entry, 4, all_live, &m, 1);
		if (t.err != BFS_OK || t.lefts.n)
			fail_msg("%s: %s%s", sentinels[i].dtype, t.diag.text,
				 t.lefts.n ? t.lefts.list[0].why : "");
		if (sentinels[i].null_value) {
			read_column(&t, 1, &bits, NULL);
			if (bits != 0xb)
				fail_msg("%s, %s: %x", sentinels[i].dtype,
					 sentinels[i].null_value, bits);
			reader = bfs_arrow_reader(&t.stores);
			assert_int_equal(bfs_arrow_count_nulls(
				&t.table, &reader, 1, &t.table.runs[0], &n,
				NULL), BFS_OK);
			assert_int_equal(n, 1);
		} else {
			assert_int_equal(t.table.columns[1].nulls.rule,
					 BFS_ARROW_ALL);
		}
		close_table(&t);
	}
}

/* Rows of a list are none if all of their values are: short ones, and ones
 * that are longer than what is read at once. */
static void a_row_of_lists_is_none_if_all_of_it_is(void **state)
{
	static const unsigned per_row[] = { 1, 3, 40000 };

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(per_row); i++) {
		unsigned n = per_row[i];
		uint8_t *rows = calloc(3, n), bits = 0;
		const struct member m = { A, "|u1", 1, 3, n, rows, 0 };
		struct table t;

		assert_non_null(rows);
		memset(rows, 7, 3 * (size_t)n);
		rows[n - 1] = 1;		/* the last of the first row */
		rows[2 * (size_t)n] = 1;	/* the first of the last */
		open_with(&t, COLUMN("ndarray", NULLABLE
				     ", \"null_value\": 7"), 3, all_live, &m,
			  1);
		assert_int_equal(t.err, BFS_OK);
		assert_int_equal(t.lefts.n, 0);
		read_column(&t, 1, &bits, NULL);
		assert_int_equal(bits, 5);
		close_table(&t);
		free(rows);
	}
}

static void marks_beside_a_column_tell_which_are_none(void **state)
{
	static const uint8_t marks[] = { 1, 0, 1, 0, 0, 1, 2, 0 };

	(void)state;
	for (unsigned per_row = 0; per_row < 3; per_row++) {
		const struct member members[] = {
			{ A, "|u1", 1, 8, per_row, numbers, 0 },
			{ "_cols/a.notnull.b2nd", "|b1", 1, 8, 0, marks, 0 },
		};
		struct bfs_arrow_reader reader;
		uint8_t bits = 0;
		struct table t;
		int64_t n = 0;

		open_with(&t, COLUMN("x", NULLABLE), 8, all_live, members, 2);
		assert_int_equal(t.err, BFS_OK);
		assert_int_equal(t.lefts.n, 0);
		read_column(&t, 1, &bits, NULL);
		/* A mark of any value is one. */
		assert_int_equal(bits, 0x65);
		reader = bfs_arrow_reader(&t.stores);
		assert_int_equal(bfs_arrow_count_nulls(&t.table, &reader, 1,
						       &t.table.runs[0], &n,
						       NULL), BFS_OK);
		assert_int_equal(n, 4);
		close_table(&t);
	}
}

static int setup(void **state)
{
	memset(all_live, 1, sizeof(all_live));
	return hostile_setup(state);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_is_no_column_of_arrow_is_left_out_with_a_reason),
		T(columns_of_one_name_are_told_apart),
		T(columns_that_are_computed_are_told),
		T(what_no_schema_tells_is_refused_with_a_reason),
		T(of_too_many_columns_there_is_no_table),
		T(hostile_offsets_are_no_texts),
		T(a_code_beyond_its_dictionary_is_an_error),
		T(names_lead_to_their_keys),
		T(very_many_runs_are_told_by_a_column),
		T(the_value_that_stands_for_none_is_found),
		T(a_row_of_lists_is_none_if_all_of_it_is),
		T(marks_beside_a_column_tell_which_are_none),
	};

	return cmocka_run_group_tests_name("ctable", tests, setup,
					   hostile_teardown);
}
