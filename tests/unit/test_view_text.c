/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_view_text.c - what views find out and write themselves: info.json and
 * the verdict, decoded metalayers, NumPy headers, holes; and that neither
 * threads nor missing memory make a mixture of it.
 */
#include "base/bytes.h"
#include "base/mem.h"
#include "support/frames.h"
#include "view/dispatch.h"
#include "view/facts.h"
#include "view/kept.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int64_t int_of(struct json_object *obj, const char *key)
{
	struct json_object *value;

	assert_true(json_object_object_get_ex(obj, key, &value));
	assert_true(json_object_is_type(value, json_type_int));
	return json_object_get_int64(value);
}

static bool has(struct json_object *obj, const char *key)
{
	return json_object_object_get_ex(obj, key, NULL);
}

/* The text of info.json's `key`, which must be `want`. */
static void expect_info(struct bfs_file *file, const char *key,
			const char *want)
{
	struct json_object *info = frames_json(file, "info.json");

	if (want)
		assert_string_equal(frames_text(info, key), want);
	else
		assert_false(has(info, key));
	json_object_put(info);
}

/* ---- info.json ------------------------------------------------------- */

static void info_tells_the_facts_of_a_frame(void **state)
{
	struct frame_bytes bytes;
	struct bfs_file *file = frames_open_rich(&bytes);
	struct json_object *info = frames_json(file, "info.json");
	struct bfs_attr attr;
	struct bfs_node node;

	(void)state;
	assert_string_equal(frames_text(info, "format"), "b2frame");
	assert_string_equal(frames_text(info, "status"), "good");
	assert_false(has(info, "error"));
	assert_int_equal(int_of(info, "nbytes"), sizeof(frames_pattern));
	assert_int_equal(int_of(info, "cbytes"), bytes.len);
	assert_int_equal(int_of(info, "nchunks"), 4);
	assert_int_equal(int_of(info, "chunksize"), 32768);
	assert_int_equal(int_of(info, "blocksize"), 512);
	assert_int_equal(int_of(info, "typesize"), 4);
	assert_string_equal(frames_text(info, "codec"), "lz4");
	assert_int_equal(int_of(info, "clevel"), 5);
	assert_int_equal(int_of(info, "metalayers"), FRAMES_N_METAS);
	assert_int_equal(int_of(info, "vlmetalayers"), FRAMES_N_VLMETAS);
	assert_false(has(info, "shape"));
	assert_true(frames_find(file, "info.json", &node));
	bfs_file_stat(file, &node, &attr);
	assert_int_equal(attr.stored_len, attr.len);
	json_object_put(info);
	frames_close(file, &bytes);
}

static void info_tells_the_facts_of_an_array(void **state)
{
	struct frame_bytes bytes;
	struct bfs_file *file = frames_open_grid(&bytes, frames_array_meta,
						 FRAMES_ARRAY_META_LEN, NULL);

	(void)state;
	expect_info(file, "status", "good");
	expect_info(file, "shape", "[ 5, 7 ]");
	expect_info(file, "chunkshape", "[ 4, 4 ]");
	expect_info(file, "blockshape", "[ 2, 3 ]");
	expect_info(file, "dtype", "<i4");
	frames_close(file, &bytes);
}

/* Whatever the dtype is, the text stays short and is JSON. */
static void info_stays_short_with_a_dtype_of_any_length(void **state)
{
	enum { LONG = 100000 };
	size_t len = FRAMES_ARRAY_META_LEN - 3 + LONG, text_len;
	char *meta = malloc(len);
	struct frame_bytes bytes;
	struct bfs_file *file;
	uint8_t *text;

	(void)state;
	memcpy(meta, frames_array_meta, FRAMES_ARRAY_META_LEN);
	memset(meta + FRAMES_ARRAY_META_LEN - 3, 1, LONG);
	for (int i = 0; i < 4; i++)
		meta[FRAMES_ARRAY_META_LEN - 7 + i] =
			(char)(LONG >> 8 * (3 - i));
	file = frames_open_grid(&bytes, meta, len, NULL);
	text = frames_read(file, "info.json", &text_len);
	assert_true(text_len > 8192 && text_len < 65536);
	expect_info(file, "dtype_truncated", "true");
	free(text);
	free(meta);
	frames_close(file, &bytes);
}

static void open_changed(struct frame_bytes *bytes, size_t at,
			 const void *put, size_t len,
			 struct bfs_file **ret_file)
{
	struct frame_input in = frames_rich_input();

