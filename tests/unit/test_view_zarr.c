/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_view_zarr.c - arrays as Zarr stores: what their metadata say and which
 * keys there are.
 */
#include "zarr_stores.h"

#include "base/mem.h"

#include <pthread.h>

static void expect_text(struct bfs_file *file, const char *path,
			const char *want)
{
	size_t len;
	uint8_t *got = frames_read(file, path, &len);

	assert_string_equal((char *)got, want);
	assert_int_equal(len, strlen(want));
	free(got);
}

/* A file or folder below `from` is below `in` with the same bytes, and not
 * below `out`. */
static void expect_only(struct bfs_file *file, const char *from,
			const char *in, const char *out, const char *name)
{
	char path[3][64];
	struct bfs_attr attr;
	struct bfs_node node;
	uint8_t *a, *b;
	size_t a_len, b_len;

	snprintf(path[0], sizeof(path[0]), "%s/%s", from, name);
	snprintf(path[1], sizeof(path[1]), "%s/%s", in, name);
	snprintf(path[2], sizeof(path[2]), "%s/%s", out, name);
	assert_true(has(file, path[0]));
	assert_true(frames_find(file, path[1], &node));
	assert_false(has(file, path[2]));
	bfs_file_stat(file, &node, &attr);
	if (attr.is_dir)
		return;
	a = frames_read(file, path[0], &a_len);
	b = frames_read(file, path[1], &b_len);
	assert_int_equal(a_len, b_len);
	assert_memory_equal(a, b, a_len);
	free(a);
	free(b);
}

/* ---- metadata -------------------------------------------------------- */

#define ARRAY2(fill) "{\n"						\
	"  \"zarr_format\": 2,\n"					\
	"  \"shape\": [5, 7],\n"					\
	"  \"chunks\": [4, 4],\n"					\
	"  \"dtype\": \"<i4\",\n"					\
	"  \"compressor\": null,\n"					\
	"  \"fill_value\": " fill ",\n"					\
	"  \"order\": \"C\",\n"						\
	"  \"filters\": null,\n"					\
	"  \"dimension_separator\": \".\"\n"				\
	"}\n"

static const char attrs2[] = "{\n"
	"  \"_ARRAY_DIMENSIONS\": [\"dim_0\", \"dim_1\"]\n"
	"}\n";

static const char array3[] = "{\n"
	"  \"zarr_format\": 3,\n"
	"  \"node_type\": \"array\",\n"
	"  \"shape\": [5, 7],\n"
	"  \"data_type\": \"int32\",\n"
	"  \"chunk_grid\": {\n"
	"    \"name\": \"regular\",\n"
	"    \"configuration\": {\n"
	"      \"chunk_shape\": [4, 4]\n"
	"    }\n"
	"  },\n"
	"  \"chunk_key_encoding\": {\n"
	"    \"name\": \"default\",\n"
	"    \"configuration\": {\n"
	"      \"separator\": \"/\"\n"
	"    }\n"
	"  },\n"
	"  \"fill_value\": 0,\n"
	"  \"codecs\": [\n"
	"    {\n"
	"      \"name\": \"bytes\",\n"
	"      \"configuration\": {\n"
	"        \"endian\": \"little\"\n"
	"      }\n"
	"    }\n"
	"  ],\n"
	"  \"attributes\": {},\n"
	"  \"dimension_names\": [\"dim_0\", \"dim_1\"]\n"
	"}\n";

static void metadata_is_ascii_whatever_fields_are_called(void **state)
{
	static const char *const texts[] = { "zarr/.zarray",
					     "dataset.zarr/.zmetadata" };
	struct build b;
	struct bfs_file *file = open_dtype(&b, "[('\xce\xb1', '<i2'), "
					   "('\xf0\x9d\x84\x9e', '<i2')]", 4);

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(texts); i++) {
		size_t len;
		uint8_t *got = frames_read(file, texts[i], &len);

		assert_non_null(strstr((char *)got, "\"\\u03b1\""));
		assert_non_null(strstr((char *)got, "\"\\ud834\\udd1e\""));
		while (len-- > 0)
			assert_true(got[len] < 0x80);
		free(got);
	}
	close_file(file, &b);
}

