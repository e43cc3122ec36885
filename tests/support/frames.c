/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames.c - frames built byte by byte, and an opened file of them.
 */
#include "support/frames.h"

#include "base/bytes.h"
#include "support/strictjson.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- building a frame ------------------------------------------------ */

static void put(struct frame_bytes *out, const void *p, size_t len)
{
	if (out->len + len >= out->cap) {
		out->cap = 2 * (out->len + len) + 64;
		out->p = realloc(out->p, out->cap);
		assert_non_null(out->p);
	}
	if (len)
		memcpy(out->p + out->len, p, len);
	out->len += len;
}

static void put_be(struct frame_bytes *out, uint64_t v, unsigned n)
{
	while (n--) {
		uint8_t c = (uint8_t)(v >> 8 * n);

		put(out, &c, 1);
	}
}

static void put_le(struct frame_bytes *out, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint8_t c = (uint8_t)(v >> 8 * i);

		put(out, &c, 1);
	}
}

/* A chunk that stores its bytes as they are. */
static void put_chunk(struct frame_bytes *out, const void *p, size_t len,
		      size_t blocksize, uint8_t typesize)
{
	static const uint8_t rest[16];

	put(out, "\x05\x01\x07", 3);
	put_le(out, typesize, 1);
	put_le(out, len, 4);
	put_le(out, len ? blocksize : 1, 4);
	put_le(out, len + 32, 4);
	put(out, rest, sizeof(rest));
	put(out, p, len);
}

static void put_layers(struct frame_bytes *out,
		       const struct frame_layer *layers, size_t n, size_t base,
		       bool as_chunk)
{
	struct frame_bytes values = { 0 };
	size_t names = 0, at;

	for (size_t i = 0; i < n; i++)
		names += 6 + layers[i].name_len;
	put(out, "\xcd", 1);
	put_be(out, (6 + names + (base == 0)) & 0xffff, 2);
	put(out, "\xde", 1);
	put_be(out, n, 2);
	at = out->len - base + names + 3;
	for (size_t i = 0; i < n; i++) {
		const struct frame_layer *l = &layers[i];
		size_t stored = l->len + (as_chunk ? 32 : 0);

		put_be(out, 0xa0 + l->name_len, 1);
		put(out, l->name, l->name_len);
		put(out, "\xd2", 1);
		put_be(out, at + values.len, 4);
		put(&values, "\xc6", 1);
		put_be(&values, stored, 4);
		if (as_chunk)
			put_chunk(&values, l->p, l->len, l->len, 1);
		else
			put(&values, l->p, l->len);
	}
	put(out, "\xdc", 1);
	put_be(out, n, 2);
	put(out, values.p, values.len);
	free(values.p);
}

static size_t put_data(struct frame_bytes *out, const struct frame_input *in,
		       struct frame_bytes *index)
{
	size_t start = out->len, n = 0;

	for (size_t at = 0; at < in->len; at += in->chunksize, n++) {
		size_t len = in->len - at;

		if (len > in->chunksize)
			len = in->chunksize;
		if (n < sizeof(in->special) && in->special[n]) {
			put_le(index, (uint64_t)in->special[n] << 56, 8);
			continue;
		}
		put_le(index, out->len - start, 8);
		put_chunk(out, in->data + at, len, in->blocksize,
			  in->typesize);
	}
	return out->len - start;
}

struct frame_bytes frames_build(const struct frame_input *in)
{
	static const uint8_t zeros[16];
	struct frame_bytes out = { 0 }, index = { 0 };
	size_t header_len, cbytes, trailer;

	put(&out, "\x9e\xa8" "b2frame\0\xd2", 11);
	put_be(&out, 0, 4);
	put(&out, "\xcf", 1);
	put_be(&out, 0, 8);
	put(&out, "\xa4\x12\x00\x51\x03\xd3", 6);
	put_be(&out, in->len, 8);
	put(&out, "\xd3", 1);
	put_be(&out, 0, 8);
	put(&out, "\xd2", 1);
	put_be(&out, in->typesize, 4);
	put(&out, "\xd2", 1);
	put_be(&out, in->blocksize, 4);
	put(&out, "\xd2", 1);
	put_be(&out, in->len ? in->chunksize : UINT32_MAX, 4);
	put(&out, "\xd1\0\1\xd1\0\1\xc2\xd8\6\0\0\0\0\0\1\1\0", 17);
	put(&out, zeros, 8);
	out.len = 0x57;
	put(&out, "\x93", 1);
	put_layers(&out, in->metas, in->n_metas, 0, false);
	header_len = out.len;
	cbytes = put_data(&out, in, &index);
	if (in->len)
		put_chunk(&out, index.p, index.len, index.len, 8);
	trailer = out.len;
	put(&out, "\x94\x01\x93", 3);
	put_layers(&out, in->vlmetas, in->n_vlmetas, trailer, true);
	put(&out, "\xce", 1);
	put_be(&out, out.len - trailer + 22, 4);
	put(&out, "\xd8\0", 2);
	put(&out, zeros, 16);
	for (unsigned i = 0; i < 8; i++) {
		if (i >= 4)
			out.p[0x0b + i - 4] =
				(uint8_t)(header_len >> 8 * (7 - i));
		out.p[0x10 + i] = (uint8_t)((uint64_t)out.len >> 8 * (7 - i));
		out.p[0x27 + i] = (uint8_t)((uint64_t)cbytes >> 8 * (7 - i));
	}
	free(index.p);
	return out;
}