	*bytes = frames_build(&in);
	assert_true(at + len <= bytes->len);
	memcpy(bytes->p + at, put, len);
	*ret_file = frames_open(bytes);
}

/* Where the chunks of the rich frame begin. */
static size_t data_at(void)
{
	struct frame_input in = frames_rich_input();
	struct frame_bytes bytes = frames_build(&in);
	size_t at = bfs_be32(bytes.p + 0x0b);

	free(bytes.p);
	return at;
}

static void a_codec_that_is_not_built_is_unsupported(void **state)
{
	/* Streams of format 6, codec 250, in the first chunk. */
	struct frame_bytes bytes;
	struct bfs_file *file;
	const struct bfs_verdict *verdict;
	uint8_t head[32];
	size_t at = data_at();

	(void)state;
	open_changed(&bytes, at, "", 0, &file);
	memcpy(head, bytes.p + at, sizeof(head));
	frames_close(file, &bytes);
	head[2] = 0x05 | 6 << 5;
	head[22] = 250;
	open_changed(&bytes, at, head, sizeof(head), &file);
	assert_int_equal(bfs_file_judge(file, &verdict, NULL), BFS_OK);
	assert_int_equal(verdict->status, BFS_UNSUPPORTED);
	expect_info(file, "status", "unsupported");
	expect_info(file, "codec", "codec-250");
	frames_close(file, &bytes);
}

static void the_header_of_a_chunk_goes_before_defaults(void **state)
{
	struct frame_bytes bytes;
	struct bfs_file *file;
	uint8_t head[32];
	size_t at = data_at();

	(void)state;
	open_changed(&bytes, at, "", 0, &file);
	expect_info(file, "codec", "lz4");
	memcpy(head, bytes.p + at, sizeof(head));
	frames_close(file, &bytes);
	head[2] = 0x05 | 4 << 5;	/* zstd, byte shuffle no more */
	head[16] = 2;
	open_changed(&bytes, at, head, sizeof(head), &file);
	expect_info(file, "codec", "zstd");
	expect_info(file, "filters", "[ \"bitshuffle\" ]");
	frames_close(file, &bytes);
}

static void damage_is_told_and_the_rest_is_served(void **state)
{
	struct frame_bytes bytes;
	struct bfs_file *file;
	struct bfs_diag diag;
	struct bfs_node node;
	size_t n, at = data_at();
	uint8_t buf[16];

	(void)state;
	/* A first chunk that is none. */
	open_changed(&bytes, at + 12, "\0\0\0\0", 4, &file);
	expect_info(file, "status", "damaged");
	assert_true(frames_find(file, "chunks/0000000000", &node));
	assert_int_not_equal(bfs_file_read(file, &node, 0, buf, 16, &n, &diag),
			     BFS_OK);
	frames_expect(file, "chunks/0000000003", frames_pattern + 3 * 32768,
		      sizeof(frames_pattern) - 3 * 32768);
	frames_close(file, &bytes);
	/* An index that leads nowhere. */
	open_changed(&bytes, 0x27, "\x7f", 1, &file);
	expect_info(file, "status", "damaged");
	expect_info(file, "nchunks", "0");
	assert_true(frames_find(file, "data.bin", &node));
	assert_int_not_equal(bfs_file_open(file, &node, &diag), BFS_OK);
	assert_int_not_equal(bfs_file_read(file, &node, 0, buf, 16, &n, &diag),
			     BFS_OK);
	assert_true(frames_find(file, "chunks", &node));
	assert_false(bfs_file_list(file, &node, 0, (char[256]){ 0 }, &node));
	frames_expect(file, "meta/plain", "\x93\x01\x02\x03", 4);
	frames_close(file, &bytes);
	/* The joined chunks of an array that is none are not its items. */
	file = frames_open_grid(&bytes, frames_array_meta, 20, NULL);
	expect_info(file, "status", "damaged");
	assert_false(frames_find(file, "data.npy", &node));
	assert_true(frames_find(file, "data.bin", &node));
	assert_int_not_equal(bfs_file_open(file, &node, &diag), BFS_OK);
	frames_expect(file, "chunks/0000000003", frames_pattern + 3 * 96, 96);
	frames_close(file, &bytes);
}

/* ---- data.npy and holes ---------------------------------------------- */

