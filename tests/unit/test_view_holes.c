/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_view_holes.c - how much of data.bin is told to be holes, where the
 * frame's index is sound, and where one of its blocks is damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "support/build2.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK 4096
#define PER_BLOCK 4096	/* entries of the index in one of its blocks */
#define N_CHUNKS (3 * PER_BLOCK)

/* The first block's entries are all one chunk, the others' are zeros. */
static struct build make_frame(void)
{
	struct build_frame f = { .typesize = 4, .chunksize = CHUNK };
	uint8_t data[CHUNK];
	struct build_chunk c = { .data = data, .len = CHUNK, .typesize = 4,
				 .blocksize = CHUNK, .codec = BUILD_LZ4,
				 .shuffle = 1 };
	struct build out = { 0 };

	build_fill(data, CHUNK, 1);
	build_frame_chunk(&f, &c);
	for (int i = 1; i < N_CHUNKS; i++)
		build_frame_special(&f, i < PER_BLOCK ? 0 :
					UINT64_C(0x81) << 56, CHUNK);
	build_frame_finish(&f, &out);
	return out;
}

/* Where the index begins: behind the header and the chunks. */
static size_t find_index(const struct build *b)
{
	size_t header_len = (size_t)b->p[0x0d] << 8 | b->p[0x0e];
	uint32_t chunk_len = bfs_le32(b->p + header_len + 12);

	return header_len + chunk_len;
}

static uint64_t stored_len(const struct build *b)
{
	struct bfs_file *file = hostile_file(b, "x.b2frame");
	const struct bfs_node root = { .view = BFS_VIEW_ROOT };
	struct bfs_node node;
	struct bfs_attr attr = { 0 };

	assert_true(bfs_file_lookup(file, &root, "data.bin", 8, &node));
	bfs_file_stat(file, &node, &attr);
	assert_int_equal(attr.len, (uint64_t)N_CHUNKS * CHUNK);
	bfs_file_free(file);
	return attr.stored_len;
}

static void zeros_are_holes(void **state)
{
	struct build b = make_frame();

	(void)state;
	assert_int_equal(stored_len(&b), (uint64_t)PER_BLOCK * CHUNK);
	free(b.p);
}

static void holes_told_by_sound_blocks_of_the_index_are_kept(void **state)
{
	struct build b = make_frame();
	size_t index = find_index(&b);

	(void)state;
	for (unsigned block = 1; block < 3; block++) {
		struct build bad = build_copy(&b);
		size_t at = index + bfs_le32(bad.p + index + 32 + 4 * block);

		/* The stream's length is beyond the chunk's end. */
		patch_le(&bad, at, 0x7fffffff, 4);
		assert_int_equal(stored_len(&bad),
				 (uint64_t)2 * PER_BLOCK * CHUNK);
		free(bad.p);
	}
	free(b.p);
}

/* Zeros and then as many chunks that are not zeros, more than 65,536 each. */
static void any_number_of_chunks_has_holes(void **state)
{
	enum { N = 70000 };
	struct build_frame f = { .typesize = 4, .chunksize = 64 };
	const struct bfs_node root = { .view = BFS_VIEW_ROOT };
	struct build b = { 0 };
	struct bfs_file *file;
	struct bfs_attr attr;
	struct bfs_node node;
	uint64_t at;

	(void)state;
	for (int i = 0; i < 2 * N; i++)
		build_frame_special(&f, UINT64_C(0x8100000000000000) +
					(i < N ? 0 : UINT64_C(1) << 56), 64);
	build_frame_finish(&f, &b);
	file = hostile_file(&b, "x.b2frame");
	assert_true(bfs_file_lookup(file, &root, "data.bin", 8, &node));
	bfs_file_stat(file, &node, &attr);
	assert_int_equal(attr.len, (uint64_t)2 * N * 64);
	assert_int_equal(attr.stored_len, (uint64_t)N * 64);
	assert_int_equal(bfs_file_seek(file, &node, 5, false, &at, NULL),
			 BFS_OK);
	assert_int_equal(at, (uint64_t)N * 64);
	assert_int_equal(bfs_file_seek(file, &node, at, true, &at, NULL),
			 BFS_OK);
	assert_int_equal(at, (uint64_t)2 * N * 64);
	bfs_file_free(file);
	free(b.p);
}

/* A frame of zeros whose index repeats one entry, here 65,537 times. */
static void index_of_one_value_is_one_hole(void **state)
{
	enum { N = 65537 };
	struct build b = build_sample("good-frame-tib-zeros.b2frame");
	const struct bfs_node root = { .view = BFS_VIEW_ROOT };
	struct bfs_file *file;
	struct bfs_attr attr;
	struct bfs_node node;
	uint64_t at;

	(void)state;
	patch_be(&b, 0x1e, (uint64_t)N * CHUNK, 8);
	patch_be(&b, 0x3a, CHUNK, 4);
	patch_le(&b, ((size_t)b.p[0x0d] << 8 | b.p[0x0e]) + 4, 8 * N, 4);
	file = hostile_file(&b, "x.b2frame");
	assert_int_equal(file->array->container->n_chunks, N);
	assert_true(bfs_file_lookup(file, &root, "data.bin", 8, &node));
	bfs_file_stat(file, &node, &attr);
	assert_int_equal(attr.len, (uint64_t)N * CHUNK);
	assert_int_equal(attr.stored_len, 0);
	assert_int_equal(bfs_file_seek(file, &node, 0, false, &at, NULL),
			 BFS_ERR_RANGE);
	bfs_file_free(file);
	free(b.p);
}

static void sound_blocks_of_the_index_lead_to_their_chunks(void **state)
{
	struct build b = make_frame();
	size_t index = find_index(&b);
	struct bfs_stream s = { BFS_STREAM_CHUNK, PER_BLOCK + 1 };
	struct bfs_diag diag = { 0 };
	struct bfs_array *a;
	uint8_t want[CHUNK], zeros[CHUNK] = { 0 }, byte;

	(void)state;
	build_fill(want, CHUNK, 1);
	patch_le(&b, index + bfs_le32(b.p + index + 32 + 4), 0x7fffffff, 4);
	a = hostile_open(&b, "x.b2frame");
	expect_stream(a, BFS_STREAM_CHUNK, 0, want, CHUNK);
	expect_stream(a, BFS_STREAM_CHUNK, PER_BLOCK - 1, want, CHUNK);
	expect_stream(a, BFS_STREAM_CHUNK, 2 * PER_BLOCK, zeros, CHUNK);
	expect_stream(a, BFS_STREAM_CHUNK, N_CHUNKS - 1, zeros, CHUNK);
	assert_int_not_equal(bfs_array_read(a, &s, 0, &byte, 1, &diag),
			     BFS_OK);
	assert_int_equal(diag.chunk, PER_BLOCK + 1);
	bfs_array_close(a);
	free(b.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zeros_are_holes),
		cmocka_unit_test(
			holes_told_by_sound_blocks_of_the_index_are_kept),
		cmocka_unit_test(any_number_of_chunks_has_holes),
		cmocka_unit_test(index_of_one_value_is_one_hole),
		cmocka_unit_test(
			sound_blocks_of_the_index_lead_to_their_chunks),
	};

	return cmocka_run_group_tests(tests, hostile_setup, hostile_teardown);
}
