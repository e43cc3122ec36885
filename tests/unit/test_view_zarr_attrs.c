/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_view_zarr_attrs.c - metalayers as attributes and names of dimensions of
 * a Zarr array.
 */
#include "zarr_stores.h"

/* The array of (5, 7) with these metalayers of variable length, and one fixed
 * one besides that of the array. */
static struct bfs_file *open_layers(struct build *b,
				    const struct frame_layer *vlmetas,
				    size_t n_vlmetas,
				    const struct frame_layer *fixed)
{
	struct frame_layer metas[2] = {
		{ "b2nd", 4, frames_array_meta, FRAMES_ARRAY_META_LEN } };
	struct frame_input in = { .metas = metas, .n_metas = fixed ? 2 : 1,
		.vlmetas = vlmetas, .n_vlmetas = n_vlmetas,
		.data = frames_pattern, .len = 384, .chunksize = 96,
		.blocksize = 24, .typesize = 4 };
	struct frame_bytes bytes;

	if (fixed)
		metas[1] = *fixed;
	bytes = frames_build(&in);
	*b = (struct build){ .p = bytes.p, .len = bytes.len };
	return open_bytes(b, "x.b2nd");
}

/* All of an object in one line. */
static void expect_object(struct bfs_file *file, const char *path,
			  const char *key, const char *want)
{
	struct json_object *obj = frames_json(file, path), *at = obj;

	if (key)
		assert_true(json_object_object_get_ex(obj, key, &at));
	assert_string_equal(json_object_to_json_string_ext(
			at, JSON_C_TO_STRING_PLAIN |
			    JSON_C_TO_STRING_NOSLASHESCAPE), want);
	json_object_put(obj);
}

#define NO_DIMS "\"_ARRAY_DIMENSIONS\":[\"dim_0\",\"dim_1\"]"

static void metalayers_are_attributes_in_both_versions(void **state)
{
	static const struct frame_layer vlmetas[] = {
		FRAME_LAYER("units", "\xa3m/s"),
		FRAME_LAYER("scale", "\xcb\x3f\xe0\0\0\0\0\0\0"),
		FRAME_LAYER("nested", "\x81\xa1k\x92\x01\xc0"),
		FRAME_LAYER("both", "\xa6second"),
	};
	static const struct frame_layer fixed =
		FRAME_LAYER("both", "\xa5" "first");
	struct build b;
	struct bfs_file *file = open_layers(&b, vlmetas, 4, &fixed);

#define ATTRS "\"units\":\"m/s\",\"scale\":0.5,\"nested\":{\"k\":[1,null]}," \
	"\"both\":\"second\""
	(void)state;
	expect_object(file, "zarr/.zattrs", NULL, "{" NO_DIMS "," ATTRS "}");
	expect_object(file, "zarr/zarr.json", "attributes", "{" ATTRS "}");
	expect_object(file, "zarr2/.zattrs", NULL, "{" NO_DIMS "," ATTRS "}");
	expect_object(file, "dataset.zarr/data/.zattrs", NULL,
		      "{" NO_DIMS "," ATTRS "}");
	expect_object(file, "dataset.zarr/.zattrs", NULL, "{}");
	close_file(file, &b);
}

static void texts_are_ascii_with_escapes(void **state)
{
	static const struct frame_layer vlmetas[] = {
		FRAME_LAYER("unicod\xc3\xa9", "\xa6\xf0\x9f\x8c\x80\xc2\xb5"),
		FRAME_LAYER("ctl", "\xa3" "a\n\x01"),
	};
	struct build b;
	struct bfs_file *file = open_layers(&b, vlmetas, 2, NULL);
	size_t len;
	char *text = (char *)frames_read(file, "zarr/.zattrs", &len);

	(void)state;
	for (size_t i = 0; i < len; i++)
		assert_true((uint8_t)text[i] < 0x80);
	assert_non_null(strstr(text, "\"unicod\\u00e9\": "
				     "\"\\ud83c\\udf00\\u00b5\""));
	assert_non_null(strstr(text, "\"ctl\": \"a\\n\\u0001\""));
	free(text);
	close_file(file, &b);
}

/* With one metalayer, the names of dimensions and what else is told. */
static void expect_dims(const char *key, const char *value, size_t len,
			const char *dims, const char *rest)
{
	const struct frame_layer layer = { key, strlen(key), value, len };
	struct build b;
	struct bfs_file *file = open_layers(&b, &layer, 1, NULL);
	char want[512];

	expect_object(file, "zarr/zarr.json", "dimension_names", dims);
	expect_object(file, "zarr/zarr.json", "attributes", rest);
	snprintf(want, sizeof(want), "{\"_ARRAY_DIMENSIONS\":%s%s%.*s}", dims,
		 rest[1] == '}' ? "" : ",", (int)strlen(rest) - 2, rest + 1);
	expect_object(file, "zarr/.zattrs", NULL, want);
	close_file(file, &b);
}

#define DIMS(key, value, dims, rest) \
	expect_dims(key, value, sizeof(value) - 1, dims, rest)
#define PLAIN "[\"dim_0\",\"dim_1\"]"

static void dimensions_have_the_names_that_a_metalayer_gives(void **state)
{
	(void)state;
	DIMS("_ARRAY_DIMENSIONS", "\x92\xa1y\xa1x", "[\"y\",\"x\"]", "{}");
	DIMS("dimension_names", "\x92\xa1y\xa1x", "[\"y\",\"x\"]", "{}");
	DIMS("dims", "\x92\xa1y\xa1x", "[\"y\",\"x\"]", "{}");
	DIMS("dims", "\x93\xa9__tuple__\xa1y\xa1x", "[\"y\",\"x\"]", "{}");
	DIMS("dimension_names", "\x92\xc0\xa1x", "[\"dim_0\",\"x\"]", "{}");
}

