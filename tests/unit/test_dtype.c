/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_dtype.c - dtype texts, what they are in a .npy header, and whole
 * headers as NumPy 1.24 writes them.
 */
#include "text/dtype.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct good {
	const char *text;
	uint64_t itemsize;
	const char *descr;
};

static enum bfs_err parse(const char *text, struct bfs_dtype *type)
{
	/* From a block that ends where the text does. */
	size_t len = strlen(text);
	char *copy = malloc(len + 1);
	struct bfs_diag diag = { 0 };
	enum bfs_err err;

	assert_non_null(copy);
	memcpy(copy + 1, text, len);
	err = bfs_dtype_parse(copy + 1, len, type, &diag);
	assert_int_equal(diag.err, err);
	assert_true(err == BFS_OK || diag.text[0]);
	assert_true(diag.off <= len);
	free(copy);
	return err;
}

static void expect(const char *text, uint64_t itemsize, const char *descr)
{
	uint64_t before = bfs_mem_used();
	struct bfs_dtype type;
	char *got;
	bool wide;

	if (parse(text, &type) != BFS_OK)
		fail_msg("%s is refused", text);
	assert_int_equal(type.itemsize, itemsize);
	assert_int_equal(bfs_dtype_descr(&type, &got, &wide), BFS_OK);
	assert_string_equal(got, descr);
	bfs_free(got);
	bfs_dtype_release(&type);
	assert_int_equal(bfs_mem_used(), before);
}