static void npy_is_a_header_and_the_items(void **state)
{
	struct frame_bytes bytes;
	struct bfs_file *file = frames_open_grid(&bytes, frames_array_meta,
						 FRAMES_ARRAY_META_LEN, NULL);
	uint8_t *npy, *data;
	size_t npy_len, data_len;

	(void)state;
	npy = frames_read(file, "data.npy", &npy_len);
	data = frames_read(file, "data.bin", &data_len);
	assert_int_equal(data_len, 5 * 7 * 4);
	assert_true(npy_len > data_len && (npy_len - data_len) % 64 == 0);
	assert_memory_equal(npy, "\x93NUMPY", 6);
	assert_non_null(strstr((char *)npy + 10, "'descr': '<i4'"));
	assert_non_null(strstr((char *)npy + 10, "(5, 7)"));
	assert_memory_equal(npy + npy_len - data_len, data, data_len);
	free(npy);
	free(data);
	frames_close(file, &bytes);
}

static void arrays_of_objects_have_no_npy(void **state)
{
	static const char *const dtypes[] = { "|O8", "|S0", "|O ", "<i4" };
	static const bool shown[] = { false, false, true, true };
	char meta[FRAMES_ARRAY_META_LEN];
	struct frame_bytes bytes;
	struct bfs_file *file;
	struct bfs_node node;

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(dtypes); i++) {
		memcpy(meta, frames_array_meta, sizeof(meta));
		memcpy(meta + sizeof(meta) - 3, dtypes[i], 3);
		file = frames_open_grid(&bytes, meta, sizeof(meta), NULL);
		assert_int_equal(frames_find(file, "data.npy", &node),
				 shown[i]);
		frames_close(file, &bytes);
	}
}

static uint64_t stored_of(struct bfs_file *file, const char *path)
{
	struct bfs_attr attr;
	struct bfs_node node;

	assert_true(frames_find(file, path, &node));
	bfs_file_stat(file, &node, &attr);
	return attr.stored_len;
}

static void special_chunks_of_zeros_are_holes(void **state)
{
	static const uint8_t all[4] = { 0x81, 0x84, 0x81, 0x81 };
	static const uint8_t nan[4] = { 0x82, 0x81, 0x81, 0x81 };
	struct frame_bytes bytes;
	struct bfs_file *file = frames_open_rich(&bytes);

	(void)state;
	assert_int_equal(stored_of(file, "data.bin"),
			 sizeof(frames_pattern) - 32768);
	assert_int_equal(stored_of(file, "chunks/0000000001"), 0);
	assert_int_equal(stored_of(file, "chunks/0000000002"), 32768);
	frames_close(file, &bytes);
	file = frames_open_grid(&bytes, frames_array_meta,
				FRAMES_ARRAY_META_LEN, all);
	assert_int_equal(stored_of(file, "data.bin"), 0);
	assert_true(stored_of(file, "data.npy") % 64 == 0);
	assert_true(stored_of(file, "data.npy") > 0);
	frames_close(file, &bytes);
	file = frames_open_grid(&bytes, frames_array_meta,
				FRAMES_ARRAY_META_LEN, nan);
	assert_int_equal(stored_of(file, "data.bin"), 5 * 7 * 4);
	assert_int_equal(stored_of(file, "chunks/0000000000"), 96);
	frames_close(file, &bytes);
}

static void hole_at_the_end_of_a_long_index_is_found(void **state)
{
	struct frame_input in = {
		.data = frames_pattern,
		.len = 1024 * 64,
		.chunksize = 64,
		.blocksize = 64,
		.typesize = 4,
	};
	struct frame_bytes bytes;
	struct bfs_file *file;

	(void)state;
	for (size_t n_holes = 0; n_holes < 3; n_holes++) {
		in.special[1023] = n_holes > 0 ? 0x81 : 0;
		in.special[600] = n_holes > 1 ? 0x84 : 0;
		bytes = frames_build(&in);
		file = frames_open(&bytes);
		assert_int_equal(stored_of(file, "data.bin"),
				 (1024 - n_holes) * 64);
		frames_close(file, &bytes);
	}
}

/* ---- metalayers as JSON ---------------------------------------------- */