static void metadata_of_both_versions_is_exact(void **state)
{
	struct build b;
	struct bfs_file *file = open_grid(&b, NULL);

	(void)state;
	expect_text(file, "zarr/.zarray", ARRAY2("0"));
	expect_text(file, "zarr/.zattrs", attrs2);
	expect_text(file, "zarr/zarr.json", array3);
	expect_json(file, "info.json", "zarr", "{\"v2\":true,\"v3\":true}");
	close_file(file, &b);
}

static void a_group_holds_the_array_and_repeats_its_metadata(void **state)
{
	struct json_object *all, *part, *one;
	struct build b;
	struct bfs_file *file = open_grid(&b, NULL);

	(void)state;
	expect_text(file, "dataset.zarr/.zgroup",
		    "{\n  \"zarr_format\": 2\n}\n");
	expect_text(file, "dataset.zarr/.zattrs", "{}\n");
	/* xarray would take items of the fill value for missing ones. */
	expect_text(file, "dataset.zarr/data/.zarray", ARRAY2("null"));
	expect_text(file, "dataset.zarr/data/.zattrs", attrs2);
	expect_text(file, "dataset.zarr/data/zarr.json", array3);
	all = frames_json(file, "dataset.zarr/.zmetadata");
	assert_true(json_object_object_get_ex(all, "metadata", &part));
	one = frames_json(file, "dataset.zarr/data/.zarray");
	assert_true(json_object_equal(one, json_object_object_get(
		part, "data/.zarray")));
	json_object_put(one);
	json_object_put(all);
	expect_json(file, "dataset.zarr/zarr.json", "node_type", "\"group\"");
	all = frames_json(file, "dataset.zarr/zarr.json");
	assert_true(json_object_object_get_ex(all, "consolidated_metadata",
					      &part));
	one = frames_json(file, "dataset.zarr/data/zarr.json");
	assert_true(json_object_equal(one, json_object_object_get(
		json_object_object_get(part, "metadata"), "data")));
	json_object_put(one);
	json_object_put(all);
	close_file(file, &b);
}

static void a_view_of_one_version_has_nothing_of_the_other(void **state)
{
	static const char *const both[] = { "zarr", "dataset.zarr/data" };
	static const char *const of2[] = { ".zarray", ".zattrs", "0.0", "1.1" };
	static const char *const of3[] = { "zarr.json", "c", "c/0/0", "c/1/1" };
	static const char *const dirs[][2] = {
		{ "zarr2", "zarr3" },
		{ "dataset2.zarr/data", "dataset3.zarr/data" } };
	struct build b;
	struct bfs_file *file = open_grid(&b, NULL);

	(void)state;
	for (size_t d = 0; d < BFS_ARRAY_LEN(dirs); d++) {
		for (size_t i = 0; i < BFS_ARRAY_LEN(of2); i++) {
			expect_only(file, both[d], dirs[d][0], dirs[d][1],
				    of2[i]);
			expect_only(file, both[d], dirs[d][1], dirs[d][0],
				    of3[i]);
		}
	}
	/* Metadata and four keys; metadata and c. */
	assert_int_equal(count(file, "zarr2"), 6);
	assert_int_equal(count(file, "zarr3"), 2);
	/* Metadata and the array. */
	assert_int_equal(count(file, "dataset2.zarr"), 4);
	assert_int_equal(count(file, "dataset3.zarr"), 2);
	expect_json(file, "info.json", "zarr2", "true");
	expect_json(file, "info.json", "zarr3", "true");
	close_file(file, &b);
}

static void a_version_that_cannot_be_said_has_no_view(void **state)
{
	struct build b;
	struct bfs_file *file = open_dtype(&b, "|S5", 5);
	char why[512];

	(void)state;
	assert_true(has(file, "zarr2/0"));
	assert_true(has(file, "dataset2.zarr"));
	assert_false(has(file, "zarr3"));
	assert_false(has(file, "dataset3.zarr"));
	expect_json(file, "info.json", "zarr2", "true");
	value_of(file, "info.json", "zarr3", why);
	assert_int_equal(why[0], '"');
	close_file(file, &b);
}

