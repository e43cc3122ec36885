/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_json_read.c - JSON taken apart: what is a value and what is none,
 * exact numbers, strings, bounds, and json-c's opinion on a mixture.
 */
#include "text/json_read.h"
#include "base/mem.h"

#include <json-c/json.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct bfs_document *read_text(const char *text)
{
	struct bfs_document *doc = NULL;
	struct bfs_diag diag = { .chunk = -1 };
	enum bfs_err err = bfs_json_read(text, strlen(text), &doc, &diag);

	if (err != BFS_OK)
		fail_msg("'%s': %s at %llu", text, diag.text,
			 (unsigned long long)diag.off);
	return doc;
}

static void numbers_are_exact(void **state)
{
	static const struct {
		const char *text;
		enum bfs_value_kind kind;
		int64_t i;
		uint64_t u;
	} cases[] = {
		{ "0", BFS_VALUE_INT, 0, 0 },
		{ "-0", BFS_VALUE_INT, 0, 0 },
		{ " 9223372036854775807 ", BFS_VALUE_INT, INT64_MAX, 0 },
		{ "-9223372036854775808", BFS_VALUE_INT, INT64_MIN, 0 },
		{ "9223372036854775808", BFS_VALUE_UINT, 0,
		  UINT64_C(1) << 63 },
		{ "18446744073709551615", BFS_VALUE_UINT, 0, UINT64_MAX },
		{ "18446744073709551616", BFS_VALUE_DOUBLE, 0, 0 },
		{ "-9223372036854775809", BFS_VALUE_DOUBLE, 0, 0 },
		{ "1.5", BFS_VALUE_DOUBLE, 0, 0 },
		{ "1e3", BFS_VALUE_DOUBLE, 0, 0 },
		{ "-2.25E-2", BFS_VALUE_DOUBLE, 0, 0 },
		{ "NaN", BFS_VALUE_DOUBLE, 0, 0 },
		{ "-Infinity", BFS_VALUE_DOUBLE, 0, 0 },
	};

	(void)state;
	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct bfs_document *doc = read_text(cases[k].text);
		const struct bfs_value *v = bfs_document_root(doc);

		assert_int_equal(v->kind, cases[k].kind);
		if (v->kind == BFS_VALUE_INT)
			assert_true(v->i == cases[k].i);
		else if (v->kind == BFS_VALUE_UINT)
			assert_true(v->u == cases[k].u);
		else if (strcmp(cases[k].text, "NaN"))
			assert_true(v->d == strtod(cases[k].text, NULL));
		else
			assert_true(isnan(v->d));
		bfs_document_free(doc);
	}
}

static void expect_text(const char *text, const char *want, size_t len)
{
	struct bfs_document *doc = read_text(text);
	const struct bfs_value *v = bfs_document_root(doc);

	assert_int_equal(v->kind, BFS_VALUE_STRING);
	assert_int_equal(v->s.len, len);
	assert_memory_equal(v->s.text, want, len + 1);
	bfs_document_free(doc);
}

