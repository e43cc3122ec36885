/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_container_array.c - what a hostile array metalayer can claim: the
 * frame says so and gives its chunks and their joined bytes all the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "support/build2.h"
#include "support/frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "x.b2nd"
#define META FRAMES_ARRAY_META_LEN

/* Where things lie in the metalayer of frames_array_meta. */
enum { AT_NDIM = 2, AT_SHAPE = 5, AT_CHUNKSHAPE = 24, AT_BLOCKSHAPE = 35,
       AT_DTYPE_LEN = 46, AT_DTYPE = 50 };

static uint8_t data[4 * 96];

static int setup(void **state)
{
	build_fill(data, sizeof(data), 9);
	return hostile_setup(state);
}

/* Four chunks of 96 bytes in blocks of 24: (5, 7) in (4, 4) in (2, 3). */
static struct build make_array(const char *meta, size_t len)
{
	const struct frame_layer metas[] = { { "b2nd", 4, meta, len } };
	struct frame_input in = {
		.metas = metas, .n_metas = 1, .data = data,
		.len = sizeof(data), .chunksize = 96, .blocksize = 24,
		.typesize = 4,
	};
	struct frame_bytes b = frames_build(&in);

	return (struct build){ b.p, b.len, b.cap };
}

/* The frame of an array whose metalayer was changed at `at`. */
static struct build patched(size_t at, uint64_t v, unsigned n)
{
	struct build meta = { 0 }, b;

	build_bytes(&meta, frames_array_meta, META);
	patch_be(&meta, at, v, n);
	b = make_array((const char *)meta.p, meta.len);
	free(meta.p);
	return b;
}

/* The array is not believed: chunks are served, and no joined bytes, which
 * would be taken for it in another order. */
static void expect_no_array(struct build *b, const char *word)
{
	struct bfs_array *a = hostile_open(b, NAME);
	struct bfs_file *file;
	struct bfs_attr attr;
	struct bfs_node node;

	expect_blamed(a, BFS_DAMAGED, word);
	assert_false(a->has_nd);
	expect_failure(a, BFS_STREAM_DATA, 0, BFS_ERR_CORRUPT, word);
	expect_stream(a, BFS_STREAM_CHUNK, 3, data + 288, 96);
	read_all_streams(a, 4096);
	bfs_array_close(a);
	file = hostile_file(b, NAME);
	assert_false(frames_find(file, "data.npy", &node));
	assert_true(frames_find(file, "data.bin", &node));
	bfs_file_stat(file, &node, &attr);
	assert_int_equal(attr.len, sizeof(data));
	assert_int_equal(bfs_file_open(file, &node, NULL), BFS_ERR_CORRUPT);
	bfs_file_free(file);
	free(b->p);
}

static void array_of_the_worked_example_is_served(void **state)
{
	struct build b = make_array(frames_array_meta, META);
	struct bfs_array *a = hostile_open(&b, NAME);
	uint8_t got[5 * 7 * 4];
	struct bfs_stream s = { BFS_STREAM_DATA, 0 };
	/* Item (2, 5) lies in chunk 1 at byte 52, (4, 6) in 3 at 8. */
	static const struct { unsigned i, j, at; } items[] = {
		{ 2, 5, 96 + 52 }, { 3, 3, 84 }, { 4, 6, 288 + 8 },
		{ 1, 4, 96 + 12 }, { 0, 0, 0 },
	};

	(void)state;
	expect_good(a);
	assert_true(a->has_nd);
	assert_int_equal(bfs_array_read(a, &s, 0, got, sizeof(got), NULL),
			 BFS_OK);
	for (size_t k = 0; k < sizeof(items) / sizeof(*items); k++)
		assert_memory_equal(got + (items[k].i * 7 + items[k].j) * 4,
				    data + items[k].at, 4);
	bfs_array_close(a);
	free(b.p);
}

static void more_than_sixteen_dimensions_are_refused(void **state)
{
	static const unsigned ndims[] = { 17, 127, 255 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct build b = patched(AT_NDIM, ndims[i], 1);

		expect_no_array(&b, "array metalayer 'b2nd'");
	}
}

static void other_dimensions_than_markers_say_are_refused(void **state)
{
	static const unsigned ndims[] = { 0, 1, 3, 16 };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct build b = patched(AT_NDIM, ndims[i], 1);

		expect_no_array(&b, "array metalayer 'b2nd'");
	}
}