/* ---- an opened file -------------------------------------------------- */

struct bfs_engine *frames_engine;

int frames_setup(void **state)
{
	struct bfs_engine_options options = { 1 << 20, 2 };

	(void)state;
	for (size_t i = 0; i < sizeof(frames_pattern); i++)
		frames_pattern[i] = (uint8_t)(i * 7 + i / 256);
	return bfs_engine_new(&options, &frames_engine) != BFS_OK;
}

int frames_teardown(void **state)
{
	(void)state;
	bfs_engine_free(frames_engine);
	return 0;
}

enum bfs_err frames_open_source(struct bfs_source *source, const char *views,
				const char *name, struct bfs_file **ret_file,
				struct bfs_diag *diag)
{
	struct bfs_array *array;
	struct bfs_container *container;
	uint32_t on;

	BFS_TRY(bfs_view_parse(views, &on, diag));
	BFS_TRY(bfs_container_open(source, name, NULL,
				   bfs_engine_cache(frames_engine), &container,
				   diag));
	BFS_TRY(bfs_array_open(frames_engine, container, &array, diag));
	return bfs_file_new(array, on, ret_file, diag);
}

enum bfs_err frames_try_open(const struct frame_bytes *bytes,
			     struct bfs_file **ret_file)
{
	struct bfs_diag diag = { 0 };
	struct bfs_source *source;
	enum bfs_err err;

	BFS_TRY(bfs_source_memory(bytes->p, bytes->len, false, &source,
				  &diag));
	err = frames_open_source(source, NULL, "x.b2frame", ret_file, &diag);
	bfs_source_unref(source);
	return err;
}

struct bfs_file *frames_open_with(const struct frame_bytes *bytes,
				  const char *views)
{
	struct bfs_source *source;
	struct bfs_file *file;
	struct bfs_diag diag;

	assert_int_equal(bfs_source_memory(bytes->p, bytes->len, false,
					   &source, &diag), BFS_OK);
	assert_int_equal(frames_open_source(source, views, NULL, &file,
					    &diag), BFS_OK);
	bfs_source_unref(source);
	return file;
}

struct bfs_file *frames_open(const struct frame_bytes *bytes)
{
	struct bfs_file *file;

	assert_int_equal(frames_try_open(bytes, &file), BFS_OK);
	return file;
}

struct bfs_node frames_root(void)
{
	return (struct bfs_node){ BFS_VIEW_ROOT, 0, 0 };
}

bool frames_find(struct bfs_file *file, const char *path,
		 struct bfs_node *ret_node)
{
	struct bfs_node node = frames_root();

	while (*path) {
		size_t len = strcspn(path, "/");

		if (!bfs_file_lookup(file, &node, path, len, &node))
			return false;
		path += len + (path[len] == '/');
	}
	*ret_node = node;
	return true;
}

/* Reads a whole entry; the caller frees. */
uint8_t *frames_read(struct bfs_file *file, const char *path,
			 size_t *ret_len)
{
	struct bfs_node node;
	struct bfs_attr attr;
	struct bfs_diag diag;
	uint8_t *buf;

	assert_true(frames_find(file, path, &node));
	bfs_file_stat(file, &node, &attr);
	buf = malloc(attr.len + 1);
	assert_non_null(buf);
	assert_int_equal(bfs_file_open(file, &node, &diag), BFS_OK);
	assert_int_equal(bfs_file_read(file, &node, 0, buf, attr.len + 1,
				       ret_len, &diag), BFS_OK);
	assert_int_equal(*ret_len, attr.len);
	buf[*ret_len] = 0;
	return buf;
}

