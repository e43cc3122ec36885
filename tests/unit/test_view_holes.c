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

#include "bytes.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zeros_are_holes),
		cmocka_unit_test(
			holes_told_by_sound_blocks_of_the_index_are_kept),
	};

	return cmocka_run_group_tests(tests, hostile_setup, hostile_teardown);
}
