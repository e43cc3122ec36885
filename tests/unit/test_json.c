/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_json.c - what the writer writes, to the byte and as json-c reads it.
 */
#include "text/json.h"
#include "base/mem.h"
#include "support/strictjson.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Reads text strictly; whatever json-c takes must have been taken whole. */
static struct json_object *parse(const char *text, size_t len)
{
	return strict_json(text, len, 128);
}

static void expect_text(struct bfs_json *json, const char *want)
{
	char *text = NULL;
	size_t len = 0;

	assert_int_equal(bfs_json_finish(json, &text, &len), BFS_OK);
	assert_int_equal(strlen(text), len);
	assert_string_equal(text, want);
	json_object_put(parse(text, len));
	bfs_free(text);
	bfs_json_release(json);
}

static void write_all_kinds(struct bfs_json *json)
{
	bfs_json_object(json);
	bfs_json_key(json, "name");
	bfs_json_string(json, "lz4");
	bfs_json_key(json, "shape");
	bfs_json_array_inline(json);
	bfs_json_u64(json, 5);
	bfs_json_u64(json, UINT64_MAX);
	bfs_json_array_end(json);
	bfs_json_key(json, "list");
	bfs_json_array(json);
	bfs_json_i64(json, INT64_MIN);
	bfs_json_bool(json, true);
	bfs_json_bool(json, false);
	bfs_json_null(json);
	bfs_json_object(json);
	bfs_json_object_end(json);
	bfs_json_array(json);
	bfs_json_array_end(json);
	bfs_json_array_end(json);
	bfs_json_key(json, "raw");
	bfs_json_base64(json, "abcd", 4);
	bfs_json_object_end(json);
}

static void text_is_indented_as_promised(void **state)
{
	struct bfs_json json;

	(void)state;
	bfs_json_init(&json, 0);
	write_all_kinds(&json);
	expect_text(&json,
		    "{\n"
		    "  \"name\": \"lz4\",\n"
		    "  \"shape\": [5, 18446744073709551615],\n"
		    "  \"list\": [\n"
		    "    -9223372036854775808,\n"
		    "    true,\n"
		    "    false,\n"
		    "    null,\n"
		    "    {},\n"
		    "    []\n"
		    "  ],\n"
		    "  \"raw\": {\"base64\": \"YWJjZA==\"}\n"
		    "}\n");
}

static void what_is_inline_stays_on_its_line(void **state)
{
	struct bfs_json json;

	(void)state;
	bfs_json_init(&json, 0);
	bfs_json_array_inline(&json);
	bfs_json_object(&json);
	bfs_json_key(&json, "a");
	bfs_json_array(&json);
	bfs_json_u64(&json, 1);
	bfs_json_u64(&json, 2);
	bfs_json_array_end(&json);
	bfs_json_key(&json, "b");
	bfs_json_null(&json);
	bfs_json_object_end(&json);
	bfs_json_array_end(&json);
	expect_text(&json, "[{\"a\": [1, 2], \"b\": null}]\n");
}

static void expect_quoted(const char *bytes, size_t len, const char *want)
{
	struct bfs_json json;

	bfs_json_init(&json, 0);
	bfs_json_string_n(&json, bytes, len);
	expect_text(&json, want);
}

static void strings_are_escaped(void **state)
{
	(void)state;
	expect_quoted("", 0, "\"\"\n");
	expect_quoted("a\"b\\c/d", 7, "\"a\\\"b\\\\c/d\"\n");
	expect_quoted("\b\f\n\r\t\0\x1f\x7f", 8,
		      "\"\\b\\f\\n\\r\\t\\u0000\\u001f\\u007f\"\n");
	/* C1 controls move a terminal's cursor. */
	expect_quoted("\xc2\x9b\xc2\xa0", 4, "\"\\u009b\xc2\xa0\"\n");
	/* Marks of direction turn what follows, others are not seen. */
	expect_quoted("a\xe2\x80\xae\xe2\x81\xa6\xef\xbb\xbf", 10,
		      "\"a\\u202e\\u2066\\ufeff\"\n");
	expect_quoted("\xf3\xa0\x80\x81", 4, "\"\\udb40\\udc01\"\n");
	expect_quoted("\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80", 9,
		      "\"\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\"\n");
}

#define BAD "\xef\xbf\xbd"

static void text_in_ascii_has_units_of_utf16(void **state)
{
	static const char all[] = "a\x7f\xc2\x85\xc3\xbc\xce\xb1\xe2\x82\xac"
				  "\xf0\x9d\x84\x9e\xf4\x8f\xbf\xbf\xff\"\n";
	struct bfs_json json;

	(void)state;
	bfs_json_init(&json, 0);
	json.ascii = true;
	bfs_json_object(&json);
	bfs_json_key(&json, "\xce\xb1");
	bfs_json_string(&json, all);
	bfs_json_object_end(&json);
	expect_text(&json, "{\n  \"\\u03b1\": "
		    "\"a\\u007f\\u0085\\u00fc\\u03b1\\u20ac\\ud834\\udd1e"
		    "\\udbff\\udfff\\ufffd\\\"\\n\"\n}\n");
}

