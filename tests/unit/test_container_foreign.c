/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_container_foreign.c - which attributes.json is N5's, and what a file's
 * name says that it is.
 */
#include "base/bytes.h"
#include "container/foreign.h"
#include "container/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* From a block that ends where the text does. */
static bool is_n5(const char *text, size_t len)
{
	char *copy = malloc(len + 1);
	bool is;

	assert_non_null(copy);
	memcpy(copy + 1, text, len);
	is = bfs_foreign_is_n5(copy + 1, len);
	free(copy);
	return is;
}

static void attributes_of_n5_are_known_by_their_keys(void **state)
{
	static const char *const yes[] = {
		"{\"n5\":\"2.0.0\"}", " {\"a\": {\"b\": [1]}, \"n5\" : \"4\"}",
		"{\"dimensions\":[9],\"blockSize\":[3],\"dataType\":\"u1\"}",
		("{\"x\\\"}\":1,\"dataType\":\"u1\",\"blockSize\":[],"
		 "\"dimensions\":[]}"),
	};
	static const char *const no[] = {
		"", "{", "{}", "[\"n5\"]", "\"n5\":1", "{\"a\":{\"n5\":1}}",
		"{\"a\":\"n5\"}", "{\"n5", "{\"n5\"", "{\"n5\\", "{\"n5x\":1}",
		"{\"dimensions\":[9],\"dataType\":\"u1\"}",
		"{\"a\":[{\"dimensions\":1,\"blockSize\":1,\"dataType\":1}]}",
	};

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(yes); i++)
		if (!is_n5(yes[i], strlen(yes[i])))
			fail_msg("%s is none", yes[i]);
	for (size_t i = 0; i < BFS_ARRAY_LEN(no); i++)
		if (is_n5(no[i], strlen(no[i])))
			fail_msg("%s is one", no[i]);
}

static void any_cut_of_attributes_is_harmless(void **state)
{
	static const char text[] = "{\"a\":{\"b\":\"\\\\\\\"\"},\"n5\":\"2\"}";

	(void)state;
	/* Not before the key is whole. */
	for (size_t len = 0; len < sizeof(text); len++)
		if (is_n5(text, len))
			assert_true(len > (size_t)(strstr(text, "n5") - text) +
					  2);
	assert_true(is_n5(text, sizeof(text) - 1));
}

static void names_claim_the_container_of_their_ending(void **state)
{
	static const struct { const char *name, *format; } cases[] = {
		{ "x.b2nd", "b2frame" }, { "x.b2frame", "b2frame" },
		{ "a.b.blp", "bloscpack" }, { "x.b2z", "b2z" },
		{ "x.blosc", "chunk" }, { "00000000.chunk", "chunk" },
		{ "x.b2nd.txt", NULL }, { "blp", NULL }, { "x.", NULL },
		{ "0.0", NULL }, { "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(cases); i++) {
		const char *got = bfs_claimed_container(cases[i].name);

		if (!cases[i].format)
			assert_null(got);
		else
			assert_string_equal(got, cases[i].format);
	}
	assert_null(bfs_claimed_container(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attributes_of_n5_are_known_by_their_keys),
		cmocka_unit_test(any_cut_of_attributes_is_harmless),
		cmocka_unit_test(names_claim_the_container_of_their_ending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