static void strings_are_decoded(void **state)
{
	(void)state;
	expect_text("\"\"", "", 0);
	expect_text("\"a\\\"b\\\\\\/\\b\\f\\n\\r\\t\"", "a\"b\\/\b\f\n\r\t",
		      10);
	expect_text("\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac",
		      6);
	expect_text("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4);
	expect_text("\"\\u0000\"", "\0", 1);
	/* Halves of pairs, alone and in the wrong order. */
	expect_text("\"\\ud83dx\"", "\xef\xbf\xbdx", 4);
	expect_text("\"\\ude00\\ud83d\"", "\xef\xbf\xbd\xef\xbf\xbd", 6);
	expect_text("\"\\ud83d\\u0041\"", "\xef\xbf\xbd" "A", 4);
	expect_text("\"\xff\"", "\xff", 1);
}

static void the_last_of_equal_keys_counts(void **state)
{
	struct bfs_document *doc = read_text(
		" { \"a\" : 1 , \"b\" : [ ] , \"a\" : { \"c\" : null } } ");
	const struct bfs_value *root = bfs_document_root(doc);

	(void)state;
	assert_int_equal(root->n, 3);
	assert_int_equal(bfs_value_get(root, "a")->kind, BFS_VALUE_OBJECT);
	assert_true(root->first->shadowed);
	assert_int_equal(bfs_value_get(root, "b")->n, 0);
	assert_null(bfs_value_get(root, "c"));
	assert_null(bfs_value_get(NULL, "c"));
	assert_null(bfs_value_at(root, 0));
	bfs_document_free(doc);
}

static void a_value_is_written_without_blanks(void **state)
{
	struct bfs_document *doc = read_text(
		"[\n  [\"a b\\\" \", \"<i4\"],\t[1.50, {\"k\": true}] ]\n");
	size_t len;
	char *text = bfs_value_compact(bfs_document_root(doc), &len);

	(void)state;
	assert_string_equal(text, "[[\"a b\\\" \",\"<i4\"],[1.50,"
				  "{\"k\":true}]]");
	assert_int_equal(len, strlen(text));
	bfs_free(text);
	bfs_document_free(doc);
}

static void what_is_none_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text;
		uint64_t off;
	} cases[] = {
		{ "", 0 }, { " ", 1 }, { "[", 1 }, { "[1", 2 }, { "[1,]", 3 },
		{ "[1 2]", 3 }, { "{\"a\"}", 4 }, { "{\"a\":}", 5 },
		{ "{a:1}", 1 }, { "{\"a\":1,}", 7 }, { "\"a", 2 },
		{ "\"\\x\"", 2 }, { "\"\\u12g4\"", 3 }, { "\"\n\"", 1 },
		{ "01", 2 }, { "-", 1 }, { "1.", 2 }, { "1e", 2 },
		{ "1e+", 3 }, { "+1", 0 }, { ".5", 0 }, { "tru", 0 },
		{ "nul", 0 }, { "nan", 0 }, { "1 x", 2 }, { "[]]", 2 },
		{ "'a'", 0 }, { "/**/1", 0 }, { "}", 0 }, { ",", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bfs_diag diag = { .chunk = -1 };
		struct bfs_document *doc = NULL;

		if (bfs_json_read(cases[i].text, strlen(cases[i].text), &doc,
				  &diag) != BFS_ERR_CORRUPT ||
		    diag.off != cases[i].off || doc)
			fail_msg("'%s': %s at %llu", cases[i].text, diag.text,
				 (unsigned long long)diag.off);
	}
}

static void depth_and_size_are_bounded(void **state)
{
	struct bfs_document *doc = NULL;
	size_t len = 4 << 20;
	char *text = malloc(len);

	(void)state;
	assert_non_null(text);
	memset(text, '[', len);
	assert_int_equal(bfs_json_read(text, len, &doc, NULL),
			 BFS_ERR_LIMIT);
	assert_int_equal(bfs_json_read(text, BFS_JSON_MAX_DEPTH + 1, &doc,
				       NULL), BFS_ERR_LIMIT);
	memset(text + BFS_JSON_MAX_DEPTH, ']', BFS_JSON_MAX_DEPTH);
	assert_int_equal(bfs_json_read(text, 2 * BFS_JSON_MAX_DEPTH, &doc,
				       NULL), BFS_OK);
	bfs_document_free(doc);
	free(text);
}

static void lack_of_memory_is_told(void **state)
{
	static const char text[] = "{\"a\": [1, 2], \"b\": {}, \"a\": 3}";
	enum bfs_err err = BFS_ERR_NOMEM;
	struct bfs_document *doc = NULL;
	uint64_t before = bfs_mem_used(), n;

	(void)state;
	for (n = 1; err == BFS_ERR_NOMEM; n++) {
		bfs_mem_fail_at(n);
		err = bfs_json_read(text, strlen(text), &doc, NULL);
		if (err != BFS_OK)
			assert_int_equal(bfs_mem_used(), before);
	}
	bfs_mem_fail_at(0);
	assert_int_equal(err, BFS_OK);
	assert_true(n > 3);
	bfs_document_free(doc);
	assert_int_equal(bfs_mem_used(), before);
}