static void bad_utf8_is_replaced(void **state)
{
	(void)state;
	expect_quoted("\xff", 1, "\"" BAD "\"\n");
	expect_quoted("a\x80z", 3, "\"a" BAD "z\"\n");
	/* Overlong, surrogate, beyond the last plane: each byte by itself. */
	expect_quoted("\xc0\xaf", 2, "\"" BAD BAD "\"\n");
	expect_quoted("\xe0\x80\xaf", 3, "\"" BAD BAD BAD "\"\n");
	expect_quoted("\xed\xa0\x80", 3, "\"" BAD BAD BAD "\"\n");
	expect_quoted("\xf4\x90\x80\x80", 4, "\"" BAD BAD BAD BAD "\"\n");
	expect_quoted("\xf5\x80", 2, "\"" BAD BAD "\"\n");
	/* A sequence that breaks off is one. */
	expect_quoted("\xe4\xb8", 2, "\"" BAD "\"\n");
	expect_quoted("\xf0\x9f\x98" "A", 4, "\"" BAD "A\"\n");
	expect_quoted("\xf0\x90\x80", 3, "\"" BAD "\"\n");
	expect_quoted("\xc3\xc3\xa9", 3, "\"" BAD "\xc3\xa9\"\n");
	assert_true(bfs_json_is_utf8("\xf4\x8f\xbf\xbf\xed\x9f\xbf", 7));
	assert_true(bfs_json_is_utf8(NULL, 0));
	assert_false(bfs_json_is_utf8("ok\xc3", 3));
}

static void any_bytes_give_valid_json(void **state)
{
	struct bfs_json json;
	struct json_object *obj;
	unsigned i, k;
	char bytes[24], *text;
	size_t len;

	(void)state;
	srand(7);
	for (i = 0; i < 5000; i++) {
		for (k = 0; k < sizeof(bytes); k++)
			bytes[k] = (char)(rand() & (i % 2 ? 0xff : 0xf7));
		bfs_json_init(&json, 0);
		bfs_json_object(&json);
		bfs_json_key_n(&json, bytes, 1 + i % 20);
		bfs_json_string_n(&json, bytes, i % sizeof(bytes));
		bfs_json_object_end(&json);
		assert_int_equal(bfs_json_finish(&json, &text, &len), BFS_OK);
		assert_true(bfs_json_is_utf8(text, len));
		obj = parse(text, len);
		assert_int_equal(json_object_object_length(obj), 1);
		json_object_put(obj);
		bfs_free(text);
	}
}

static void expect_double(double v, const char *want)
{
	struct bfs_json json;

	bfs_json_init(&json, 0);
	bfs_json_double(&json, v);
	expect_text(&json, want);
}

static void doubles_are_short_and_come_back(void **state)
{
	(void)state;
	expect_double(0.0, "0.0\n");
	expect_double(-0.0, "-0.0\n");
	expect_double(3.0, "3.0\n");
	expect_double(0.1, "0.1\n");
	expect_double(1.0 / 3, "0.3333333333333333\n");
	expect_double(1e300, "1e+300\n");
	expect_double(DBL_MAX, "1.7976931348623157e+308\n");
	expect_double(DBL_TRUE_MIN, "4.94065645841247e-324\n");
	expect_double(NAN, "\"NaN\"\n");
	expect_double(INFINITY, "\"Infinity\"\n");
	expect_double(-INFINITY, "\"-Infinity\"\n");
}

static void base64_pads_as_it_should(void **state)
{
	static const char *const want[] = { "", "AA==", "AP8=", "AP+A",
		"AP+Afw==" };
	char line[64];
	struct bfs_json json;
	size_t i;

	(void)state;
	for (i = 0; i < 5; i++) {
		bfs_json_init(&json, 0);
		bfs_json_base64(&json, "\0\xff\x80\x7f", i);
		snprintf(line, sizeof(line), "{\"base64\": \"%s\"}\n", want[i]);
		expect_text(&json, line);
	}
}

static void expect_err(struct bfs_json *json, enum bfs_err err)
{
	char *text = NULL;
	size_t len = 99;

	assert_int_equal(json->err, err);
	/* What fails stays failed, and nothing is handed over. */
	bfs_json_null(json);
	assert_int_equal(bfs_json_finish(json, &text, &len), err);
	assert_null(text);
	assert_int_equal(len, 99);
	bfs_json_release(json);
}

