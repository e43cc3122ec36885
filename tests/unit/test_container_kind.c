/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_container_kind.c - what a container is: recipes and proxies of
 * python-blosc2, whose chunks hold nothing, beside arrays and objects.
 */
#include "base/bytes.h"
#include "container/kind.h"
#include "support/build2.h"
#include "support/frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#define ZEROS 0x81
#define NANS 0x82
#define UNINIT 0x84

static const char recipe[] = "\x82\xa4kind\xa8lazyexpr\xa7version\1";
static const char source[] = "\x81\xaa" "auth_token\xa6secret";

static struct frame_bytes bytes;

/* An array of four chunks of 96 bytes, and one more metalayer. */
static struct bfs_file *open_grid(const char *name, const char *content,
				  const uint8_t *special, const char *views)
{
	const struct frame_layer metas[] = {
		{ "b2nd", 4, frames_array_meta, FRAMES_ARRAY_META_LEN },
		{ name, name ? strlen(name) : 0, content,
		  content ? strlen(content) : 0 },
	};
	struct frame_input in = {
		.metas = metas, .n_metas = name ? 2 : 1,
		.data = frames_pattern, .len = 4 * 96, .chunksize = 96,
		.blocksize = 24, .typesize = 4,
	};

	memcpy(in.special, special, 4);
	bytes = frames_build(&in);
	return frames_open_with(&bytes, views);
}

static void expect_info(struct bfs_file *file, const char *kind,
			const char *status)
{
	struct json_object *info = frames_json(file, "info.json");

	assert_string_equal(frames_text(info, "schema"), "1");
	assert_string_equal(frames_text(info, "kind"), kind);
	assert_string_equal(frames_text(info, "status"), status);
	json_object_put(info);
}

static enum bfs_err read_entry(struct bfs_file *file, const char *path,
			       uint64_t off, uint8_t *dst, size_t len)
{
	struct bfs_node node;
	struct bfs_diag diag;
	size_t got;
	enum bfs_err err;

	if (!frames_find(file, path, &node))
		fail_msg("no %s", path);
	err = bfs_file_read(file, &node, off, dst, len, &got, &diag);
	if (err == BFS_OK)
		assert_int_equal(got, len);
	return err;
}

#define VIEWS "info,data,npy,chunks,meta,blocks,zarr"

static void a_recipe_shows_itself_and_no_data(void **state)
{
	static const uint8_t blank[][4] = {
		{ UNINIT, UNINIT, UNINIT, UNINIT },
		{ ZEROS, ZEROS, UNINIT, ZEROS },
	};
	static const char *const gone[] = { "data.bin", "data.npy", "zarr",
					    "dataset.zarr" };
	static const char *const names[] = { "b2o", "LazyArray" };
	struct bfs_node node;
	uint8_t got[4];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct bfs_file *file = open_grid(names[i], recipe, blank[i],
						  VIEWS);

		expect_info(file, "expression", "good");
		for (size_t k = 0; k < BFS_ARRAY_LEN(gone); k++)
			assert_false(frames_find(file, gone[k], &node));
		assert_true(frames_find(file, "meta/b2nd", &node));
		assert_int_equal(read_entry(file, "chunks/0000000001", 0, got,
					    4), BFS_ERR_UNSUPPORTED);
		frames_close(file, &bytes);
	}
}

static void a_stray_key_costs_an_array_nothing(void **state)
{
	static const uint8_t some[][4] = { { 0, 0, 0, 0 },
					   { UNINIT, ZEROS, NANS, UNINIT } };
	struct bfs_node node;
	uint8_t got[96];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct bfs_file *file = open_grid("LazyArray", "\1", some[i],
						  VIEWS);

		expect_info(file, "array", "good");
		assert_true(frames_find(file, "data.npy", &node));
		assert_int_equal(read_entry(file, "chunks/0000000003", 0, got,
					    96), BFS_OK);
		frames_close(file, &bytes);
	}
}

static void what_a_proxy_never_fetched_is_no_zeros(void **state)
{
	static const uint8_t special[4] = { 0, UNINIT, 0, ZEROS };
	struct bfs_file *file = open_grid("proxy-source", source, special,
					  VIEWS);
	struct json_object *info;
	struct bfs_attr attr;
	struct bfs_node node;
	uint8_t got[96];

	(void)state;
	expect_info(file, "proxy", "unsupported");
	info = frames_json(file, "info.json");
	assert_string_equal(frames_text(info, "fetched"), "2");
	assert_string_equal(frames_text(info, "chunks"), "4");
	json_object_put(info);
	assert_int_equal(read_entry(file, "chunks/0000000002", 0, got, 96),
			 BFS_OK);
	assert_memory_equal(got, frames_pattern + 2 * 96, 96);
	/* The first row of the array goes from chunk 0 to chunk 1. */
	assert_int_equal(read_entry(file, "data.bin", 0, got, 16), BFS_OK);
	assert_int_equal(read_entry(file, "data.bin", 0, got, 28),
			 BFS_ERR_UNSUPPORTED);
	assert_int_equal(read_entry(file, "chunks/0000000001", 0, got, 4),
			 BFS_ERR_UNSUPPORTED);
	assert_int_equal(read_entry(file, "zarr/1.1", 0, got, 4),
			 BFS_ERR_UNSUPPORTED);
	/* Nor are they holes. */
	assert_true(frames_find(file, "chunks/0000000003", &node));
	bfs_file_stat(file, &node, &attr);
	assert_int_equal(attr.stored_len, 96);
	frames_close(file, &bytes);
}