static void negative_shape_is_refused(void **state)
{
	struct build b = patched(AT_SHAPE, UINT64_MAX, 8);

	(void)state;
	expect_no_array(&b, "");
	b = patched(AT_SHAPE, UINT64_C(1) << 63, 8);
	expect_no_array(&b, "");
}

static void chunks_and_blocks_without_extent_are_refused(void **state)
{
	static const size_t places[] = { AT_CHUNKSHAPE, AT_BLOCKSHAPE };
	static const uint64_t extents[] = { 0, UINT32_MAX,
					    UINT32_C(1) << 31 };

	(void)state;
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 3; k++) {
			struct build b = patched(places[i], extents[k], 4);

			expect_no_array(&b, "");
		}
}

static void shape_whose_product_overflows_is_refused(void **state)
{
	struct build b = patched(AT_SHAPE, INT64_MAX, 8);

	(void)state;
	expect_no_array(&b, "");
	b = patched(AT_SHAPE, UINT64_C(1) << 61, 8);
	expect_no_array(&b, "");
}

static void sixteen_dimensions_of_gibi_items_are_refused(void **state)
{
	struct build m = { 0 }, b;

	(void)state;
	build_bytes(&m, "\x97\0\x10\xa0", 4);
	for (int i = 0; i < 16; i++) {
		build_byte(&m, 0xd3);
		build_be64(&m, UINT64_C(1) << 32);
	}
	for (int k = 0; k < 2; k++) {
		build_byte(&m, 0xa0);
		for (int i = 0; i < 16; i++) {
			build_byte(&m, 0xd2);
			build_be32(&m, INT32_MAX);
		}
	}
	build_bytes(&m, "\0\xdb\0\0\0\3<i4", 9);
	b = make_array((const char *)m.p, m.len);
	expect_no_array(&b, "");
	free(m.p);
}

static void chunk_of_another_size_than_the_frames_is_refused(void **state)
{
	/* 4 x 4 items in blocks of 2 x 2 would have 64 bytes. */
	struct build b = patched(AT_BLOCKSHAPE + 5, 2, 4);

	(void)state;
	expect_no_array(&b, "those of the frame 96");
}

static void grid_of_other_than_nchunks_is_refused(void **state)
{
	struct build b = patched(AT_SHAPE, 50, 8);

	(void)state;
	expect_no_array(&b, "the frame 4");
	b = patched(AT_SHAPE, 0, 8);
	expect_no_array(&b, "the frame 4");
}

static void metalayer_shorter_than_its_arrays_is_refused(void **state)
{
	(void)state;
	for (size_t len = 0; len < META; len++) {
		struct build b = make_array(frames_array_meta, len);

		expect_no_array(&b, "array metalayer 'b2nd'");
	}
}

static void dtype_longer_than_its_metalayer_is_refused(void **state)
{
	static const uint32_t lens[] = { 4, 1000, INT32_MAX, UINT32_MAX };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct build b = patched(AT_DTYPE_LEN, lens[i], 4);

		expect_no_array(&b, "array metalayer 'b2nd'");
	}
}

static void empty_or_unknown_version_is_refused(void **state)
{
	struct build b = patched(1, 1, 1);

	(void)state;
	expect_no_array(&b, "array metalayer 'b2nd'");
	b = patched(0, 0x98, 1);
	expect_no_array(&b, "array metalayer 'b2nd'");
}

/* One that began as an array's is a damaged array; see above. */
static void what_only_bears_the_name_is_somebodys_metadata(void **state)
{
	static const struct { const char *p; size_t len; } layers[] = {
		{ "\xa5hello", 6 }, { "\x81\xa1" "a\1", 4 },
		{ "\x97\1\2\3\4\5\6\7", 8 }, { "\xc0", 1 }, { "hi\n", 3 },
		{ "\x82\xa4name\xa1x\xa3num\7", 13 },
		{ "{\"shape\": [5, 7]}", 17 },
	};

	(void)state;
	for (size_t i = 0; i < BFS_ARRAY_LEN(layers); i++) {
		struct build b = make_array(layers[i].p, layers[i].len);
		struct bfs_array *a = hostile_open(&b, NAME);

		expect_good(a);
		assert_false(a->has_nd);
		assert_string_equal(a->container->format, "b2frame");
		expect_stream(a, BFS_STREAM_DATA, 0, data, sizeof(data));
		bfs_array_close(a);
		free(b.p);
	}
}