static void metalayers_are_decoded_by_name(void **state)
{
	struct frame_bytes bytes;
	struct bfs_file *file = frames_open_rich(&bytes);
	struct json_object *meta = frames_json(file, "meta.json");
	struct json_object *vl = frames_json(file, "vlmeta.json");

	(void)state;
	assert_int_equal(json_object_object_length(meta), FRAMES_N_METAS);
	assert_int_equal(json_object_object_length(vl), FRAMES_N_VLMETAS);
	assert_string_equal(frames_text(meta, "a/b"), "x");
	assert_string_equal(frames_text(meta, "50%"), "1");
	assert_string_equal(frames_text(meta, "unicod\xc3\xa9"), "3");
	assert_true(has(meta, "") && has(meta, "raw%FF"));
	assert_string_equal(frames_text(meta, "nothing"),
			    "{ \"base64\": \"kw==\" }");
	assert_string_equal(frames_text(meta, "empty"),
			    "{ \"base64\": \"\" }");
	assert_string_equal(frames_text(vl, "same"), "1");
	assert_string_equal(frames_text(vl, "same%~2"), "2");
	assert_string_equal(frames_text(vl, "same%~3"), "3");
	assert_string_equal(frames_text(vl, "same%25~2"), "4");
	assert_string_equal(frames_text(vl, "other"), "hello");
	json_object_put(meta);
	json_object_put(vl);
	frames_close(file, &bytes);
}

/* Of what JSON cannot hold, what is spelt so, and what only looks like it. */
static void different_names_are_different_keys(void **state)
{
	static const struct frame_layer layers[] = {
		FRAME_LAYER("x\xff", "\x01"), FRAME_LAYER("x\xfe", "\x02"),
		FRAME_LAYER("x%FF", "\x03"), FRAME_LAYER("x%25FF", "\x04"),
		FRAME_LAYER("x\xef\xbf\xbd", "\x05"),
		FRAME_LAYER("\xc3\xa9\xc3", "\x06"),
		FRAME_LAYER("\xc3\xa9%C3", "\x07"),
		FRAME_LAYER("x\xff", "\x08"), FRAME_LAYER("x%FF%~2", "\x09"),
		FRAME_LAYER("100%", "\x0a"), FRAME_LAYER("5%af/", "\x0b"),
	};
	static const char *const keys[] = {
		"x%FF", "x%FE", "x%25FF", "x%2525FF", "x\xef\xbf\xbd",
		"\xc3\xa9%C3", "\xc3\xa9%25C3", "x%FF%~2", "x%25FF%25~2",
		"100%", "5%af/",
	};
	enum { N = BFS_ARRAY_LEN(layers) };
	struct frame_input in = { .vlmetas = layers, .n_vlmetas = N,
				  .typesize = 1 };
	struct frame_bytes bytes = frames_build(&in);
	struct bfs_file *file = frames_open(&bytes);
	struct json_object *vl = frames_json(file, "vlmeta.json");
	char number[8];

	(void)state;
	assert_int_equal(json_object_object_length(vl), N);
	for (unsigned i = 0; i < N; i++) {
		snprintf(number, sizeof(number), "%u", i + 1);
		assert_string_equal(frames_text(vl, keys[i]), number);
	}
	json_object_put(vl);
	frames_close(file, &bytes);
}

static bool text_has(struct bfs_file *file, const char *path, const char *word)
{
	size_t len;
	uint8_t *text = frames_read(file, path, &len);
	bool found = memmem(text, len, word, strlen(word)) != NULL;

	free(text);
	return found;
}

static void credentials_are_redacted(void **state)
{
	struct frame_bytes bytes;
	struct bfs_file *file = frames_open_rich(&bytes);
	struct json_object *meta = frames_json(file, "meta.json");

	(void)state;
	assert_string_equal(frames_text(meta, "auth_token"), "(redacted)");
	assert_false(text_has(file, "meta.json", "secret"));
	assert_true(text_has(file, "vlmeta.json", "secrets"));
	assert_false(text_has(file, "vlmeta.json", "pa55"));
	json_object_put(meta);
	frames_close(file, &bytes);
}

/* A vlmetalayer of len bytes that is one msgpack bin. */
static uint8_t *make_bin(size_t len)
{
	uint8_t *p = calloc(1, len);

	p[0] = 0xc6;
	for (int i = 0; i < 4; i++)
		p[1 + i] = (uint8_t)((len - 5) >> 8 * (3 - i));
	return p;
}