void frames_expect(struct bfs_file *file, const char *path,
			 const void *want, size_t len)
{
	uint8_t *buf;
	size_t n;

	buf = frames_read(file, path, &n);
	assert_int_equal(n, len);
	if (n)
		assert_memory_equal(buf, want, n);
	free(buf);
}

struct json_object *frames_json(struct bfs_file *file, const char *path)
{
	struct json_object *obj;
	uint8_t *text;
	size_t len;

	text = frames_read(file, path, &len);
	obj = strict_json((char *)text, len, 80);
	assert_true(json_object_is_type(obj, json_type_object));
	free(text);
	return obj;
}

const char *frames_text(struct json_object *obj, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(obj, key, &value))
		return NULL;
	return json_object_get_string(value);
}

/* ---- a frame with everything ----------------------------------------- */

const struct frame_layer frames_metas[FRAMES_N_METAS] = {
	FRAME_LAYER("plain", "\x93\x01\x02\x03"),
	FRAME_LAYER("", "\xc0"),
	FRAME_LAYER(".", "\xc3"),
	FRAME_LAYER("..", "\xc2"),
	FRAME_LAYER("a/b", "\xa1" "x"),
	FRAME_LAYER("50%", "\x01"),
	FRAME_LAYER("tab\tbell\a\x7f", "\x02"),
	FRAME_LAYER("unicod\xc3\xa9", "\x03"),
	FRAME_LAYER("raw\xff", "\x04"),
	FRAME_LAYER("empty", ""),
	FRAME_LAYER("nothing", "\x93"),
	FRAME_LAYER("auth_token", "\x81\xa1u\xa6secret"),
};

const char *const frames_meta_files[FRAMES_N_METAS] = {
	"plain", "%", "%2E", "%2E%2E", "a%2Fb", "50%25",
	"tab%09bell%07%7F", "unicod\xc3\xa9", "raw\xff", "empty", "nothing",
	"auth_token",
};

const struct frame_layer frames_vlmetas[FRAMES_N_VLMETAS] = {
	FRAME_LAYER("same", "\x01"),
	FRAME_LAYER("other", "\xa5" "hello"),
	FRAME_LAYER("same", "\x02"),
	FRAME_LAYER("same%~2", "\x04"),
	FRAME_LAYER("same", "\x03"),
	FRAME_LAYER("secrets", "\x82\xaa" "auth_token\xa5" "pa55x\xa1k\x81\xa8"
	      "password\xa5pa55y"),
	FRAME_LAYER("", "\x05"),
	FRAME_LAYER("", "\x06"),
};

const char *const frames_vlmeta_files[FRAMES_N_VLMETAS] = {
	"same", "other", "same%~2", "same%25~2", "same%~3", "secrets", "%",
	"%%~2",
};

uint8_t frames_pattern[100000];

struct frame_input frames_rich_input(void)
{
	return (struct frame_input){
		.metas = frames_metas, .n_metas = BFS_ARRAY_LEN(frames_metas),
		.vlmetas = frames_vlmetas,
		.n_vlmetas = BFS_ARRAY_LEN(frames_vlmetas),
		.data = frames_pattern, .len = sizeof(frames_pattern),
		.chunksize = 32768, .blocksize = 512, .typesize = 4,
		.special = { 0, 0x81 },
	};
}

struct bfs_file *frames_open_rich(struct frame_bytes *ret_bytes)
{
	struct frame_input in = frames_rich_input();

	*ret_bytes = frames_build(&in);
	return frames_open(ret_bytes);
}

void frames_close(struct bfs_file *file, struct frame_bytes *bytes)
{
	bfs_file_free(file);
	free(bytes->p);
}

/* (5, 7) in chunks of (4, 4), blocks of (2, 3), items "<i4". */
const char frames_array_meta[FRAMES_ARRAY_META_LEN + 1] =
	"\x97\0\2\x92\xd3\0\0\0\0\0\0\0\5\xd3\0\0\0\0\0\0\0\7"
	"\x92\xd2\0\0\0\4\xd2\0\0\0\4\x92\xd2\0\0\0\2\xd2\0\0\0\3"
	"\0\xdb\0\0\0\3<i4";

struct bfs_file *frames_open_grid(struct frame_bytes *ret_bytes,
				  const char *meta, size_t len,
				  const uint8_t *special)
{
	const struct frame_layer metas[] = { { "b2nd", 4, meta, len } };
	struct frame_input in = {
		.metas = metas, .n_metas = 1,
		.data = frames_pattern, .len = 4 * 96,
		.chunksize = 96, .blocksize = 24, .typesize = 4,
	};

	if (special)
		memcpy(in.special, special, 4);
	*ret_bytes = frames_build(&in);
	return frames_open(ret_bytes);
}