static void an_array_that_was_overwritten_is_refused(void **state)
{
	struct build meta = { 0 }, b;

	(void)state;
	build_fill(data, META, 3);
	build_bytes(&meta, data, META);
	build_fill(data, sizeof(data), 9);
	b = make_array((const char *)meta.p, meta.len);
	expect_no_array(&b, "array metalayer 'b2nd'");
	free(meta.p);
}

static void array_whose_name_lost_a_byte_is_damage(void **state)
{
	struct build b = make_array(frames_array_meta, META);
	uint8_t *name = memmem(b.p, b.len, "b2nd", 4);

	(void)state;
	assert_non_null(name);
	name[2] = 'm';
	expect_no_array(&b, "'b2md' is one of an array");
}

static void blocks_of_another_size_fail_in_their_chunk(void **state)
{
	struct build b = make_array(frames_array_meta, META);
	struct bfs_stream s = { BFS_STREAM_DATA, 0 };
	struct bfs_diag diag = { 0 };
	struct bfs_array *a;
	uint8_t stored[32 + 4 + 4 + 96] = {
		5, 1, 0x35, 4, 96, 0, 0, 0, 96, 0, 0, 0, 136, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		36, 0, 0, 0, 96, 0, 0, 0,
	};
	size_t head = bfs_be32(b.p + 0x0b);
	uint8_t got[4];

	(void)state;
	/* Chunk 2 gets streams in one block of 96: it runs into chunk 3. */
	memcpy(stored + 40, data, 96);
	memcpy(b.p + head + 2 * 128, stored, sizeof(stored));
	a = hostile_open(&b, NAME);
	assert_true(a->has_nd);
	assert_int_equal(bfs_array_read(a, &s, 4 * 7 * 4, got, 4, &diag),
			 BFS_ERR_CORRUPT);
	assert_non_null(strstr(diag.text, "blocks of 96"));
	assert_int_equal(diag.chunk, 2);
	assert_int_equal(bfs_array_read(a, &s, 0, got, 4, &diag), BFS_OK);
	assert_memory_equal(got, data, 4);
	bfs_array_close(a);
	free(b.p);
}

/* ---- what the dtype can say ------------------------------------------ */

static struct build make_typed(const char *dtype, size_t len)
{
	struct build m = { 0 }, b;

	build_bytes(&m, frames_array_meta, AT_DTYPE_LEN);
	build_be32(&m, (uint32_t)len);
	build_bytes(&m, dtype, len);
	b = make_array((const char *)m.p, m.len);
	free(m.p);
	return b;
}

/* The array is served as bytes, but nothing is offered as its items. */
static void expect_no_npy(const char *dtype)
{
	struct build b = make_typed(dtype, strlen(dtype));
	struct bfs_file *file = hostile_file(&b, NAME);
	struct bfs_node node;

	assert_true(file->array->has_nd);
	assert_true(frames_find(file, "data.bin", &node));
	if (frames_find(file, "data.npy", &node))
		fail_msg("data.npy with %s", dtype);
	bfs_file_free(file);
	free(b.p);
}

/* The array is served, with a type of opaque items of the frame's size. */
static void expect_opaque(const char *dtype, size_t len)
{
	struct build b = make_typed(dtype, len);
	struct bfs_file *file = hostile_file(&b, NAME);
	struct bfs_node node;
	uint8_t *npy;
	size_t n;

	assert_true(file->array->has_nd);
	if (!frames_find(file, "data.npy", &node))
		fail_msg("no data.npy with %.60s", dtype);
	npy = frames_read(file, "data.npy", &n);
	if (!strstr((char *)npy + 10, "'descr': '|V4'"))
		fail_msg("%.60s gives %s", dtype, npy + 10);
	assert_int_equal(n, 128 + 5 * 7 * 4);
	free(npy);
	bfs_file_free(file);
	free(b.p);
}

#define EXPECT_OPAQUE(text) expect_opaque(text, sizeof(text) - 1)

/* A snapshot of February 2023 counted six elements and wrote seven. */
static void a_draft_that_counts_six_elements_is_an_array(void **state)
{
	struct build m = { 0 }, b;
	struct bfs_file *file;
	uint8_t *npy;
	size_t n;

	(void)state;
	build_bytes(&m, frames_array_meta, AT_DTYPE_LEN);
	build_be32(&m, 3);
	build_bytes(&m, "|u1", 3);
	m.p[0] = 0x96;
	b = make_array((const char *)m.p, m.len);
	file = hostile_file(&b, NAME);
	assert_int_equal(file->array->container->status, BFS_GOOD);
	assert_true(file->array->has_nd);
	npy = frames_read(file, "data.npy", &n);
	assert_non_null(strstr((char *)npy + 10, "'descr': '|V4'"));
	assert_int_equal(n, 128 + 5 * 7 * 4);
	free(npy);
	bfs_file_free(file);
	free(b.p);
	free(m.p);
}