static void calls_out_of_order_are_refused(void **state)
{
	struct bfs_json json;
	char *text;
	size_t len;

	(void)state;
	bfs_json_init(&json, 0);
	bfs_json_object(&json);
	bfs_json_u64(&json, 1);
	expect_err(&json, BFS_ERR_INVALID);

	bfs_json_init(&json, 0);
	bfs_json_array(&json);
	bfs_json_key(&json, "a");
	expect_err(&json, BFS_ERR_INVALID);

	bfs_json_init(&json, 0);
	bfs_json_key(&json, "a");
	expect_err(&json, BFS_ERR_INVALID);

	bfs_json_init(&json, 0);
	bfs_json_object(&json);
	bfs_json_key(&json, "a");
	bfs_json_key(&json, "b");
	expect_err(&json, BFS_ERR_INVALID);

	bfs_json_init(&json, 0);
	bfs_json_object(&json);
	bfs_json_key(&json, "a");
	bfs_json_object_end(&json);
	expect_err(&json, BFS_ERR_INVALID);

	bfs_json_init(&json, 0);
	bfs_json_array(&json);
	bfs_json_object_end(&json);
	expect_err(&json, BFS_ERR_INVALID);

	bfs_json_init(&json, 0);
	bfs_json_array_end(&json);
	expect_err(&json, BFS_ERR_INVALID);

	bfs_json_init(&json, 0);
	bfs_json_null(&json);
	bfs_json_null(&json);
	expect_err(&json, BFS_ERR_INVALID);

	bfs_json_init(&json, 0);
	assert_int_equal(bfs_json_finish(&json, &text, &len), BFS_ERR_INVALID);
	bfs_json_release(&json);

	bfs_json_init(&json, 0);
	bfs_json_array(&json);
	assert_int_equal(bfs_json_finish(&json, &text, &len), BFS_ERR_INVALID);
	bfs_json_release(&json);
}

static void depth_is_bounded(void **state)
{
	struct bfs_json json;
	char *text;
	size_t len;
	unsigned i;

	(void)state;
	bfs_json_init(&json, 0);
	for (i = 0; i < BFS_JSON_DEPTH; i++)
		bfs_json_array(&json);
	assert_int_equal(json.err, BFS_OK);
	for (i = 0; i < BFS_JSON_DEPTH; i++)
		bfs_json_array_end(&json);
	assert_int_equal(bfs_json_finish(&json, &text, &len), BFS_OK);
	bfs_free(text);

	bfs_json_init(&json, 0);
	for (i = 0; i <= BFS_JSON_DEPTH; i++)
		bfs_json_array(&json);
	expect_err(&json, BFS_ERR_LIMIT);
}

static void length_is_bounded(void **state)
{
	struct bfs_json json;
	char *text, *big = calloc(1, 1000);
	size_t len;

	(void)state;
	assert_non_null(big);
	/* Quotes, six letters, newline. */
	bfs_json_init(&json, 9);
	bfs_json_string(&json, "abcdef");
	assert_int_equal(bfs_json_finish(&json, &text, &len), BFS_OK);
	assert_int_equal(len, 9);
	bfs_free(text);

	bfs_json_init(&json, 8);
	bfs_json_string(&json, "abcdef");
	assert_int_equal(bfs_json_finish(&json, &text, &len), BFS_ERR_LIMIT);
	bfs_json_release(&json);

	bfs_json_init(&json, 1000);
	bfs_json_base64(&json, big, 1000);
	expect_err(&json, BFS_ERR_LIMIT);
	bfs_json_init(&json, 1000);
	bfs_json_string_n(&json, big, 1000);
	expect_err(&json, BFS_ERR_LIMIT);
	free(big);
}

static void text_ends_in_nul_all_the_way(void **state)
{
	struct bfs_json json;
	unsigned i;

	(void)state;
	bfs_json_init(&json, 0);
	bfs_json_array(&json);
	for (i = 0; i < 500; i++) {
		bfs_json_u64(&json, i);
		assert_int_equal(strlen(json.buf), json.len);
		assert_true(json.len < json.cap);
	}
	bfs_json_release(&json);
}

static void failed_allocation_is_told_and_leaks_nothing(void **state)
{
	uint64_t before = bfs_mem_used();
	struct bfs_json json;
	char *text;
	size_t len;
	unsigned n, i;
	enum bfs_err err = BFS_ERR_NOMEM;

	(void)state;
	for (n = 1; err == BFS_ERR_NOMEM; n++) {
		assert_true(n < 50);
		bfs_json_init(&json, 0);
		bfs_mem_fail_at(n);
		bfs_json_array(&json);
		for (i = 0; i < 100; i++)
			write_all_kinds(&json);
		bfs_json_array_end(&json);
		err = bfs_json_finish(&json, &text, &len);
		bfs_mem_fail_at(0);
		if (err == BFS_OK)
			bfs_free(text);
		bfs_json_release(&json);
		assert_int_equal(bfs_mem_used(), before);
	}
	assert_int_equal(err, BFS_OK);
	assert_true(n > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_indented_as_promised),
		cmocka_unit_test(what_is_inline_stays_on_its_line),
		cmocka_unit_test(strings_are_escaped),
		cmocka_unit_test(text_in_ascii_has_units_of_utf16),
		cmocka_unit_test(bad_utf8_is_replaced),
		cmocka_unit_test(any_bytes_give_valid_json),
		cmocka_unit_test(doubles_are_short_and_come_back),
		cmocka_unit_test(base64_pads_as_it_should),
		cmocka_unit_test(calls_out_of_order_are_refused),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(length_is_bounded),
		cmocka_unit_test(text_ends_in_nul_all_the_way),
		cmocka_unit_test(failed_allocation_is_told_and_leaks_nothing),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