static void dtypes_have_their_names_and_fill_values(void **state)
{
	static const struct {
		const char *dtype;
		unsigned typesize;
		const char *v2, *fill2;
		const char *v3, *fill3;	/* NULL: no such type */
		const char *endian;
	} cases[] = {
		{ "|b1", 1, "\"|b1\"", "false", "\"bool\"", "false",
		  "little" },
		{ "|i1", 1, "\"|i1\"", "0", "\"int8\"", "0", "little" },
		{ "<u8", 8, "\"<u8\"", "0", "\"uint64\"", "0", "little" },
		{ ">i2", 2, "\">i2\"", "0", "\"int16\"", "0", "big" },
		{ "<f2", 2, "\"<f2\"", "0.0", "\"float16\"", "0.0",
		  "little" },
		{ ">f8", 8, "\">f8\"", "0.0", "\"float64\"", "0.0", "big" },
		{ "<f16", 16, "\"<f16\"", "0.0", NULL, NULL, NULL },
		{ "<c8", 8, "\"<c8\"", "[0.0,0.0]", "\"complex64\"",
		  "[0.0,0.0]", "little" },
		{ ">c16", 16, "\">c16\"", "[0.0,0.0]", "\"complex128\"",
		  "[0.0,0.0]", "big" },
		{ "<M8[ns]", 8, "\"<M8[ns]\"", "0", NULL, NULL, NULL },
		{ ">m8[25s]", 8, "\">m8[25s]\"", "0", NULL, NULL, NULL },
		{ "|S5", 5, "\"|S5\"", "\"\"", NULL, NULL, NULL },
		{ "<U3", 12, "\"<U3\"", "\"\"", NULL, NULL, NULL },
		{ "|V4", 4, "\"|V4\"", "\"AAAAAA==\"", "\"r32\"",
		  "[0,0,0,0]", "little" },
		/* As in data.npy: unknown, missing, of another size. */
		{ "nonsense", 3, "\"|V3\"", "\"AAAA\"", "\"r24\"", "[0,0,0]",
		  "little" },
		{ "<i4", 3, "\"|V3\"", "\"AAAA\"", "\"r24\"", "[0,0,0]",
		  "little" },
		{ "[('a', '<i2'), ('b', '|S1', (2,)), ('c', [('d', '>f4')])]",
		  8, "[[\"a\",\"<i2\"],[\"b\",\"|S1\",[2]],"
		  "[\"c\",[[\"d\",\">f4\"]]]]", "\"AAAAAAAAAAA=\"", NULL, NULL,
		  NULL },
		/* Gaps have names, titles are left out. */
		{ "{'names': ['a', 'b'], 'formats': ['|u1', '<u2'], "
		  "'offsets': [1, 4], 'itemsize': 8, 'titles': ['t', None]}",
		  8, "[[\"_pad0\",\"|V1\"],[\"a\",\"|u1\"],"
		  "[\"_pad2\",\"|V2\"],[\"b\",\"<u2\"],[\"_pad6\",\"|V2\"]]",
		  "\"AAAAAAAAAAA=\"", NULL, NULL, NULL },
		/* Fields that overlap are plain bytes. */
		{ "{'names': ['a', 'b'], 'formats': ['<u4', '<u2'], "
		  "'offsets': [0, 2], 'itemsize': 4}", 4, "\"|V4\"",
		  "\"AAAAAA==\"", NULL, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(cases); i++) {
		struct build b;
		struct bfs_file *file = open_dtype(&b, cases[i].dtype,
						   cases[i].typesize);
		char text[512];

		expect_json(file, "zarr/.zarray", "dtype", cases[i].v2);
		expect_json(file, "zarr/.zarray", "fill_value",
			     cases[i].fill2);
		assert_int_equal(has(file, "zarr/zarr.json"), !!cases[i].v3);
		assert_int_equal(has(file, "dataset.zarr/zarr.json"),
				 !!cases[i].v3);
		assert_int_equal(has(file, "zarr/c"), !!cases[i].v3);
		value_of(file, "info.json", "zarr", text);
		if (!cases[i].v3) {
			assert_non_null(strstr(text, "has no v3 data type"));
			assert_non_null(strstr(text, "\"v2\":true"));
			close_file(file, &b);
			continue;
		}
		expect_json(file, "zarr/zarr.json", "data_type",
			     cases[i].v3);
		expect_json(file, "zarr/zarr.json", "fill_value",
			     cases[i].fill3);
		value_of(file, "zarr/zarr.json", "codecs", text);
		assert_non_null(strstr(text, cases[i].endian));
		close_file(file, &b);
	}
}

static void a_gap_that_shares_a_name_leaves_version_2_out(void **state)
{
	struct build b;
	struct bfs_file *file = open_dtype(&b,
		"{'names': ['_pad1', 'b'], 'formats': ['|u1', '<u2'], "
		"'offsets': [0, 4], 'itemsize': 6}", 6);
	struct bfs_node dir = frames_root(), node;

	(void)state;
	assert_false(has(file, "zarr"));
	assert_false(has(file, "dataset.zarr"));
	assert_false(bfs_file_lookup(file, &dir, "zarr", 4, &node));
	expect_json(file, "info.json", "zarr",
		     "{\"v2\":\"these fields cannot be listed\","
		     "\"v3\":\"dtype of fields has no v3 data type\"}");
	close_file(file, &b);
}

static void items_that_are_arrays_add_dimensions(void **state)
{
	struct build b;
	struct bfs_file *file = open_dtype(&b, "('<i2', (3, 2))", 12);

	(void)state;
	expect_json(file, "zarr/.zarray", "shape", "[2,3,2]");
	expect_json(file, "zarr/.zarray", "chunks", "[2,3,2]");
	expect_json(file, "zarr/.zarray", "dtype", "\"<i2\"");
	assert_true(has(file, "zarr/0.0.0"));
	assert_true(has(file, "zarr/c/0/0/0"));
	close_file(file, &b);
}

static void what_is_no_array_of_values_has_no_store(void **state)
{
	struct frame_input in = frames_rich_input();
	struct frame_bytes bytes = frames_build(&in);
	struct build b = { .p = bytes.p, .len = bytes.len };
	struct bfs_file *file = open_bytes(&b, "x.b2frame");

	(void)state;
	assert_false(has(file, "zarr"));
	expect_json(file, "info.json", "zarr", "");
	close_file(file, &b);
	file = open_dtype(&b, "|O", 8);
	assert_false(has(file, "zarr"));
	expect_json(file, "info.json", "zarr", "false");
	close_file(file, &b);
	/* And nothing at all where the view is off. */
	file = open_grid(&b, NULL);
	file->views = 1;
	assert_false(has(file, "zarr"));
	expect_json(file, "info.json", "zarr", "");
	close_file(file, &b);
}

/* ---- keys ------------------------------------------------------------ */

static void only_keys_of_the_grid_are_found(void **state)
{
	static const char *const wrong[] = {
		"zarr/0", "zarr/0.0.0", "zarr/00.0", "zarr/0.00", "zarr/0.",
		"zarr/.0", "zarr/2.0", "zarr/0.2", "zarr/-1.0", "zarr/0.0 ",
		"zarr/ 0.0", "zarr/+0.0", "zarr/0,0", "zarr/0x0.0",
		"zarr/18446744073709551616.0", "zarr/0.4294967296",
		"zarr/c0", "zarr/d", "zarr/c/2", "zarr/c/00", "zarr/c/-1",
		"zarr/c/0/2", "zarr/c/0/0/0", "zarr/c/0.0", "zarr/c/",
		"zarr/c/a", "zarr/.zgroup", "zarr/.zmetadata", "zarr/data",
		"dataset.zarr/0.0", "dataset.zarr/c", "dataset.zarr/.zarray",
		"dataset.zarr/dat", "dataset.zarr/data/data", "zarr/0.0/0",
	};
	struct build b;
	struct bfs_file *file = open_grid(&b, NULL);
	struct bfs_node dir, node;

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(wrong); i++)
		if (wrong[i][strlen(wrong[i]) - 1] != '/')
			assert_false(has(file, wrong[i]));
	assert_true(frames_find(file, "zarr/c", &dir));
	assert_false(bfs_file_lookup(file, &dir, "", 0, &node));
	assert_int_equal(count(file, "zarr"), 3 + 1 + 4);
	assert_int_equal(count(file, "zarr/c"), 2);
	assert_int_equal(count(file, "zarr/c/1"), 2);
	assert_int_equal(count(file, "dataset.zarr"), 5);
	assert_int_equal(count(file, "dataset.zarr/data"), 3 + 1 + 4);
	assert_int_equal(count(file, "dataset.zarr/data/c/0"), 2);
	close_file(file, &b);
}