static void dtype_that_is_nonsense_makes_items_opaque(void **state)
{
	(void)state;
	EXPECT_OPAQUE("");
	EXPECT_OPAQUE("Int32");
	EXPECT_OPAQUE("<i4\0");
	EXPECT_OPAQUE("<i3");
	EXPECT_OPAQUE("\xff\xff\xff");
	EXPECT_OPAQUE("[('a', '<i4')");
	EXPECT_OPAQUE("__import__('os').system('true')");
}

static void dtype_of_another_size_makes_items_opaque(void **state)
{
	(void)state;
	EXPECT_OPAQUE("<f8");
	EXPECT_OPAQUE("|u1");
	EXPECT_OPAQUE("[('a', '<i4'), ('b', '<i4')]");
}

static void dtype_of_objects_or_of_no_size_offers_no_npy(void **state)
{
	(void)state;
	expect_no_npy("|O");
	expect_no_npy("[('a', '|O')]");
	expect_no_npy("|S0");
	expect_no_npy("|V0");
	expect_no_npy("[]");
	expect_no_npy("('<i4', (0,))");
}

static void dtype_whose_size_overflows_makes_items_opaque(void **state)
{
	(void)state;
	EXPECT_OPAQUE("<U1073741824");
	EXPECT_OPAQUE("<U1073741825");
	EXPECT_OPAQUE("<U4611686018427387905");
	EXPECT_OPAQUE("|S18446744073709551620");
	EXPECT_OPAQUE("('<i4', (4294967296, 4294967296))");
	EXPECT_OPAQUE("('<i4', (-1,))");
}

static void fields_beyond_the_item_make_it_opaque(void **state)
{
	(void)state;
	EXPECT_OPAQUE("{'names': ['a'], 'formats': ['<i4'], "
		      "'offsets': [1], 'itemsize': 4}");
	EXPECT_OPAQUE("{'names': ['a'], 'formats': ['<i4'], "
		      "'offsets': [-4], 'itemsize': 4}");
	EXPECT_OPAQUE("{'names': ['a'], 'formats': ['<i4'], "
		      "'offsets': [9223372036854775807], 'itemsize': 4}");
}

static void dtype_nested_without_end_makes_items_opaque(void **state)
{
	static const char open[] = "[('a', ";
	struct build b = { 0 };

	(void)state;
	for (int i = 0; i < 10000; i++)
		build_bytes(&b, open, sizeof(open) - 1);
	build_byte(&b, 0);
	expect_opaque((char *)b.p, b.len - 1);
	free(b.p);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(array_of_the_worked_example_is_served),
		T(more_than_sixteen_dimensions_are_refused),
		T(other_dimensions_than_markers_say_are_refused),
		T(negative_shape_is_refused),
		T(chunks_and_blocks_without_extent_are_refused),
		T(shape_whose_product_overflows_is_refused),
		T(sixteen_dimensions_of_gibi_items_are_refused),
		T(chunk_of_another_size_than_the_frames_is_refused),
		T(grid_of_other_than_nchunks_is_refused),
		T(metalayer_shorter_than_its_arrays_is_refused),
		T(dtype_longer_than_its_metalayer_is_refused),
		T(empty_or_unknown_version_is_refused),
		T(what_only_bears_the_name_is_somebodys_metadata),
		T(an_array_that_was_overwritten_is_refused),
		T(array_whose_name_lost_a_byte_is_damage),
		T(blocks_of_another_size_fail_in_their_chunk),
		T(a_draft_that_counts_six_elements_is_an_array),
		T(dtype_that_is_nonsense_makes_items_opaque),
		T(dtype_of_another_size_makes_items_opaque),
		T(dtype_of_objects_or_of_no_size_offers_no_npy),
		T(dtype_whose_size_overflows_makes_items_opaque),
		T(fields_beyond_the_item_make_it_opaque),
		T(dtype_nested_without_end_makes_items_opaque),
	};

	return cmocka_run_group_tests_name("container_array", tests, setup,
					   hostile_teardown);
}