static void a_proxy_that_fetched_nothing_is_no_hole(void **state)
{
	static const uint8_t special[][4] = {
		{ UNINIT, UNINIT, UNINIT, UNINIT },
		{ ZEROS, ZEROS, ZEROS, ZEROS },
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct bfs_file *file = open_grid("proxy-source", source,
						  special[i], VIEWS);
		struct bfs_attr attr;
		struct bfs_node node;
		uint8_t got[4];

		assert_true(frames_find(file, "data.bin", &node));
		bfs_file_stat(file, &node, &attr);
		assert_int_equal(attr.len, 5 * 7 * 4);
		assert_int_equal(attr.stored_len, 5 * 7 * 4);
		assert_int_equal(read_entry(file, "data.bin", 60, got, 4),
				 BFS_ERR_UNSUPPORTED);
		frames_close(file, &bytes);
	}
}

static void a_proxy_that_has_all_is_good(void **state)
{
	static const uint8_t none[4] = { 0, 0, NANS, 0 };
	struct bfs_file *file = open_grid("proxy-source", source, none,
					  VIEWS);
	struct json_object *meta = frames_json(file, "meta.json");

	(void)state;
	expect_info(file, "proxy", "good");
	assert_string_equal(frames_text(meta, "proxy-source"), "(redacted)");
	json_object_put(meta);
	frames_close(file, &bytes);
}

/* A map of blocks that is not all ones, or cannot be read: no chunk is sure
 * to be whole. */
static void blocks_that_a_proxy_never_fetched_are_no_data(void **state)
{
	static const struct {
		struct frame_layer map;
		bool whole;
	} rows[] = {
#define MAP(bytes) FRAME_LAYER("proxy-fetched-blocks", bytes)
		{ MAP("\x81\xa6" "base64\xa4////"), true },
		{ MAP("\x81\xa6" "base64\xa4//8="), false },
		{ MAP("\x81\xa6" "base64\xa4//+/"), false },
		{ MAP("\x81\xa6" "base64\xa0"), false },
		{ MAP("\x81\xa6" "base64\7"), false },
		{ MAP("\x80"), false },
		{ MAP("\xa4////"), false },
		{ MAP("\xc1"), false },
#undef MAP
	};
	const struct frame_layer metas[] = {
		{ "b2nd", 4, frames_array_meta, FRAMES_ARRAY_META_LEN },
		{ "proxy-source", 12, source, strlen(source) },
	};

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(rows); i++) {
		struct frame_input in = {
			.metas = metas, .n_metas = 2,
			.vlmetas = &rows[i].map, .n_vlmetas = 1,
			.data = frames_pattern, .len = 4 * 96,
			.chunksize = 96, .blocksize = 24, .typesize = 4,
		};
		struct bfs_file *file;
		uint8_t got[4];

		bytes = frames_build(&in);
		file = frames_open_with(&bytes, VIEWS);
		expect_info(file, "proxy",
			    rows[i].whole ? "good" : "unsupported");
		assert_int_equal(read_entry(file, "data.bin", 0, got, 4),
				 rows[i].whole ? BFS_OK : BFS_ERR_UNSUPPORTED);
		assert_int_equal(read_entry(file, "chunks/0000000000", 0, got,
					    4),
				 rows[i].whole ? BFS_OK : BFS_ERR_UNSUPPORTED);
		frames_close(file, &bytes);
	}
}

static void objects_and_plain_frames_are_told_apart(void **state)
{
	static const struct { const char *name, *kind; } cases[] = {
		{ "vlarray", "objects" }, { "batcharray", "objects" },
		{ "other", "frame" },
	};

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(cases); i++) {
		const struct frame_layer metas[] = {
			{ cases[i].name, strlen(cases[i].name),
			  "\x81\xa7version\1", 10 },
		};
		struct frame_input in = {
			.metas = metas, .n_metas = 1, .data = frames_pattern,
			.len = 96, .chunksize = 96, .blocksize = 96,
			.typesize = 1,
		};
		struct bfs_file *file;

		bytes = frames_build(&in);
		file = frames_open_with(&bytes, "info");
		expect_info(file, cases[i].kind, "good");
		frames_close(file, &bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recipe_shows_itself_and_no_data),
		cmocka_unit_test(a_stray_key_costs_an_array_nothing),
		cmocka_unit_test(what_a_proxy_never_fetched_is_no_zeros),
		cmocka_unit_test(a_proxy_that_fetched_nothing_is_no_hole),
		cmocka_unit_test(a_proxy_that_has_all_is_good),
		cmocka_unit_test(blocks_that_a_proxy_never_fetched_are_no_data),
		cmocka_unit_test(objects_and_plain_frames_are_told_apart),
	};

	return cmocka_run_group_tests(tests, frames_setup, frames_teardown);
}