static void long_values_are_cut_and_say_so(void **state)
{
	enum { FITS = 65536, LONG = 65537 };
	uint8_t *fits = make_bin(FITS), *longer = make_bin(LONG);
	uint8_t *secret = make_bin(LONG);
	const struct frame_layer layers[] = {
		{ "fits", 4, fits, FITS },
		{ "long", 4, longer, LONG },
		{ "secret", 6, secret, LONG },
	};
	struct frame_input in = { .vlmetas = layers, .n_vlmetas = 3,
				  .typesize = 1 };
	struct json_object *vl, *value;
	struct bfs_file *file;
	struct frame_bytes bytes;

	(void)state;
	memcpy(secret + 100, "auth_token", 10);
	bytes = frames_build(&in);
	file = frames_open(&bytes);
	vl = frames_json(file, "vlmeta.json");
	assert_true(json_object_object_get_ex(vl, "fits", &value));
	assert_false(has(value, "truncated"));
	assert_true(has(value, "base64"));
	assert_true(json_object_object_get_ex(vl, "long", &value));
	assert_int_equal(int_of(value, "truncated"), LONG);
	assert_int_equal(strlen(frames_text(value, "base64")),
			 (65536 + 2) / 3 * 4);
	assert_true(json_object_object_get_ex(vl, "secret", &value));
	assert_false(has(value, "base64"));
	assert_string_equal(frames_text(value, "redacted"), "true");
	json_object_put(vl);
	frames_close(file, &bytes);
	free(fits);
	free(longer);
	free(secret);
}

/* Values in one block each, of which 64 KiB are shown. */
static void a_listing_decodes_sixteen_mib_of_them_at_most(void **state)
{
	enum { N = 8, LEN = 5 << 20 };
	static const char names[N][3] = { "v0", "v1", "v2", "v3", "v4", "v5",
					  "v6", "v7" };
	uint8_t *p = calloc(1, LEN);
	struct frame_layer layers[N];
	struct frame_input in = { .vlmetas = layers, .n_vlmetas = N,
				  .typesize = 1 };
	struct bfs_engine_stats before, after;
	struct json_object *vl, *value;
	struct frame_bytes bytes;
	struct bfs_file *file;
	struct bfs_node node;
	struct bfs_attr attr = { .len = 0 };

	(void)state;
	assert_non_null(p);
	for (size_t i = 0; i < N; i++)
		layers[i] = (struct frame_layer){ names[i], 2, p, LEN };
	bytes = frames_build(&in);
	file = frames_open(&bytes);
	bfs_engine_get_stats(frames_engine, &before);
	assert_true(frames_find(file, "vlmeta.json", &node));
	bfs_file_stat(file, &node, &attr);
	assert_true(attr.len > 3 * 65536);
	bfs_engine_get_stats(frames_engine, &after);
	assert_true(after.decoded_len - before.decoded_len <= 16 << 20);
	vl = frames_json(file, "vlmeta.json");
	for (size_t i = 0; i < N; i++) {
		const char *key = i < 3 ? "truncated" : "omitted";

		assert_true(json_object_object_get_ex(vl, names[i], &value));
		assert_int_equal(int_of(value, key), LEN);
		assert_int_equal(has(value, "base64"), i < 3);
	}
	json_object_put(vl);
	frames_close(file, &bytes);
	free(p);
}

static void too_many_long_values_are_left_out(void **state)
{
	enum { N = 400, LEN = 60000 };
	uint8_t *p = make_bin(LEN);
	struct frame_layer *layers = calloc(N, sizeof(*layers));
	struct frame_input in = { .vlmetas = layers, .n_vlmetas = N,
				  .typesize = 1 };
	struct json_object *vl, *value;
	struct bfs_file *file;
	struct frame_bytes bytes;
	size_t n_left_out = 0, len;

	(void)state;
	for (size_t i = 0; i < N; i++)
		layers[i] = (struct frame_layer){ "same", 4, p, LEN };
	bytes = frames_build(&in);
	file = frames_open(&bytes);
	vl = frames_json(file, "vlmeta.json");
	assert_int_equal(json_object_object_length(vl), N);
	json_object_object_foreach(vl, key, v) {
		(void)key;
		value = v;
		n_left_out += has(value, "omitted");
	}
	assert_true(n_left_out > 200 && n_left_out < 300);
	free(frames_read(file, "vlmeta.json", &len));
	assert_true(len < 16 << 20);
	json_object_put(vl);
	frames_close(file, &bytes);
	free(layers);
	free(p);
}