static void entries_of_both_folders_are_told_apart(void **state)
{
	static const char *const paths[] = { "zarr", "zarr/.zarray",
		"zarr/1.1", "zarr/c", "zarr/c/1", "zarr/c/1/1", "dataset.zarr",
		"dataset.zarr/data", "dataset.zarr/data/.zarray",
		"dataset.zarr/data/1.1", "dataset.zarr/data/c",
		"dataset.zarr/data/c/1", "dataset.zarr/data/c/1/1" };
	struct bfs_node nodes[BFS_ARRAY_LEN(paths)];
	struct build b;
	struct bfs_file *file = open_grid(&b, NULL);

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(paths); i++) {
		assert_true(frames_find(file, paths[i], &nodes[i]));
		assert_true(nodes[i].kind < 16);
		for (size_t k = 0; k < i; k++)
			assert_true(nodes[k].kind != nodes[i].kind ||
				    nodes[k].index != nodes[i].index);
	}
	close_file(file, &b);
}

static void nodes_that_were_never_given_out_are_refused(void **state)
{
	struct build b;
	struct bfs_file *file = open_dtype(&b, "|S5", 5);
	struct bfs_node node;
	struct bfs_attr attr;
	uint8_t buf[16];
	size_t len;

	(void)state;
	assert_true(frames_find(file, "zarr/0", &node));
	for (unsigned kind = 0; kind < 300; kind++) {
		for (unsigned bit = 0; bit < 64; bit++) {
			struct bfs_node bad = { node.view, (uint16_t)kind,
						UINT64_C(1) << bit };
			char name[BFS_NAME_MAX + 1];
			struct bfs_node found;

			bfs_file_stat(file, &bad, &attr);
			(void)bfs_file_list(file, &bad, 3, name, &found);
			(void)bfs_file_lookup(file, &bad, "0", 1, &found);
			if (bfs_file_read(file, &bad, 0, buf, 16, &len,
					  NULL) == BFS_OK)
				assert_true(attr.len > 0 && len > 0);
			/* The only chunk has number 0. */
			bad.kind = node.kind;
			bfs_file_stat(file, &bad, &attr);
			assert_true(bit >= 57 || attr.len == 1);
			assert_true(bit >= 57 ||
				    bfs_file_open(file, &bad, NULL) !=
				    BFS_OK);
		}
	}
	/* Version 3 cannot say this dtype. */
	node = (struct bfs_node){ node.view, 3, 0 };
	assert_false(bfs_file_open(file, &node, NULL) == BFS_OK);
	close_file(file, &b);
}