static void what_names_no_dimensions_stays_an_attribute(void **state)
{
	(void)state;
	DIMS("dims", "\x91\xa1y", PLAIN, "{\"dims\":[\"y\"]}");
	DIMS("dims", "\x92\xa1y\xa1y", PLAIN, "{\"dims\":[\"y\",\"y\"]}");
	DIMS("dims", "\x92\xa1y\xa0", PLAIN, "{\"dims\":[\"y\",\"\"]}");
	DIMS("dims", "\x92\xa1y\x07", PLAIN, "{\"dims\":[\"y\",7]}");
	DIMS("dims", "\x92\xa5" "dim_1\xc0", PLAIN,
	     "{\"dims\":[\"dim_1\",null]}");
	DIMS("dims", "\xa2yx", PLAIN, "{\"dims\":\"yx\"}");
	/* xarray would take it for names. */
	DIMS("_ARRAY_DIMENSIONS", "\x91\xa1y", PLAIN, "{}");
}

static void what_is_no_attribute_is_left_out(void **state)
{
	static char longest[65537 + 5], over[65537 + 6];
	static char hundred[102] = "\xd9\x64";
	struct frame_layer vlmetas[] = {
		FRAME_LAYER("_b2o_user_vlmeta", "\x01"),
		FRAME_LAYER("proxy-stamp", "\x01"),
		FRAME_LAYER("__pack_tensor__", "\x01"),
		FRAME_LAYER("password", "\xa6secret"),
		FRAME_LAYER("in", "\x81\xa5token\xa6secret"),
		FRAME_LAYER("raw", "\x01\x02"),
		FRAME_LAYER("cut", "\xa5" "ab"),
		FRAME_LAYER("empty", ""),
		FRAME_LAYER("", "\x01"),
		FRAME_LAYER("no\xff", "\x01"),
		{ "over", 4, over, 65537 },
		{ "kept", 4, longest, 65536 },
		{ "last", 4, hundred, sizeof(hundred) },
	};
	struct build b;
	struct bfs_file *file;
	struct json_object *obj;

	(void)state;
	memcpy(longest, "\xdb\0\0\xff\xfb", 5);
	memset(longest + 5, 'a', 65531);
	memcpy(over, "\xdb\0\0\xff\xfc", 5);
	memset(over + 5, 'a', 65532);
	memset(hundred + 2, 'b', 100);
	file = open_layers(&b, vlmetas, BFS_ARRAY_LEN(vlmetas), NULL);
	obj = frames_json(file, "zarr/.zattrs");
	assert_int_equal(json_object_object_length(obj), 4);
	assert_string_equal(frames_text(obj, "in"),
			    "{ \"token\": \"(redacted)\" }");
	assert_int_equal(strlen(frames_text(obj, "kept")), 65531);
	assert_int_equal(strlen(frames_text(obj, "last")), 100);
	json_object_put(obj);
	close_file(file, &b);
}

static void the_text_of_all_attributes_is_bounded(void **state)
{
	enum { N = 100, LEN = 60000 };
	struct frame_layer vlmetas[N];
	static char names[N][8], value[LEN];
	struct build b;
	struct bfs_file *file;
	struct bfs_node node;
	struct bfs_attr attr;

	(void)state;
	/* Bytes, of which JSON makes a third more. */
	memcpy(value, "\xc5\xea\x5d", 3);
	for (int i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "v%d", i);
		vlmetas[i] = (struct frame_layer){ names[i], strlen(names[i]),
						   value, LEN };
	}
	file = open_layers(&b, vlmetas, N, NULL);
	assert_true(frames_find(file, "zarr/.zattrs", &node));
	bfs_file_stat(file, &node, &attr);
	assert_in_range(attr.len, 900 << 10, 1100 << 10);
	json_object_put(frames_json(file, "dataset.zarr/zarr.json"));
	close_file(file, &b);
}

/* 31 lists in one another are as deep as all that is read; 32 are not. */
static void a_value_that_is_too_deep_is_left_out(void **state)
{
	char deep[33];
	const struct frame_layer vlmetas[] = {
		{ "deep", 4, deep, 31 }, FRAME_LAYER("last", "\x01") };
	const struct frame_layer deeper[] = {
		{ "deep", 4, deep, 33 }, FRAME_LAYER("last", "\x01") };
	struct build b;
	struct bfs_file *file;

	(void)state;
	memset(deep, '\x91', sizeof(deep));
	deep[30] = '\xc0';
	file = open_layers(&b, vlmetas, 2, NULL);
	json_object_put(frames_json(file, "dataset.zarr/zarr.json"));
	expect_json(file, "zarr/.zattrs", "last", "1");
	expect_json(file, "zarr/.zattrs", "deep",
		    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[null]]]]]]]]]]]]]]]]]]]]]]]]"
		    "]]]]]]");
	close_file(file, &b);
	deep[30] = '\x91';
	deep[32] = '\xc0';
	file = open_layers(&b, deeper, 2, NULL);
	expect_object(file, "zarr/zarr.json", "attributes", "{\"last\":1}");
	close_file(file, &b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metalayers_are_attributes_in_both_versions),
		cmocka_unit_test(texts_are_ascii_with_escapes),
		cmocka_unit_test(
			dimensions_have_the_names_that_a_metalayer_gives),
		cmocka_unit_test(what_names_no_dimensions_stays_an_attribute),
		cmocka_unit_test(what_is_no_attribute_is_left_out),
		cmocka_unit_test(the_text_of_all_attributes_is_bounded),
		cmocka_unit_test(a_value_that_is_too_deep_is_left_out),
	};

	return cmocka_run_group_tests(tests, frames_setup, frames_teardown);
}