static void a_broken_value_is_an_error_of_its_own(void **state)
{
	static const struct frame_layer layers[] = {
		FRAME_LAYER("first", "\x01"),
		FRAME_LAYER("broken", "\x02"),
		FRAME_LAYER("last", "\x03"),
	};
	struct frame_input in = { .vlmetas = layers, .n_vlmetas = 3,
				  .typesize = 1 };
	struct frame_bytes bytes = frames_build(&in);
	struct json_object *vl, *value;
	struct bfs_file *file;
	uint8_t *chunk = NULL;

	(void)state;
	for (size_t i = 0; i + 33 <= bytes.len; i++)
		if (bytes.p[i + 32] == 2 && bytes.p[i] == 5 &&
		    bytes.p[i + 1] == 1)
			chunk = bytes.p + i;
	assert_non_null(chunk);
	chunk[12] = 0;	/* its own length */
	file = frames_open(&bytes);
	vl = frames_json(file, "vlmeta.json");
	assert_string_equal(frames_text(vl, "first"), "1");
	assert_string_equal(frames_text(vl, "last"), "3");
	assert_true(json_object_object_get_ex(vl, "broken", &value));
	assert_true(has(value, "error"));
	json_object_put(vl);
	frames_close(file, &bytes);
}

/* Early frames keep such a thing: a fixed metalayer that is a chunk. */
static void a_fixed_metalayer_may_be_a_chunk(void **state)
{
	static const char stored[] =
		"\x05\x01\x07\x01\6\0\0\0\6\0\0\0\x26\0\0\0"
		"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xa5hello";
	static const struct frame_layer layers[] = {
		FRAME_LAYER("usermeta", stored),
		FRAME_LAYER("broken", "\x05\x01\x07\x01\6\0\0\0\6\0"),
	};
	struct frame_input in = { .metas = layers, .n_metas = 2,
				  .typesize = 1 };
	struct frame_bytes bytes = frames_build(&in);
	struct json_object *meta, *value;
	struct bfs_source *source;
	struct bfs_array *array;
	struct bfs_container *container;
	struct bfs_file *file;
	struct bfs_node node;
	struct bfs_diag diag;

	(void)state;
	assert_int_equal(bfs_source_memory(bytes.p, bytes.len, false, &source,
					   &diag), BFS_OK);
	assert_int_equal(
		bfs_container_open(source, NULL, NULL, NULL, &container, &diag),
		BFS_OK);
	assert_int_equal(container->n_metas, 2);
	container->metas[0].is_chunk = true;
	container->metas[1].is_chunk = true;
	assert_int_equal(
		bfs_array_open(frames_engine, container, &array, &diag),
		BFS_OK);
	assert_int_equal(bfs_file_new(array, UINT32_MAX, &file, &diag),
			 BFS_OK);
	frames_expect(file, "meta/usermeta", "\xa5hello", 6);
	assert_true(frames_find(file, "meta/broken", &node));
	assert_int_not_equal(bfs_file_open(file, &node, &diag), BFS_OK);
	meta = frames_json(file, "meta.json");
	assert_string_equal(frames_text(meta, "usermeta"), "hello");
	assert_true(json_object_object_get_ex(meta, "broken", &value));
	assert_true(has(value, "error"));
	json_object_put(meta);
	bfs_source_unref(source);
	frames_close(file, &bytes);
}

/* ---- threads and memory ---------------------------------------------- */

static const char *const text_paths[] = {
	"info.json", "meta.json", "vlmeta.json", "data.bin",
};

/* Sums what a reader sees, through texts that nobody has made yet. */
static void *read_texts(void *arg)
{
	struct bfs_file *file = arg;
	uint64_t sum = 1;

	for (size_t i = 0; i < BFS_ARRAY_LEN(text_paths); i++) {
		struct bfs_node node;
		struct bfs_attr attr;
		char *buf;
		size_t n = 0;

		if (!frames_find(file, text_paths[i], &node))
			return NULL;
		bfs_file_stat(file, &node, &attr);
		buf = malloc(attr.len);
		if (bfs_file_read(file, &node, 0, buf, attr.len, &n, NULL) ||
		    n != attr.len || !n) {
			free(buf);
			return NULL;
		}
		sum = sum * 31 + attr.stored_len;
		for (size_t k = 0; k < n; k++)
			sum = sum * 31 + (uint8_t)buf[k];
		free(buf);
	}
	return (void *)(uintptr_t)(sum | 1);
}