static void millions_of_keys_are_listed_and_found_at_once(void **state)
{
	/* As many chunks as one entry of an index can stand for. */
	struct build_frame f = { .chunksize = 4, .typesize = 4, .ndim = 3,
		.shape = { 3, 1000, 1000 }, .chunkshape = { 1, 1, 1 },
		.blockshape = { 1, 1, 1 }, .dtype = "<f4" };
	struct build b;
	struct bfs_file *file;
	struct bfs_node dir, node, found;
	char name[BFS_NAME_MAX + 1];

	(void)state;
	for (unsigned i = 0; i < 3000000; i++)
		build_frame_special(&f, NAN_CHUNK, 4);
	file = open_frame(&f, &b);
	assert_true(frames_find(file, "zarr", &dir));
	assert_true(bfs_file_list(file, &dir, 4 + 2999998, name, &node));
	assert_string_equal(name, "2.999.998");
	assert_true(bfs_file_lookup(file, &dir, name, strlen(name), &found));
	expect_same(&node, &found);
	assert_false(bfs_file_list(file, &dir, 4 + 3000000, name, &node));
	assert_true(frames_find(file, "zarr/c/2/999", &dir));
	assert_true(bfs_file_list(file, &dir, 998, name, &node));
	assert_string_equal(name, "998");
	assert_false(bfs_file_list(file, &dir, 1000, name, &node));
	close_file(file, &b);
}

