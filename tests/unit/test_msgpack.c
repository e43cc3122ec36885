/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_msgpack.c - the walk's limits, and JSON that json-c reads back.
 */
#include "text/msgpack.h"
#include "base/mem.h"
#include "support/strictjson.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A byte literal and its length. */
#define B(s) (s), (sizeof(s) - 1)

static const char *const secrets[] = { "auth_token", "urlpath", NULL };

/* Renders, has json-c read it strictly, and returns its compact form. */
static char *render(const void *buf, size_t len, const char *const *redact)
{
	struct json_object *obj;
	struct bfs_json json;
	char *text = NULL, *copy;
	size_t text_len;

	bfs_json_init(&json, 0);
	assert_int_equal(bfs_msgpack_to_json(buf, len, redact, &json), BFS_OK);
	assert_int_equal(bfs_json_finish(&json, &text, &text_len), BFS_OK);
	obj = strict_json(text, text_len, 128);
	copy = strdup(json_object_to_json_string_ext(obj,
		JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	assert_non_null(copy);
	json_object_put(obj);
	bfs_free(text);
	return copy;
}

static void expect(const void *buf, size_t len, const char *want)
{
	char *got = render(buf, len, secrets);

	assert_string_equal(got, want);
	free(got);
}

static void every_type_has_its_json(void **state)
{
	(void)state;
	expect(B("\xc0"), "null");
	expect(B("\xc2"), "false");
	expect(B("\xc3"), "true");
	expect(B("\x00"), "0");
	expect(B("\x7f"), "127");
	expect(B("\xff"), "-1");
	expect(B("\xe0"), "-32");
	expect(B("\xcc\xff"), "255");
	expect(B("\xcd\xff\xfe"), "65534");
	expect(B("\xce\xff\xff\xff\xff"), "4294967295");
	expect(B("\xcf\xff\xff\xff\xff\xff\xff\xff\xff"),
	       "18446744073709551615");
	expect(B("\xd0\x80"), "-128");
	expect(B("\xd1\x80\x00"), "-32768");
	expect(B("\xd2\x80\x00\x00\x00"), "-2147483648");
	expect(B("\xd3\x80\x00\x00\x00\x00\x00\x00\x00"),
	       "-9223372036854775808");
	expect(B("\xd3\x00\x00\x00\x00\x00\x00\x00\x05"), "5");
	expect(B("\xca\x3f\xc0\x00\x00"), "1.5");
	expect(B("\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a"), "0.1");
	expect(B("\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00"), "\"NaN\"");
	expect(B("\xca\xff\x80\x00\x00"), "\"-Infinity\"");
	expect(B("\xa0"), "\"\"");
	expect(B("\xa2hi"), "\"hi\"");
	expect(B("\xd9\x02hi"), "\"hi\"");
	expect(B("\xda\x00\x02hi"), "\"hi\"");
	expect(B("\xdb\x00\x00\x00\x02hi"), "\"hi\"");
	expect(B("\xa2\xffz"), "\"\xef\xbf\xbdz\"");
	expect(B("\xc4\x00"), "{\"base64\":\"\"}");
	expect(B("\xc4\x02hi"), "{\"base64\":\"aGk=\"}");
	expect(B("\xc5\x00\x02hi"), "{\"base64\":\"aGk=\"}");
	expect(B("\xc6\x00\x00\x00\x02hi"), "{\"base64\":\"aGk=\"}");
	expect(B("\x90"), "[]");
	expect(B("\x93\x01\xc0\xa1x"), "[1,null,\"x\"]");
	expect(B("\xdc\x00\x01\x01"), "[1]");
	expect(B("\xdd\x00\x00\x00\x01\x01"), "[1]");
	expect(B("\x80"), "{}");
	expect(B("\x82\xa1z\x01\xa1y\x90"), "{\"z\":1,\"y\":[]}");
	expect(B("\xde\x00\x01\xa1z\x01"), "{\"z\":1}");
	expect(B("\xdf\x00\x00\x00\x01\xa1z\x01"), "{\"z\":1}");
}

static void extensions_have_their_json(void **state)
{
	(void)state;
	expect(B("\xd4\x05\x01"), "{\"ext\":5,\"base64\":\"AQ==\"}");
	expect(B("\xd5\x80zz"), "{\"ext\":-128,\"base64\":\"eno=\"}");
	expect(B("\xd6\xff\x01\x02\x03\x04"),
	       "{\"ext\":-1,\"base64\":\"AQIDBA==\"}");
	expect(B("\xd7\x07zzzzzzzz"),
	       "{\"ext\":7,\"base64\":\"enp6enp6eno=\"}");
	expect(B("\xd8\x07zzzzzzzzzzzzzzzz"),
	       "{\"ext\":7,\"base64\":\"enp6enp6enp6enp6enp6eg==\"}");
	expect(B("\xc7\x00\x07"), "{\"ext\":7,\"base64\":\"\"}");
	expect(B("\xc8\x00\x01\x07z"), "{\"ext\":7,\"base64\":\"eg==\"}");
	expect(B("\xc9\x00\x00\x00\x01\x07z"),
	       "{\"ext\":7,\"base64\":\"eg==\"}");
	/* 42: a whole frame, said by its length. */
	expect(B("\xc7\x03\x2a" "abc"), "{\"cframe\":3}");
	expect(B("\x81\xa1v\xc7\x00\x2a"), "{\"v\":{\"cframe\":0}}");
	/* 43: a map inside, or bytes if it is none. */
	expect(B("\xc7\x06\x2b\x81\xa4kind"),
	       "{\"ext\":43,\"base64\":\"gaRraW5k\"}");
	expect(B("\xc7\x07\x2b\x81\xa4kind\x01"), "{\"kind\":1}");
	expect(B("\xc7\x08\x2b\x81\xa4kind\x01\x01"),
	       "{\"ext\":43,\"base64\":\"gaRraW5kAQE=\"}");
	expect(B("\xd4\x2b\x90"), "{\"ext\":43,\"base64\":\"kA==\"}");
	expect(B("\xd5\x2b\x81\x01"), "{\"ext\":43,\"base64\":\"gQE=\"}");
	expect(B("\xc7\x00\x2b"), "{\"ext\":43,\"base64\":\"\"}");
	expect(B("\xc7\x0b\x2b\x81\xa1" "a\xc7\x05\x2b\x81\xa1" "b\xa1x"),
	       "{\"a\":{\"b\":\"x\"}}");
}

static void tuples_lose_their_mark(void **state)
{
	(void)state;
	expect(B("\x93\xa9__tuple__\x01\x02"), "[1,2]");
	expect(B("\x91\xa9__tuple__"), "[]");
	expect(B("\x92\x01\xa9__tuple__"), "[1,\"__tuple__\"]");
	expect(B("\x92\xaa__tuple___\x01"), "[\"__tuple___\",1]");
}

static void keys_become_text(void **state)
{
	(void)state;
	expect(B("\x81\x07\x01"), "{\"7\":1}");
	expect(B("\x81\xf9\x01"), "{\"-7\":1}");
	expect(B("\x82\xc0\x01\xc3\x02"), "{\"null\":1,\"true\":2}");
	expect(B("\x81\xca\x3f\xc0\x00\x00\x01"), "{\"1.5\":1}");
	expect(B("\x81\xc4\x02hi\x01"),
	       "{\"{\\\"base64\\\": \\\"aGk=\\\"}\":1}");
	expect(B("\x81\xa1\xff\x01"), "{\"\\\"\xef\xbf\xbd\\\"\":1}");
	expect(B("\x81\x93\xa9__tuple__\x01\x02\x03"), "{\"[1, 2]\":3}");
	expect(B("\x81\x81\xa1k\x05\x06"), "{\"{\\\"k\\\": 5}\":6}");
	/* In a key, a key that is no text shows its type alone. */
	expect(B("\x81\x82\x91\x01\x05\x91\x02\x06\x07"),
	       "{\"{\\\"array\\\": 5, \\\"array~2\\\": 6}\":7}");
	expect(B("\x81\xa0\x01"), "{\"\":1}");
}

static void equal_keys_are_numbered(void **state)
{
	(void)state;
	expect(B("\x83\xa1" "a\x01\xa1" "a\x02\xa1" "a\x03"),
	       "{\"a\":1,\"a~2\":2,\"a~3\":3}");
	/* A number that is taken is passed over. */
	expect(B("\x83\xa1" "a\x01\xa3" "a~2\x02\xa1" "a\x03"),
	       "{\"a\":1,\"a~2\":2,\"a~3\":3}");
	expect(B("\x84\xa3" "a~2\x01\xa3" "a~2\x02\xa1" "a\x03\xa1" "a\x04"),
	       "{\"a~2\":1,\"a~2~2\":2,\"a\":3,\"a~3\":4}");
	expect(B("\x82\x01\x05\xa1" "1\x06"), "{\"1\":5,\"1~2\":6}");
	expect(B("\x84\xa0\x01\xa0\x02\xa1" "b\x03\xa1" "b\x04"),
	       "{\"\":1,\"~2\":2,\"b\":3,\"b~2\":4}");
}

static void secrets_are_redacted_at_any_depth(void **state)
{
	char *got;

	(void)state;
	expect(B("\x82\xa7urlpath\x93\xa1" "a\xa1" "b\xa5token\xa1z\x01"),
	       "{\"urlpath\":\"(redacted)\",\"z\":1}");
	expect(B("\x91\x91\x81\xa1m\x81\xaa" "auth_token\xa3key"),
	       "[[{\"m\":{\"auth_token\":\"(redacted)\"}}]]");
	/* As bytes, twice, inside an extension, inside a key. */
	expect(B("\x81\xc4\x07urlpath\x01"),
	       "{\"{\\\"base64\\\": \\\"dXJscGF0aA==\\\"}\":\"(redacted)\"}");
	expect(B("\x82\xa7urlpath\x01\xa7urlpath\x02"),
	       "{\"urlpath\":\"(redacted)\",\"urlpath~2\":\"(redacted)\"}");
	expect(B("\xc7\x0a\x2b\x81\xa7urlpath\x01"),
	       "{\"urlpath\":\"(redacted)\"}");
	expect(B("\x81\x81\xa7urlpath\xa1p\x01"),
	       "{\"{\\\"urlpath\\\": \\\"(redacted)\\\"}\":1}");
	expect(B("\x81\xa8urlpaths\x01"), "{\"urlpaths\":1}");
	got = render(B("\x81\xa7urlpath\x01"), NULL);
	assert_string_equal(got, "{\"urlpath\":1}");
	free(got);
}

static void what_is_not_one_value_is_base64(void **state)
{
	/* b2nd with 16 dimensions: its arrays begin with a0, an empty text. */
	static const char b2nd[] = "\x97\x00\x10\xa0\xd3\0\0\0\0\0\0\0\x01"
				   "\xd3\0\0\0\0\0\0\0\x01";

	(void)state;
	expect("", 0, "{\"base64\":\"\"}");
	expect(NULL, 0, "{\"base64\":\"\"}");
	expect(B("\x01\x02"), "{\"base64\":\"AQI=\"}");
	expect(B("\xc1"), "{\"base64\":\"wQ==\"}");
	expect(B("\x92\x01"), "{\"base64\":\"kgE=\"}");
	expect(B("\x92\x01\xc1"), "{\"base64\":\"kgHB\"}");
	expect(b2nd, sizeof(b2nd) - 1,
	       "{\"base64\":\"lwAQoNMAAAAAAAAAAdMAAAAAAAAAAQ==\"}");
}

static enum bfs_err walk(const void *buf, size_t len, size_t *ret_len)
{
	struct bfs_diag diag = { 0 };
	enum bfs_err err = bfs_msgpack_walk(buf, len, ret_len, &diag);

	assert_int_equal(diag.err, err);
	assert_true(err == BFS_OK || diag.text[0]);
	/* A diagnosis may be left out. */
	assert_int_equal(bfs_msgpack_walk(buf, len, ret_len, NULL), err);
	return err;
}

static void walk_tells_where_a_value_ends(void **state)
{
	size_t len = 0;

	(void)state;
	assert_int_equal(walk(B("\x01zzz"), &len), BFS_OK);
	assert_int_equal(len, 1);
	assert_int_equal(walk(B("\x82\xa1z\x91\xc0\xa1y\xc4\x03" "abcREST"),
			      &len), BFS_OK);
	assert_int_equal(len, 12);
}

/* Every value, cut at every place, from a buffer of exactly that length. */
static void walk_refuses_every_length_beyond_the_end(void **state)
{
	static const struct {
		const char *p;
		size_t len;
	} values[] = {
		{ B("\xcc\x01") }, { B("\xcd\x01\x01") },
		{ B("\xce\x01\x01\x01\x01") },
		{ B("\xcf\x01\x01\x01\x01\x01\x01\x01\x01") },
		{ B("\xd0\x01") }, { B("\xd1\x01\x01") },
		{ B("\xd2\x01\x01\x01\x01") },
		{ B("\xd3\x01\x01\x01\x01\x01\x01\x01\x01") },
		{ B("\xca\x01\x01\x01\x01") },
		{ B("\xcb\x01\x01\x01\x01\x01\x01\x01\x01") },
		{ B("\xa3" "abc") }, { B("\xd9\x03" "abc") },
		{ B("\xda\x00\x03" "abc") }, { B("\xdb\0\0\0\x03" "abc") },
		{ B("\xc4\x03" "abc") }, { B("\xc5\x00\x03" "abc") },
		{ B("\xc6\0\0\0\x03" "abc") },
		{ B("\xc7\x03\x01" "abc") }, { B("\xc8\x00\x03\x01" "abc") },
		{ B("\xc9\0\0\0\x03\x01" "abc") },
		{ B("\xd4\x01" "a") }, { B("\xd5\x01" "ab") },
		{ B("\xd6\x01" "abcd") }, { B("\xd7\x01" "abcdefgh") },
		{ B("\xd8\x01" "abcdefghabcdefgh") },
		{ B("\x92\x01\xa1x") }, { B("\xdc\x00\x02\x01\x02") },
		{ B("\xdd\0\0\0\x02\x01\x02") }, { B("\x81\xa1x\x01") },
		{ B("\xde\x00\x01\xa1x\x01") },
		{ B("\xdf\0\0\0\x01\xa1x\x01") },
	};
	size_t i, len, got;

	(void)state;
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		for (len = 0; len <= values[i].len; len++) {
			char *copy = malloc(len + 1);

			assert_non_null(copy);
			/* At the end of its block, so that a tool sees more. */
			memcpy(copy + 1, values[i].p, len);
			got = 77;
			assert_int_equal(walk(copy + 1, len, &got),
					 len == values[i].len ?
					 BFS_OK : BFS_ERR_TRUNCATED);
			assert_int_equal(got, len == values[i].len ? len : 77);
			free(copy);
		}
	}
}

static void walk_refuses_huge_claims(void **state)
{
	static const struct {
		const char *p;
		size_t len;
	} claims[] = {
		{ B("\xdd\xff\xff\xff\xff\x01") },
		{ B("\xdf\xff\xff\xff\xff\x01\x01") },
		{ B("\xdf\x80\x00\x00\x01\x01\x01") },
		{ B("\xdc\xff\xff\x01") }, { B("\xde\xff\xff\x01") },
		{ B("\xdb\xff\xff\xff\xff" "a") },
		{ B("\xc6\xff\xff\xff\xff" "a") },
		{ B("\xc9\xff\xff\xff\xff\x01" "a") },
	};
	size_t i, len;

	(void)state;
	for (i = 0; i < sizeof(claims) / sizeof(claims[0]); i++)
		assert_int_equal(walk(claims[i].p, claims[i].len, &len),
				 BFS_ERR_TRUNCATED);
	assert_int_equal(walk(B("\xc1"), &len), BFS_ERR_CORRUPT);
	assert_int_equal(walk(NULL, 0, &len), BFS_ERR_TRUNCATED);
}

static void depth_is_bounded(void **state)
{
	static const char heads[] = { (char)0x91, (char)0x81 };
	char buf[3 * BFS_MSGPACK_DEPTH + 8], *got;
	size_t depth, n, i, len;

	(void)state;
	for (i = 0; i < 2; i++)
		for (depth = BFS_MSGPACK_DEPTH - 1;
		     depth <= BFS_MSGPACK_DEPTH + 1; depth++) {
			bool good = depth <= BFS_MSGPACK_DEPTH;

			for (n = 0, len = 0; n < depth; n++) {
				buf[len++] = heads[i];
				if (i)
					buf[len++] = 1;
			}
			buf[len++] = 5;
			assert_int_equal(walk(buf, len, &n), good ?
					 BFS_OK : BFS_ERR_LIMIT);
			/* What the walk takes, msgpack-c takes too. */
			got = render(buf, len, NULL);
			assert_int_equal(strstr(got, "base64") == NULL, good);
			free(got);
		}
}

/* Maps in extensions in maps: every level counts. */
static void depth_is_bounded_through_extensions(void **state)
{
	uint8_t buf[600];
	size_t len, level, off;
	char *got;

	(void)state;
	for (level = 20; level <= 40; level++) {
		/* From the inside: {1: 5}, then ext 43 of {1: that}. */
		off = sizeof(buf);
		buf[--off] = 5;
		buf[--off] = 1;
		buf[--off] = 0x81;
		for (len = 1; len < level; len++) {
			size_t inner = sizeof(buf) - off;

			buf[--off] = 43;
			buf[--off] = (uint8_t)inner;
			buf[--off] = (uint8_t)(inner >> 8);
			buf[--off] = 0xc8;
			buf[--off] = 1;
			buf[--off] = 0x81;
		}
		got = render(buf + off, sizeof(buf) - off, NULL);
		assert_int_equal(strstr(got, "base64") == NULL,
				 level <= BFS_MSGPACK_DEPTH);
		free(got);
	}
}

static void number_of_values_is_bounded(void **state)
{
	size_t n = BFS_MSGPACK_NODES, len;
	uint8_t *buf = malloc(n + 16);
	char *got;

	(void)state;
	assert_non_null(buf);
	memset(buf, 0xc0, n + 16);
	buf[0] = 0xdd;
	buf[1] = 0;
	buf[2] = (uint8_t)((n - 1) >> 16);
	buf[3] = (uint8_t)((n - 1) >> 8);
	buf[4] = (uint8_t)(n - 1);
	assert_int_equal(walk(buf, n + 4, &len), BFS_OK);
	assert_int_equal(len, n + 4);
	buf[4]++;
	assert_int_equal(walk(buf, n + 5, &len), BFS_ERR_LIMIT);
	got = render(buf, n + 5, NULL);
	assert_memory_equal(got, "{\"base64\":", 10);
	free(got);
	free(buf);
}

/* Values in extensions share the limit of the whole. */
static void number_of_values_is_bounded_in_extensions(void **state)
{
	size_t half = BFS_MSGPACK_NODES / 2 + 10, at = 0, i, k;
	uint8_t *buf = malloc(2 * half + 64);
	char *got, *found;
	unsigned n = 0;

	(void)state;
	assert_non_null(buf);
	buf[at++] = 0x92;
	for (i = 0; i < 2; i++) {
		/* ext 43 of {1: [nil, ...]} */
		size_t len = half + 7;

		buf[at++] = 0xc9;
		for (k = 4; k-- > 0;)
			buf[at++] = (uint8_t)(len >> (8 * k));
		buf[at++] = 43;
		buf[at++] = 0x81;
		buf[at++] = 1;
		buf[at++] = 0xdd;
		for (k = 4; k-- > 0;)
			buf[at++] = (uint8_t)(half >> (8 * k));
		memset(buf + at, 0xc0, half);
		at += half;
	}
	got = render(buf, at, NULL);
	for (found = got; (found = strstr(found, "base64")); found++)
		n++;
	assert_int_equal(n, 1);
	free(got);
	free(buf);
}

static void caller_learns_of_a_full_text(void **state)
{
	struct bfs_json json;

	(void)state;
	bfs_json_init(&json, 20);
	assert_int_equal(bfs_msgpack_to_json(B("\xd9\x20" "0123456789abcdef"
					       "0123456789abcdef"), NULL,
					     &json), BFS_ERR_LIMIT);
	bfs_json_release(&json);
}

static void value_goes_where_the_caller_is(void **state)
{
	struct bfs_json json;
	char *text;
	size_t len;

	(void)state;
	bfs_json_init(&json, 0);
	bfs_json_object(&json);
	bfs_json_key(&json, "b2embed");
	assert_int_equal(bfs_msgpack_to_json(B("\x81\xa7version\x01"), NULL,
					     &json), BFS_OK);
	bfs_json_key(&json, "bad");
	assert_int_equal(bfs_msgpack_to_json(B("\xc1"), NULL, &json), BFS_OK);
	bfs_json_object_end(&json);
	assert_int_equal(bfs_json_finish(&json, &text, &len), BFS_OK);
	assert_string_equal(text, "{\n  \"b2embed\": {\n    \"version\": 1\n"
			    "  },\n  \"bad\": {\"base64\": \"wQ==\"}\n}\n");
	bfs_free(text);
}

static void failed_allocation_is_told_and_leaks_nothing(void **state)
{
	static const char value[] =
		"\x86\xa1" "a\x01\xa1" "a\x02\x81\xa1k\x05\x03\x93\x01\x02\x03"
		"\xc0\xa1z\xc7\x07\x2b\x81\xa4kind\x01\xa7urlpath\xc0";
	uint64_t before = bfs_mem_used();
	enum bfs_err err = BFS_ERR_NOMEM;
	struct bfs_json json;
	unsigned n;

	(void)state;
	for (n = 1; err == BFS_ERR_NOMEM; n++) {
		assert_true(n < 50);
		bfs_json_init(&json, 0);
		bfs_mem_fail_at(n);
		err = bfs_msgpack_to_json(value, sizeof(value) - 1, secrets,
					  &json);
		bfs_mem_fail_at(0);
		assert_int_equal(json.err, err);
		bfs_json_release(&json);
		assert_int_equal(bfs_mem_used(), before);
	}
	assert_int_equal(err, BFS_OK);
	assert_true(n > 8);
}

static void random_bytes_give_valid_json(void **state)
{
	uint8_t buf[64];
	size_t len, k, got;
	unsigned i, n_whole = 0;

	(void)state;
	srand(11);
	for (i = 0; i < 20000; i++) {
		len = (size_t)rand() % sizeof(buf);
		for (k = 0; k < len; k++)
			buf[k] = (uint8_t)(rand() % 4 ? rand() % 3 + 0x80 +
					   rand() % 2 * 0x10 : rand());
		if (bfs_msgpack_walk(buf, len, &got, NULL) == BFS_OK) {
			assert_true(got <= len);
			len = got;
			n_whole++;
		}
		free(render(buf, len, NULL));
	}
	assert_true(n_whole > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_has_its_json),
		cmocka_unit_test(extensions_have_their_json),
		cmocka_unit_test(tuples_lose_their_mark),
		cmocka_unit_test(keys_become_text),
		cmocka_unit_test(equal_keys_are_numbered),
		cmocka_unit_test(secrets_are_redacted_at_any_depth),
		cmocka_unit_test(what_is_not_one_value_is_base64),
		cmocka_unit_test(walk_tells_where_a_value_ends),
		cmocka_unit_test(walk_refuses_every_length_beyond_the_end),
		cmocka_unit_test(walk_refuses_huge_claims),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(depth_is_bounded_through_extensions),
		cmocka_unit_test(number_of_values_is_bounded),
		cmocka_unit_test(number_of_values_is_bounded_in_extensions),
		cmocka_unit_test(caller_learns_of_a_full_text),
		cmocka_unit_test(value_goes_where_the_caller_is),
		cmocka_unit_test(failed_allocation_is_told_and_leaks_nothing),
		cmocka_unit_test(random_bytes_give_valid_json),
	};

	return cmocka_run_group_tests_name("msgpack", tests, NULL, NULL);
}