static void threads_see_the_same_whole_texts(void **state)
{
	enum { N = 4 };

	(void)state;
	for (int round = 0; round < 10; round++) {
		struct frame_bytes bytes;
		struct bfs_file *file = frames_open_rich(&bytes);
		pthread_t threads[N];
		void *sums[N];

		for (int i = 0; i < N; i++)
			assert_int_equal(pthread_create(&threads[i], NULL,
							read_texts, file), 0);
		for (int i = 0; i < N; i++)
			pthread_join(threads[i], &sums[i]);
		assert_non_null(sums[0]);
		for (int i = 1; i < N; i++)
			assert_ptr_equal(sums[i], sums[0]);
		frames_close(file, &bytes);
	}
}

/* Opens and reads all texts; whatever fails must be lack of memory, and
 * leaves nothing behind: `want` is what all texts sum up to. */
static bool use_file(const struct frame_bytes *bytes, const void *want)
{
	struct bfs_file *file;
	enum bfs_err err = frames_try_open(bytes, &file);
	bool all = err == BFS_OK;

	assert_true(err == BFS_OK || err == BFS_ERR_NOMEM);
	if (err != BFS_OK)
		return false;
	for (size_t i = 0; i < BFS_ARRAY_LEN(text_paths); i++) {
		struct bfs_diag diag = { 0 };
		struct bfs_node node;
		char buf[100];
		size_t n;

		assert_true(frames_find(file, text_paths[i], &node));
		err = bfs_file_read(file, &node, 0, buf, sizeof(buf), &n,
				    &diag);
		assert_true(err == BFS_OK || err == BFS_ERR_NOMEM);
		assert_true(err != BFS_OK || n == sizeof(buf));
		assert_true(err == BFS_OK || diag.text[0]);
		all = all && err == BFS_OK;
	}
	bfs_mem_fail_at(0);
	assert_ptr_equal(read_texts(file), want);
	bfs_file_free(file);
	return all;
}

static void a_failed_allocation_fails_one_call_alone(void **state)
{
	struct frame_input in = frames_rich_input();
	struct frame_bytes bytes = frames_build(&in);
	struct bfs_file *file = frames_open(&bytes);
	void *want = read_texts(file);
	uint64_t n, held;
	bool done = false;

	(void)state;
	bfs_file_free(file);
	assert_non_null(want);
	assert_true(use_file(&bytes, want));
	bfs_engine_trim(frames_engine);
	held = bfs_mem_used();
	for (n = 1; n < 2000 && !done; n++) {
		bfs_mem_fail_at(n);
		done = use_file(&bytes, want);
		bfs_mem_fail_at(0);
	}
	assert_true(done && n > 20);
	bfs_engine_trim(frames_engine);
	assert_true(bfs_mem_used() <= held + 65536);
	free(bytes.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(info_tells_the_facts_of_a_frame),
		cmocka_unit_test(info_tells_the_facts_of_an_array),
		cmocka_unit_test(
			info_stays_short_with_a_dtype_of_any_length),
		cmocka_unit_test(a_codec_that_is_not_built_is_unsupported),
		cmocka_unit_test(the_header_of_a_chunk_goes_before_defaults),
		cmocka_unit_test(damage_is_told_and_the_rest_is_served),
		cmocka_unit_test(npy_is_a_header_and_the_items),
		cmocka_unit_test(arrays_of_objects_have_no_npy),
		cmocka_unit_test(special_chunks_of_zeros_are_holes),
		cmocka_unit_test(hole_at_the_end_of_a_long_index_is_found),
		cmocka_unit_test(metalayers_are_decoded_by_name),
		cmocka_unit_test(different_names_are_different_keys),
		cmocka_unit_test(credentials_are_redacted),
		cmocka_unit_test(long_values_are_cut_and_say_so),
		cmocka_unit_test(
			a_listing_decodes_sixteen_mib_of_them_at_most),
		cmocka_unit_test(too_many_long_values_are_left_out),
		cmocka_unit_test(a_broken_value_is_an_error_of_its_own),
		cmocka_unit_test(a_fixed_metalayer_may_be_a_chunk),
		cmocka_unit_test(threads_see_the_same_whole_texts),
		cmocka_unit_test(a_failed_allocation_fails_one_call_alone),
	};

	return cmocka_run_group_tests(tests, frames_setup, frames_teardown);
}