/* Reads the metadata; false where memory was short. */
static bool use_store(struct bfs_file *file)
{
	static const char *const paths[] = { "zarr/.zarray", "zarr/.zattrs",
		"zarr/zarr.json", "dataset.zarr/.zmetadata",
		"dataset.zarr/zarr.json", "dataset.zarr/data/.zarray" };
	bool all = true;

	for (size_t i = 0; i < BFS_ARRAY_LEN(paths); i++) {
		struct bfs_node node;
		char buf[16];
		size_t n;
		enum bfs_err err;

		if (!has(file, paths[i])) {
			all = false;
			continue;
		}
		assert_true(frames_find(file, paths[i], &node));
		err = bfs_file_read(file, &node, 0, buf, sizeof(buf), &n,
				    NULL);
		assert_true(err == BFS_OK || err == BFS_ERR_NOMEM);
		all &= err == BFS_OK;
	}
	return all;
}

static void *use_in_thread(void *file)
{
	return use_store(file) ? file : NULL;
}

static void threads_find_a_store_out_at_once(void **state)
{
	enum { N = 4 };

	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		struct build b;
		struct bfs_file *file = open_grid(&b, NULL);
		pthread_t threads[N];
		void *used;

		for (unsigned i = 0; i < N; i++)
			assert_int_equal(pthread_create(&threads[i], NULL,
							use_in_thread, file),
					 0);
		for (unsigned i = 0; i < N; i++) {
			pthread_join(threads[i], &used);
			assert_ptr_equal(used, file);
		}
		expect_text(file, "zarr/zarr.json", array3);
		close_file(file, &b);
	}
}

static void a_failed_allocation_leaves_no_trace_in_a_store(void **state)
{
	unsigned n, n_failed = 0;

	(void)state;
	for (n = 1; n < 60; n++) {
		struct build b;
		struct bfs_file *file = open_grid(&b, NULL);

		assert_true(has(file, "data.npy"));
		bfs_mem_fail_at(n);
		n_failed += !use_store(file);
		bfs_mem_fail_at(0);
		assert_true(use_store(file));
		expect_text(file, "zarr/zarr.json", array3);
		close_file(file, &b);
	}
	/* Reading tries again; what lookup does not find is not there. */
	assert_true(n_failed > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metadata_of_both_versions_is_exact),
		cmocka_unit_test(
			metadata_is_ascii_whatever_fields_are_called),
		cmocka_unit_test(
			a_group_holds_the_array_and_repeats_its_metadata),
		cmocka_unit_test(
			a_view_of_one_version_has_nothing_of_the_other),
		cmocka_unit_test(a_version_that_cannot_be_said_has_no_view),
		cmocka_unit_test(dtypes_have_their_names_and_fill_values),
		cmocka_unit_test(a_gap_that_shares_a_name_leaves_version_2_out),
		cmocka_unit_test(items_that_are_arrays_add_dimensions),
		cmocka_unit_test(what_is_no_array_of_values_has_no_store),
		cmocka_unit_test(only_keys_of_the_grid_are_found),
		cmocka_unit_test(entries_of_both_folders_are_told_apart),
		cmocka_unit_test(nodes_that_were_never_given_out_are_refused),
		cmocka_unit_test(millions_of_keys_are_listed_and_found_at_once),
		cmocka_unit_test(threads_find_a_store_out_at_once),
		cmocka_unit_test(
			a_failed_allocation_leaves_no_trace_in_a_store),
	};

	return cmocka_run_group_tests(tests, frames_setup, frames_teardown);
}