static void expect_same(const struct bfs_value *v, struct json_object *want)
{
	const struct bfs_value *item;
	size_t i = 0;

	switch (json_object_get_type(want)) {
	case json_type_null:
		assert_int_equal(v->kind, BFS_VALUE_NULL);
		break;
	case json_type_boolean:
		assert_int_equal(v->kind, BFS_VALUE_BOOL);
		assert_int_equal(v->truth, json_object_get_boolean(want));
		break;
	case json_type_double:
		assert_int_equal(v->kind, BFS_VALUE_DOUBLE);
		assert_true(v->d == json_object_get_double(want));
		break;
	case json_type_int:
		if (v->kind == BFS_VALUE_UINT)
			assert_true(v->u == json_object_get_uint64(want));
		else
			assert_true(v->i == json_object_get_int64(want));
		break;
	case json_type_string:
		assert_int_equal(v->s.len, json_object_get_string_len(want));
		assert_memory_equal(v->s.text, json_object_get_string(want),
				    v->s.len);
		break;
	case json_type_array:
		assert_int_equal(v->n, json_object_array_length(want));
		for (item = v->first; item; item = item->next)
			expect_same(item, json_object_array_get_idx(want,
								    i++));
		break;
	case json_type_object: {
		json_object_object_foreach(want, key, member)
			expect_same(bfs_value_get(v, key), member);
		break;
	}
	}
}

/* Random values, written here and read by both. */
static size_t put_random(char *to, unsigned *seed, unsigned depth)
{
	static const char *const atoms[] = {
		"0", "-17", "18446744073709551615", "9223372036854775807",
		"1.25", "-3e-7", "1E+9", "true", "false", "null", "\"\"",
		"\"\\u00e9\\ud83d\\ude00\\n\"", "\"<i4\"", "\"a\\\\b\\\"\"",
		"[]", "{}", " [ 1 , 2 ] ",
	};
	unsigned kind, n;
	size_t len = 0;

	*seed = *seed * 1103515245 + 12345;
	kind = *seed >> 16 & 3;
	n = *seed >> 20 & 3;
	if (depth == 0 || kind > 1)
		return (size_t)sprintf(to, "%s", atoms[(*seed >> 18) % 17]);
	to[len++] = kind ? '{' : '[';
	for (unsigned i = 0; i < n; i++) {
		len += (size_t)sprintf(to + len, "%s", i ? ", " : "");
		if (kind)
			len += (size_t)sprintf(to + len, "\"k%u\" :",
					       *seed >> 24 & 1);
		len += put_random(to + len, seed, depth - 1);
	}
	to[len++] = kind ? '}' : ']';
	to[len] = '\0';
	return len;
}

static void another_reader_reads_the_same(void **state)
{
	static char text[1 << 16];
	unsigned seed = 20220, n_compared = 0;

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		struct bfs_document *doc;
		struct json_object *want;

		put_random(text, &seed, 6);
		doc = read_text(text);
		want = json_tokener_parse(text);
		expect_same(bfs_document_root(doc), want);
		json_object_put(want);
		bfs_document_free(doc);
		n_compared++;
	}
	assert_int_equal(n_compared, 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_exact),
		cmocka_unit_test(strings_are_decoded),
		cmocka_unit_test(the_last_of_equal_keys_counts),
		cmocka_unit_test(a_value_is_written_without_blanks),
		cmocka_unit_test(what_is_none_is_refused_with_its_place),
		cmocka_unit_test(depth_and_size_are_bounded),
		cmocka_unit_test(lack_of_memory_is_told),
		cmocka_unit_test(another_reader_reads_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