static void simple_types_are_known(void **state)
{
	static const struct good table[] = {
		{ "|b1", 1, "'|b1'" }, { "?", 1, "'|b1'" },
		{ "|u1", 1, "'|u1'" }, { "i1", 1, "'|i1'" },
		{ ">u1", 1, "'|u1'" }, { "<i2", 2, "'<i2'" },
		{ ">i4", 4, "'>i4'" }, { "=i8", 8, "'<i8'" },
		{ "|i4", 4, "'<i4'" }, { "u8", 8, "'<u8'" },
		{ "<f2", 2, "'<f2'" }, { ">f8", 8, "'>f8'" },
		{ "<f12", 12, "'<f12'" }, { "<f16", 16, "'<f16'" },
		{ "<c8", 8, "'<c8'" }, { "<c16", 16, "'<c16'" },
		{ "<c32", 32, "'<c32'" }, { "|S7", 7, "'|S7'" },
		{ "S0", 0, "'|S0'" }, { "S", 0, "'|S0'" },
		{ ">S3", 3, "'|S3'" }, { "<U3", 12, "'<U3'" },
		{ ">U5", 20, "'>U5'" }, { "|V16", 16, "'|V16'" },
		{ "<M8[ns]", 8, "'<M8[ns]'" }, { ">m8[25s]", 8, "'>m8[25s]'" },
		{ "<M8[1D]", 8, "'<M8[D]'" }, { "<M8", 8, "'<M8'" },
		{ "<m8[generic]", 8, "'<m8'" },
		{ "<M8[2147483647ms]", 8, "'<M8[2147483647ms]'" },
		{ "|S2147483647", 2147483647, "'|S2147483647'" },
		{ "<U536870911", 2147483644, "'<U536870911'" },
		{ "'<i4'", 4, "'<i4'" }, { "\"<i4\"", 4, "'<i4'" },
		{ " '<i4' ", 4, "'<i4'" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < BFS_ARRAY_LEN(table); i++)
		expect(table[i].text, table[i].itemsize, table[i].descr);
}

static void structures_are_known(void **state)
{
	static const struct good table[] = {
		{ "[('a', '<i4'), ('b', '<f8')]", 12,
		  "[('a', '<i4'), ('b', '<f8')]" },
		{ "[('a', 'i1'), ('s', 'S7'), ('b', '?'), ('v', 'V4')]", 13,
		  "[('a', '|i1'), ('s', '|S7'), ('b', '|b1'), ('v', '|V4')]" },
		{ "[('p', [('x', '<f4'), ('y', '<f4')]),"
		  " ('m', '<i4', (2, 3))]", 32,
		  "[('p', [('x', '<f4'), ('y', '<f4')]),"
		  " ('m', '<i4', (2, 3))]" },
		{ "[(('title', 'nm'), '<i4')]", 4,
		  "[(('title', 'nm'), '<i4')]" },
		{ "[('q', [('x', '<f4')], (2,))]", 8,
		  "[('q', [('x', '<f4')], (2,))]" },
		{ "[('a', '<i2', 3)]", 6, "[('a', '<i2', (3,))]" },
		{ "[('a', ('<i2', (3,)), (2,))]", 12,
		  "[('a', '<i2', (2, 3))]" },
		{ "[('a', '<i2', ())]", 2, "[('a', '<i2')]" },
		{ "[('a', '<i2', (0, 7))]", 0, "[('a', '<i2', (0, 7))]" },
		{ "[]", 0, "[]" },
		{ "[('a', '<i4'),]", 4, "[('a', '<i4')]" },
		{ "[ ( 'a' ,\n'<i4' ) ]", 4, "[('a', '<i4')]" },
		/* Gaps as a .npy header has them. */
		{ "[('a', '<i4'), ('', '|V4'), ('b', '<f8')]", 16,
		  "[('a', '<i4'), ('', '|V4'), ('b', '<f8')]" },
		{ "[('a', '<i4'), ('', '|V1'), ('', '|V3')]", 8,
		  "[('a', '<i4'), ('', '|V4')]" },
		/* JSON: lists instead of tuples. */
		{ "[[\"a\", \"<i4\"], [\"b\", \"<f8\", [2, 3]]]", 52,
		  "[('a', '<i4'), ('b', '<f8', (2, 3))]" },
		{ "(numpy.record, [('a', '<i4')])", 4, "[('a', '<i4')]" },
		{ "(numpy.record, {'names': ['a'], 'formats': ['<i4'],"
		  " 'offsets': [4], 'itemsize': 12})", 12,
		  "[('', '|V4'), ('a', '<i4'), ('', '|V4')]" },
		{ "[('r', (numpy.record, [('a', '<i4')]))]", 4,
		  "[('r', [('a', '<i4')])]" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < BFS_ARRAY_LEN(table); i++)
		expect(table[i].text, table[i].itemsize, table[i].descr);
}

static void dicts_say_where_fields_are(void **state)
{
	static const struct good table[] = {
		{ "{'names': ['a', 'b'], 'formats': ['<i4', '<f8'],"
		  " 'offsets': [0, 8], 'itemsize': 16, 'aligned': True}", 16,
		  "[('a', '<i4'), ('', '|V4'), ('b', '<f8')]" },
		{ "{'names': ['a'], 'formats': ['<i4'], 'offsets': [2],"
		  " 'titles': ['t'], 'itemsize': 10}", 10,
		  "[('', '|V2'), (('t', 'a'), '<i4'), ('', '|V4')]" },
		{ "{'itemsize': 8, 'aligned': False, 'titles': [None, 't'],"
		  " 'offsets': [0, 4], 'formats': ['<i4', '<i4'],"
		  " 'names': ['a', 'b']}", 8,
		  "[('a', '<i4'), (('t', 'b'), '<i4')]" },
		{ "{'names': ('a', 'b'), 'formats': ('<i2', '<i4')}", 6,
		  "[('a', '<i2'), ('b', '<i4')]" },
		{ "{'names': ['a'], 'formats': [('<i4', (2,))],"
		  " 'offsets': [4]}", 12,
		  "[('', '|V4'), ('a', '<i4', (2,))]" },
		{ "{'names': [], 'formats': [], 'offsets': [],"
		  " 'itemsize': 5}", 5, "[('', '|V5')]" },
		/* 'aligned' reaches into what is nested, not into records. */
		{ "{'names': ['z', 'a', 'b'], 'formats': ['i1',"
		  " [('x', '?'), ('y', '<f8')], '<i4'], 'offsets': [0, 8, 24],"
		  " 'itemsize': 32, 'aligned': True}", 32,
		  "[('z', '|i1'), ('', '|V7'), ('a', [('x', '|b1'),"
		  " ('', '|V7'), ('y', '<f8')]), ('b', '<i4'), ('', '|V4')]" },
		{ "{'names': ['a', 'b'], 'formats': [([('x', '<i4'),"
		  " ('y', '|u1')], (2,)), '|u1'], 'aligned': True}", 20,
		  "[('a', [('x', '<i4'), ('y', '|u1'), ('', '|V3')], (2,)),"
		  " ('b', '|u1'), ('', '|V3')]" },
		{ "{'names': ['z', 'a'], 'formats': ['i1',"
		  " (numpy.record, [('x', '?'), ('y', '<f8')])],"
		  " 'aligned': True}", 10,
		  "[('z', '|i1'), ('a', [('x', '|b1'), ('y', '<f8')])]" },
		{ "{'aligned': True, 'names': ['a', 'b', 'c', 'd', 'e'],"
		  " 'formats': ['|u1', '<c16', '|S1', '<U1', '<f16']}", 48,
		  "[('a', '|u1'), ('', '|V7'), ('b', '<c16'), ('c', '|S1'),"
		  " ('', '|V3'), ('d', '<U1'), ('e', '<f16')]" },
		{ "[('p', {'names': ['x', 'y'], 'formats': ['?', '<f8'],"
		  " 'aligned': True}), ('q', [('x', '?'), ('y', '<f8')])]", 25,
		  "[('p', [('x', '|b1'), ('', '|V7'), ('y', '<f8')]),"
		  " ('q', [('x', '|b1'), ('y', '<f8')])]" },
		/* What a list cannot say. */
		{ "{'names': ['b', 'a'], 'formats': ['<i4', '<f8'],"
		  " 'offsets': [8, 0], 'itemsize': 12}", 12, "'|V12'" },
		{ "{'names': ['a', 'b'], 'formats': ['<i4', '<i4'],"
		  " 'offsets': [0, 3], 'itemsize': 8}", 8, "'|V8'" },
		{ "[('o', {'names': ['a', 'b'], 'formats': ['<i4', '<i4'],"
		  " 'offsets': [0, 0]}, (2,)), ('z', '|u1')]", 9,
		  "[('o', '|V4', (2,)), ('z', '|u1')]" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < BFS_ARRAY_LEN(table); i++)
		expect(table[i].text, table[i].itemsize, table[i].descr);
}

static void names_may_be_any_text(void **state)
{
	static const struct good table[] = {
		{ "[('it\\'s', '|u1')]", 1, "[(\"it's\", '|u1')]" },
		{ "[(\"it's\", '|u1')]", 1, "[(\"it's\", '|u1')]" },
		{ "[('\"', '|u1')]", 1, "[('\"', '|u1')]" },
		{ "[('\\'\"', '|u1')]", 1, "[('\\'\"', '|u1')]" },
		{ "[('a\\nb\\tc\\\\d\\r', '|u1')]", 1,
		  "[('a\\nb\\tc\\\\d\\r', '|u1')]" },
		{ "[('\\x07\\a\\b\\f\\v', '|u1')]", 1,
		  "[('\\x07\\x07\\x08\\x0c\\x0b', '|u1')]" },
		{ "[('\\101\\60\\377', '|u1')]", 1,
		  "[('A0\xc3\xbf', '|u1')]" },
		{ "[('\\xe9\\u4e2d\\U0001f600', '|u1')]", 1,
		  "[('\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80', '|u1')]" },
		{ "[('\xc3\xa9', '|u1')]", 1, "[('\xc3\xa9', '|u1')]" },
		{ "[(\"\\ud83d\\ude00\\/\", '|u1')]", 1,
		  "[('\xf0\x9f\x98\x80/', '|u1')]" },
		{ "[('\\q', '|u1')]", 1, "[('\\\\q', '|u1')]" },
		{ "[('\\x7f\\xa0\\xad\\u200b\\ue000\\U000e0001', '|u1')]", 1,
		  "[('\\x7f\\xa0\\xad\\u200b\\ue000\\U000e0001', '|u1')]" },
		{ "[('', '|u1')]", 1, "[('', '|u1')]" },
		{ "[('[(', '|u1'), (')]', '|u1')]", 2,
		  "[('[(', '|u1'), (')]', '|u1')]" },
	};
	struct bfs_dtype type;
	char *text;
	bool wide;
	size_t i;

	(void)state;
	for (i = 0; i < BFS_ARRAY_LEN(table); i++)
		expect(table[i].text, table[i].itemsize, table[i].descr);
	assert_int_equal(parse("[('\xc3\xbf\\u200b', '|u1')]", &type), BFS_OK);
	assert_string_equal(type.fields[0].name, "\xc3\xbf\xe2\x80\x8b");
	assert_int_equal(bfs_dtype_descr(&type, &text, &wide), BFS_OK);
	assert_false(wide);
	bfs_free(text);
	bfs_dtype_release(&type);
	assert_int_equal(parse("[('\xc4\x80', '|u1')]", &type), BFS_OK);
	assert_int_equal(bfs_dtype_descr(&type, &text, &wide), BFS_OK);
	assert_true(wide);
	bfs_free(text);
	bfs_dtype_release(&type);
}

static void subarray_alone_keeps_its_dims(void **state)
{
	struct bfs_dtype type;

	(void)state;
	expect("('<i4', (2,))", 8, "'<i4'");
	expect("('<i4', 3)", 12, "'<i4'");
	expect("(('<i4', (2,)), (3,))", 24, "'<i4'");
	assert_int_equal(parse("(('<i4', (2, 5)), (3,))", &type), BFS_OK);
	assert_int_equal(type.n_dims, 3);
	assert_int_equal(type.dims[0], 3);
	assert_int_equal(type.dims[1], 2);
	assert_int_equal(type.dims[2], 5);
	assert_int_equal(type.unit_size, 4);
	assert_int_equal(type.itemsize, 120);
	bfs_dtype_release(&type);
}

static void parsed_fields_are_all_there(void **state)
{
	struct bfs_dtype type;

	(void)state;
	assert_int_equal(parse("[(('t', 'n'), '>M8[5us]', (2,)),"
			       " ('s', [('x', '<U2')])]", &type), BFS_OK);
	assert_int_equal(type.kind, 'T');
	assert_int_equal(type.n_fields, 2);
	assert_string_equal(type.fields[0].name, "n");
	assert_string_equal(type.fields[0].title, "t");
	assert_int_equal(type.fields[0].off, 0);
	assert_int_equal(type.fields[0].type.kind, 'M');
	assert_int_equal(type.fields[0].type.order, '>');
	assert_string_equal(type.fields[0].type.unit, "[5us]");
	assert_int_equal(type.fields[0].type.n_dims, 1);
	assert_string_equal(type.fields[1].name, "s");
	assert_null(type.fields[1].title);
	assert_int_equal(type.fields[1].off, 16);
	assert_int_equal(type.fields[1].type.kind, 'T');
	assert_int_equal(type.fields[1].type.fields[0].type.itemsize, 8);
	bfs_dtype_release(&type);
}

static void expect_refusal(const char *text, enum bfs_err err)
{
	uint64_t before = bfs_mem_used();
	struct bfs_dtype type;
	enum bfs_err got;

	memset(&type, 0x5a, sizeof(type));
	got = parse(text, &type);
	if (got != err)
		fail_msg("%s gives %s", text, bfs_err_name(got));
	assert_int_equal(type.kind, 0x5a);
	assert_int_equal(bfs_mem_used(), before);
}

static void what_is_no_dtype_is_refused(void **state)
{
	static const char *const table[] = {
		"", " ", ">int32", "Float64", "u", "i3", "i16", "f1",
		"f10", "c4", "M8[", "M8[]", "M8[x]", "M8[ns", "M8ns]",
		"M8[0s]", "M8[-1s]", "M8[s/3]", "M8[10]", "M4[s]", "M[s]",
		"<", "<<i4", "<i4 ", " <i4", "< i4", "i4x", "2i4", "i4,i4",
		"|O", "O8", "O", "'|O'", "[('a', '|O'), ('b', '<i4')]",
		"object", "object_", "c1", "d8", "B1", "datetime64[]",
		"float 32", "<i-4", "<S-1", "'", "'<i4", "'<i4\"",
		"''", "'<i4'x", "'<i4' '<i4'", "b'<i4'", "[", "]", "[]]",
		"[(", "[()]", "[('a')]", "[('a',)]", "[('a', )]",
		"[('a' '<i4')]", "[('a', '<i4']", "[('a', '<i4')",
		"[('a', '<i4'))]", "[('a', '<i4'] ", "[['a', '<i4')]",
		"['a', '<i4']", "['<i4']", "[('a', '<i4') ('b', '<i4')]",
		"[,]", "[(1, '<i4')]", "[(None, '<i4')]", "[('a', i4)]",
		"[('a', '<i4', -1)]", "[('a', '<i4', (-1,))]",
		"[('a', '<i4', (1.5,))]", "[('a', '<i4', (2,)]",
		"[('a', '<i4', (2 3))]", "[('a', '<i4', 'x')]",
		"[('a', '<i4', 2, 3)]", "[(('t',), '<i4')]",
		"[(('t', 'n', 'x'), '<i4')]", "[(('t' 'n'), '<i4')]",
		"[(('t', None), '<i4')]", "[('a', '<i4'), ('a', '<i4')]",
		"[(('a', 'a'), '<i4')]", "[(('a', 'b'), '<i4'), ('a', '|u1')]",
		"()", "(", "('<i4'", "('<i4',", "('<i4', (2,)", "('<i4', x)",
		"(numpy.record)", "(numpy.record,)", "(numpy.record, '<i4')",
		"(numpy.void, [('a', '<i4')])", "numpy.record",
		"{}", "{", "{'names'", "{'names':", "{'names': ['a']}",
		"{'formats': ['<i4']}", "{'names': ['a'], 'formats': []}",
		"{'names': ['a', 'b'], 'formats': ['<i4']}",
		"{'names': ['a'], 'formats': ['<i4', '<i4']}",
		"{'names': ['a'], 'formats': ['<i4'], 'offsets': []}",
		"{'names': ['a'], 'formats': ['<i4'], 'offsets': ['x']}",
		"{'names': ['a'], 'formats': ['<i4'], 'offsets': [-1]}",
		"{'names': ['a'], 'formats': ['<i4'], 'titles': [1]}",
		"{'names': ['a'], 'formats': ['<i4'], 'x': [1]}",
		"{'names': ['a'], 'formats': ['<i4'], 'aligned': 1}",
		("{'names': ['a'], 'formats': ['<i4'], 'itemsize': 4,"
		 " 'itemsize': 4}"),
		"{'names': ['a'], 'names': ['a'], 'formats': ['<i4']}",
		"{'names': 'a', 'formats': ['<i4']}",
		"{'names': ['a'] 'formats': ['<i4']}",
		"{'names': ['a', 'a'], 'formats': ['<i4', '<i4']}",
		"{'a': ('<i4', 0)}",
		"[('\\", "[('\\'", "[('\\x4', '<i4')]", "[('\\x', '<i4')]",
		"[('\\u12', '<i4')]", "[('\\U00110000', '<i4')]",
		"[('\\ud800', '<i4')]", "[('\\udc00', '<i4')]",
		"[('\\ud800\\u0041', '<i4')]", "[('\\0', '<i4')]",
		"[('\\x00', '<i4')]", "[('\\N{DASH}', '<i4')]",
		"[('\\8', '<i4')]", "[('\\\n', '<i4')]", "[('a\nb', '<i4')]",
		"[('\xff', '<i4')]", "[('\xed\xa0\x80', '<i4')]",
		"__import__('os')", "[('a', __import__('os'))]",
	};
	struct bfs_dtype type;
	size_t i;

	(void)state;
	for (i = 0; i < BFS_ARRAY_LEN(table); i++)
		expect_refusal(table[i], BFS_ERR_UNSUPPORTED);
	/* A NUL is no end. */
	assert_int_equal(bfs_dtype_parse("<i4\0", 4, &type, NULL),
			 BFS_ERR_UNSUPPORTED);
	assert_int_equal(bfs_dtype_parse("\0", 1, &type, NULL),
			 BFS_ERR_UNSUPPORTED);
	assert_int_equal(bfs_dtype_parse("[\0]", 3, &type, NULL),
			 BFS_ERR_UNSUPPORTED);
	assert_int_equal(bfs_dtype_parse("(numpy.record,\0", 15, &type, NULL),
			 BFS_ERR_UNSUPPORTED);
	assert_int_equal(bfs_dtype_parse(NULL, 0, &type, NULL),
			 BFS_ERR_UNSUPPORTED);
}

static void what_breaks_the_limits_is_corrupt(void **state)
{
	static const char *const table[] = {
		"|S2147483648", "|S99999999999999999999999", "<U536870912",
		"[('a', '|S2147483647'), ('b', '|u1')]",
		"[('a', '|S65536', (65536,))]", "('<i4', 2147483648)",
		"('<i4', (0, 2147483648))",
		"('|u1', (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1))",
		"(('|u1', (1,1,1,1,1,1,1,1)), (1,1,1,1,1,1,1,1,1))",
		"{'names': ['a'], 'formats': ['<i4'], 'offsets': [2],"
		" 'itemsize': 5}",
		"{'names': ['a'], 'formats': ['<i4'],"
		" 'offsets': [2147483647]}",
		"{'names': ['a'], 'formats': ['<i4'], 'offsets':"
		" [18446744073709551615]}",
	};
	size_t i;

	(void)state;
	for (i = 0; i < BFS_ARRAY_LEN(table); i++)
		expect_refusal(table[i], BFS_ERR_CORRUPT);
}

/* [('a', [('a', ... '<i4')])], `depth` types one in another. */
static char *nest(unsigned depth)
{
	char *text = malloc(depth * 16 + 16);
	unsigned i;

	assert_non_null(text);
	text[0] = '\0';
	for (i = 1; i < depth; i++)
		strcat(text, "[('a', ");
	strcat(text, "'<i4'");
	for (i = 1; i < depth; i++)
		strcat(text, ")]");
	return text;
}

static void depth_is_bounded(void **state)
{
	struct bfs_dtype type;
	char *text = nest(BFS_DTYPE_DEPTH), *hostile;

	(void)state;
	assert_int_equal(parse(text, &type), BFS_OK);
	bfs_dtype_release(&type);
	free(text);
	text = nest(BFS_DTYPE_DEPTH + 1);
	expect_refusal(text, BFS_ERR_CORRUPT);
	free(text);
	hostile = malloc(1000001);
	assert_non_null(hostile);
	memset(hostile, '(', 1000000);
	hostile[1000000] = '\0';
	expect_refusal(hostile, BFS_ERR_CORRUPT);
	free(hostile);
}

/* Aligned dicts and records in turn, which would double the work each time. */
static void reading_again_is_bounded(void **state)
{
	char *text = malloc(100000), *at = text;
	unsigned depth, i;
	struct bfs_dtype type;

	(void)state;
	assert_non_null(text);
	for (depth = 1; depth <= 8; depth++) {
		at = text;
		for (i = 0; i < depth; i++)
			at += sprintf(at, "(numpy.record, {'names': ['a'],"
				      " 'formats': [");
		at += sprintf(at, "%*s'<i4'", 40000, "");
		for (i = 0; i < depth; i++)
			at += sprintf(at, "], 'aligned': True})");
		if (depth > 5) {
			expect_refusal(text, BFS_ERR_CORRUPT);
			continue;
		}
		assert_int_equal(parse(text, &type), BFS_OK);
		bfs_dtype_release(&type);
	}
	free(text);
}

static void number_of_fields_is_bounded(void **state)
{
	char *text = malloc(32 * (BFS_DTYPE_FIELDS + 2)), *at;
	struct bfs_dtype type;
	unsigned n, i;

	(void)state;
	assert_non_null(text);
	for (n = BFS_DTYPE_FIELDS; n <= BFS_DTYPE_FIELDS + 1; n++) {
		at = text;
		*at++ = '[';
		for (i = 0; i < n; i++)
			at += sprintf(at, "('f%u', '|u1'), ", i);
		strcpy(at, "]");
		if (n > BFS_DTYPE_FIELDS) {
			expect_refusal(text, BFS_ERR_CORRUPT);
			continue;
		}
		assert_int_equal(parse(text, &type), BFS_OK);
		assert_int_equal(type.n_fields, n);
		bfs_dtype_release(&type);
	}
	/* Across the levels too: two structures of half as many and one. */
	at = text;
	*at++ = '[';
	for (n = 0; n < 2; n++) {
		at += sprintf(at, "('s%u', [", n);
		for (i = 0; i < BFS_DTYPE_FIELDS / 2; i++)
			at += sprintf(at, "('f%u', '|u1'), ", i);
		at += sprintf(at, "]), ");
	}
	strcpy(at, "]");
	expect_refusal(text, BFS_ERR_CORRUPT);
	free(text);
}

static void check_header(const uint8_t *header, size_t len, unsigned major,
			 const char *want)
{
	size_t head = major == 1 ? 10 : 12, text_len, n = strlen(want);

	assert_int_equal(len % 64, 0);
	assert_memory_equal(header, "\x93NUMPY", 6);
	assert_int_equal(header[6], major);
	assert_int_equal(header[7], 0);
	text_len = header[8] | (size_t)header[9] << 8;
	if (major > 1)
		text_len |= (size_t)header[10] << 16 | (size_t)header[11] << 24;
	assert_int_equal(head + text_len, len);
	assert_true(n < text_len);
	assert_memory_equal(header + head, want, n);
	for (n += head; n < len - 1; n++)
		assert_int_equal(header[n], ' ');
	assert_int_equal(header[len - 1], '\n');
}

static void expect_npy(const char *dtype, uint64_t typesize, unsigned n_dims,
		       const uint64_t *shape, bool fortran, unsigned major,
		       size_t len, const char *want)
{
	uint64_t before = bfs_mem_used();
	uint8_t *header;
	size_t got;

	assert_int_equal(bfs_npy_header(dtype, dtype ? strlen(dtype) : 0,
					typesize, n_dims, shape, fortran,
					&header, &got, NULL), BFS_OK);
	assert_int_equal(got, len);
	check_header(header, got, major, want);
	bfs_free(header);
	assert_int_equal(bfs_mem_used(), before);
}

/* Lengths are those that NumPy 1.24 gives, its room for growth included. */
static void header_is_the_one_numpy_writes(void **state)
{
	static const uint64_t ones[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		1, 1, 1, 1 };
	uint64_t shape[] = { 5, 7 };

	(void)state;
	expect_npy("<i4", 4, 2, shape, false, 1, 128,
		   "{'descr': '<i4', 'fortran_order': False,"
		   " 'shape': (5, 7), }");
	expect_npy("<i4", 4, 0, NULL, false, 1, 128,
		   "{'descr': '<i4', 'fortran_order': False, 'shape': (), }");
	expect_npy("<f8", 8, 1, shape, false, 1, 128,
		   "{'descr': '<f8', 'fortran_order': False,"
		   " 'shape': (5,), }");
	expect_npy("<f8", 8, 16, ones, false, 1, 192,
		   "{'descr': '<f8', 'fortran_order': False, 'shape': "
		   "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), }");
	expect_npy(">f8", 8, 2, shape, true, 1, 128,
		   "{'descr': '>f8', 'fortran_order': True,"
		   " 'shape': (5, 7), }");
	expect_npy("[('a', 'i1'), ('b', '<f8')]", 9, 1, shape, false, 1, 128,
		   "{'descr': [('a', '|i1'), ('b', '<f8')],"
		   " 'fortran_order': False, 'shape': (5,), }");
}

static void header_says_bytes_where_no_dtype_fits(void **state)
{
	static const char *const unfit[] = { NULL, "", "Int32", "|u1",
		"[('a', '<i4'), ('b', '<i4')]", "|S99999999999",
		"{'names': ['b', 'a'], 'formats': ['<i2', '<i2'],"
		" 'offsets': [2, 0]}" };
	uint64_t shape[] = { 5, 7 };
	size_t i;

	(void)state;
	for (i = 0; i < BFS_ARRAY_LEN(unfit); i++)
		expect_npy(unfit[i], 4, 2, shape, false, 1, 128,
			   "{'descr': '|V4', 'fortran_order': False,"
			   " 'shape': (5, 7), }");
}

static void header_appends_the_dims_of_a_subarray(void **state)
{
	uint64_t shape[] = { 5, 7 };

	(void)state;
	expect_npy("('<i4', (2, 3))", 24, 2, shape, false, 1, 128,
		   "{'descr': '<i4', 'fortran_order': False,"
		   " 'shape': (5, 7, 2, 3), }");
	expect_npy("('<i4', (2,))", 8, 0, NULL, false, 1, 128,
		   "{'descr': '<i4', 'fortran_order': False,"
		   " 'shape': (2,), }");
	/* In order F they would be the slowest; one dimension is C anyway. */
	expect_npy("('<i4', (2,))", 8, 2, shape, true, 1, 128,
		   "{'descr': '|V8', 'fortran_order': True,"
		   " 'shape': (5, 7), }");
	expect_npy("('<i4', (2,))", 8, 1, shape, true, 1, 128,
		   "{'descr': '<i4', 'fortran_order': False,"
		   " 'shape': (5, 2), }");
}

static void header_has_the_version_it_needs(void **state)
{
	char *text = malloc(32 * BFS_DTYPE_FIELDS), *at = text, *want;
	uint64_t shape[] = { 5 };
	size_t len;
	unsigned i;

	(void)state;
	/* Latin-1 in version 1. */
	expect_npy("[('\xc3\xa9', '<i4')]", 4, 1, shape, false, 1, 128,
		   "{'descr': [('\xe9', '<i4')], 'fortran_order': False,"
		   " 'shape': (5,), }");
	expect_npy("[('\xe4\xb8\xad', '<i4')]", 4, 1, shape, false, 3, 128,
		   "{'descr': [('\xe4\xb8\xad', '<i4')],"
		   " 'fortran_order': False, 'shape': (5,), }");
	assert_non_null(text);
	*at++ = '[';
	for (i = 0; i < 4000; i++)
		at += sprintf(at, "%s('field%u', '<i4')", i ? ", " : "", i);
	strcpy(at, "]");
	len = strlen(text) + 100;
	want = malloc(len);
	assert_non_null(want);
	snprintf(want, len, "{'descr': %s, 'fortran_order': False,"
		 " 'shape': (5,), }", text);
	len = strlen(want);
	expect_npy(text, 16000, 1, shape, false, 2,
		   (12 + len + 20 + 1) / 64 * 64 + 64, want);
	free(want);
	free(text);
}

static void header_is_refused_where_there_is_none(void **state)
{
	static const char *const objects[] = { "|O", "O8", "[('a', 'O')]",
		"[('s', [('a', '<i4'), ('b', '|O', (2,))])]" };
	uint64_t shape[17] = { 1 };
	struct bfs_diag diag;
	uint8_t *header = NULL;
	size_t len = 77, i;
	bool has = true;

	(void)state;
	for (i = 0; i < BFS_ARRAY_LEN(objects); i++) {
		memset(&diag, 0, sizeof(diag));
		assert_int_equal(bfs_npy_header(objects[i], strlen(objects[i]),
						8, 1, shape, false, &header,
						&len, &diag),
				 BFS_ERR_UNSUPPORTED);
		assert_int_equal(diag.err, BFS_ERR_UNSUPPORTED);
		assert_non_null(strstr(diag.text, "objects"));
	}
	assert_int_equal(bfs_npy_header("|S0", 3, 0, 1, shape, false, &header,
					&len, &diag), BFS_ERR_UNSUPPORTED);
	assert_int_equal(bfs_npy_header(NULL, 0, 0, 1, shape, false, &header,
					&len, NULL), BFS_ERR_UNSUPPORTED);
	assert_int_equal(bfs_npy_header("<i4", 3, 4, 17, shape, false, &header,
					&len, NULL), BFS_ERR_INVALID);
	assert_null(header);
	assert_int_equal(len, 77);
	assert_int_equal(bfs_dtype_has_object("('O", 3, &has), BFS_OK);
	assert_false(has);
}

static const char *const seeds[] = {
	"[('p', [('x', '<f4'), ('y', '<f4')]), ('m', '<i4', (2, 3))]",
	("{'names': ['a', 'b'], 'formats': ['<i4', '<f8'], 'offsets':"
	 " [0, 8], 'titles': ['t', None], 'itemsize': 16, 'aligned': True}"),
	"(numpy.record, [(('t', 'n'), '<M8[25s]'), ('\\u4e2d', '|V3')])",
	"[[\"a\", \"<U4\"], [\"b\", [[\"c\", \"|S3\"]], [2]]]",
	"(('<c16', (2, 1)), 3)",
};

static void mutated_texts_do_no_harm(void **state)
{
	static const char letters[] = "[](){}',\"\\:0129x<>|iufSUVMO \xc3\xa9";
	uint64_t before = bfs_mem_used();
	struct bfs_dtype type, again;
	unsigned i, n_good = 0, k;
	char *text, *descr;
	bool wide;

	(void)state;
	srand(3);
	for (i = 0; i < 40000; i++) {
		text = strdup(seeds[i % BFS_ARRAY_LEN(seeds)]);
		assert_non_null(text);
		for (k = (unsigned)rand() % 3; k < 3; k++)
			text[(size_t)rand() % strlen(text)] =
				letters[(size_t)rand() % (sizeof(letters) - 1)];
		if (parse(text, &type) == BFS_OK) {
			n_good++;
			assert_int_equal(bfs_dtype_descr(&type, &descr, &wide),
					 BFS_OK);
			/* What we write is a dtype of the same size. */
			assert_int_equal(parse(descr, &again), BFS_OK);
			assert_int_equal(again.itemsize, type.unit_size);
			bfs_dtype_release(&again);
			bfs_dtype_release(&type);
			bfs_free(descr);
		}
		free(text);
	}
	assert_true(n_good > 1000);
	assert_int_equal(bfs_mem_used(), before);
}

static void failed_allocation_is_told_and_leaks_nothing(void **state)
{
	uint64_t before = bfs_mem_used(), shape[] = { 5 };
	enum bfs_err err;
	uint8_t *header;
	size_t len, i;
	unsigned n;

	(void)state;
	for (i = 0; i < BFS_ARRAY_LEN(seeds); i++) {
		static const unsigned sizes[] = { 32, 16, 11, 22, 96 };
		char bytes[16];

		/* Lack of memory is no reason to say plain bytes. */
		snprintf(bytes, sizeof(bytes), "|V%u", sizes[i]);
		err = BFS_ERR_NOMEM;
		for (n = 1; err == BFS_ERR_NOMEM; n++) {
			assert_true(n < 100);
			bfs_mem_fail_at(n);
			err = bfs_npy_header(seeds[i], strlen(seeds[i]),
					     sizes[i], 1, shape, false,
					     &header, &len, NULL);
			bfs_mem_fail_at(0);
			if (err == BFS_OK) {
				assert_null(memmem(header, len, bytes,
						   strlen(bytes)));
				bfs_free(header);
			}
			assert_int_equal(bfs_mem_used(), before);
		}
		assert_int_equal(err, BFS_OK);
		assert_true(n > 4);
		/* Objects are found by a second look. */
		err = BFS_ERR_NOMEM;
		for (n = 1; err == BFS_ERR_NOMEM; n++) {
			bfs_mem_fail_at(n);
			err = bfs_npy_header("[('a', 'O')]", 12, 8, 1, shape,
					     false, &header, &len, NULL);
			bfs_mem_fail_at(0);
			assert_int_equal(bfs_mem_used(), before);
		}
		assert_int_equal(err, BFS_ERR_UNSUPPORTED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(simple_types_are_known),
		cmocka_unit_test(structures_are_known),
		cmocka_unit_test(dicts_say_where_fields_are),
		cmocka_unit_test(names_may_be_any_text),
		cmocka_unit_test(subarray_alone_keeps_its_dims),
		cmocka_unit_test(parsed_fields_are_all_there),
		cmocka_unit_test(what_is_no_dtype_is_refused),
		cmocka_unit_test(what_breaks_the_limits_is_corrupt),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(reading_again_is_bounded),
		cmocka_unit_test(number_of_fields_is_bounded),
		cmocka_unit_test(header_is_the_one_numpy_writes),
		cmocka_unit_test(header_says_bytes_where_no_dtype_fits),
		cmocka_unit_test(header_appends_the_dims_of_a_subarray),
		cmocka_unit_test(header_has_the_version_it_needs),
		cmocka_unit_test(header_is_refused_where_there_is_none),
		cmocka_unit_test(mutated_texts_do_no_harm),
		cmocka_unit_test(failed_allocation_is_told_and_leaks_nothing),
	};

	return cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
