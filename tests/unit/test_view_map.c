/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_view_map.c - map.svg: its size, what its cells are painted as, and
 * what it leaves out.
 */
#include "base/mem.h"
#include "support/frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_LEN 277000

static struct frame_input some_input(size_t n_chunks, size_t chunksize)
{
	return (struct frame_input){
		.data = frames_pattern, .len = n_chunks * chunksize,
		.chunksize = chunksize, .blocksize = chunksize, .typesize = 1,
	};
}

static char *read_map(struct bfs_file *file)
{
	size_t len;
	char *text = (char *)frames_read(file, "map.svg", &len);

	assert_int_equal(strlen(text), len);
	assert_true(len <= MAX_LEN);
	assert_int_equal(strncmp(text, "<svg ", 5), 0);
	assert_string_equal(text + len - 7, "</svg>\n");
	return text;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		n++;
	}
	return n;
}

static void the_size_is_known_before_the_map_is_made(void **state)
{
	static const size_t n_chunks[] = { 0, 1, 7, 64, 65, 1024, 1025,
					   2048, 2049 };

	(void)state;
	for (size_t i = 0; i < sizeof(n_chunks) / sizeof(*n_chunks); i++) {
		struct frame_input in = some_input(n_chunks[i], 40);
		struct frame_bytes bytes = frames_build(&in);
		struct bfs_file *file = frames_open_with(&bytes, "map");
		struct bfs_node node;
		struct bfs_attr attr;
		char *text;

		assert_true(frames_find(file, "map.svg", &node));
		bfs_file_stat(file, &node, &attr);
		assert_false(file->slots[BFS_ROW_map].texts[0].made);
		text = read_map(file);
		assert_int_equal(strlen(text), attr.len);
		free(text);
		frames_close(file, &bytes);
	}
}

static void a_cell_is_painted_as_its_chunk_is(void **state)
{
	struct frame_input in = some_input(8, 1000);
	struct frame_bytes bytes;
	struct bfs_file *file;
	uint8_t *first;
	char *text;

	(void)state;
	in.special[1] = 0x81;
	in.special[2] = 0x84;
	bytes = frames_build(&in);
	first = bytes.p + 97;
	memset(first + 1032, 0xff, 16);		/* chunk 3 */
	first[2 * 1032 + 2] = 0x05 | 6 << 5;	/* chunk 4: a codec by id */
	first[2 * 1032 + 22] = 201;
	first[3 * 1032 + 2] = 0x05 | 1 << 5;	/* chunk 5: streams of LZ4 */
	first[3 * 1032 + 12] = 250;		/* that take 250 bytes */
	first[3 * 1032 + 13] = 0;
	file = frames_open_with(&bytes, "map");
	text = read_map(file);
	assert_int_equal(count(text, "<rect "), 8);
	assert_int_equal(count(text, "\"#8c8c8c\"><title>"), 3);
	assert_int_equal(count(text, "\"url(#z)\"><title>1, zeros<"), 1);
	assert_int_equal(count(text, "\"url(#i)\"><title>2, uninit"), 1);
	assert_int_equal(count(text, "\"url(#d)\"><title>3 at 1,129, "
			       "damaged<"), 1);
	assert_int_equal(count(text, "\"url(#u)\"><title>4: 0.96x, 1,000 bytes "
			       "in 1,032 at 2,161, unsupported<"), 1);
	assert_int_equal(count(text, "\"#1fa187\"><title>5: 4.00x, 1,000 bytes "
			       "in 250 at 3,193<"), 1);
	assert_int_equal(count(text, "times smaller, all 4.00<"), 1);
	assert_int_equal(count(text, "compressed: 1<"), 1);
	assert_int_equal(count(text, "not compressed: 3<"), 1);
	assert_int_equal(count(text, "zeros: 1<"), 1);
	assert_int_equal(count(text, "uninitialised: 1<"), 1);
	assert_int_equal(count(text, "NaN"), 0);
	assert_int_equal(count(text, "unsupported: 1<"), 1);
	assert_int_equal(count(text, "damaged: 1<"), 1);
	assert_int_equal(count(text, "a cell for each chunk<"), 1);
	free(text);
	frames_close(file, &bytes);
}

static void neighbours_share_cells_where_there_are_many(void **state)
{
	struct frame_input in = some_input(2500, 40);
	struct frame_bytes bytes = frames_build(&in);
	struct bfs_file *file;
	char *text;

	(void)state;
	memset(bytes.p + 97 + 72 * 2499, 0xff, 16);
	file = frames_open_with(&bytes, "map");
	text = read_map(file);
	assert_int_equal(count(text, "<rect "), 834);
	assert_int_equal(count(text, "a cell for 3 chunks each<"), 1);
	assert_int_equal(count(text, "<title>0\xe2\x80\x93""2: 0.55x, "
			       "120 bytes in 216 at 97, 3 not compressed<"), 1);
	assert_int_equal(count(text, "\"url(#d)\"><title>2,499 at "
			       "180,025, 1 damaged<"),
			 1);
	assert_int_equal(count(text, "not compressed: 2,499<"), 1);
	assert_int_equal(count(text, "sampled"), 0);
	free(text);
	frames_close(file, &bytes);
}

static void a_map_of_samples_says_so(void **state)
{
	struct frame_input in = some_input(25000, 4);
	struct frame_bytes bytes = frames_build(&in);
	struct bfs_file *file = frames_open_with(&bytes, "map");
	char *text = read_map(file);

	(void)state;
	assert_int_equal(count(text, "<rect "), 1000);
	assert_int_equal(count(text, "a cell for 25 chunks each; sampled: "
			       "16,000 of 25,000 looked at<"), 1);
	assert_int_equal(count(text, "not compressed: 16,000<"), 1);
	free(text);
	frames_close(file, &bytes);
}

static void the_size_is_bounded_whatever_the_frame_says(void **state)
{
	struct frame_input in = some_input(3, 1000);
	struct frame_bytes bytes = frames_build(&in);
	struct bfs_file *file = frames_open_with(&bytes, "map");
	struct bfs_container *container = file->array->container;
	struct bfs_attr attr;
	struct bfs_node node;

	(void)state;
	assert_true(frames_find(file, "map.svg", &node));
	for (unsigned bit = 0; bit < 64; bit++) {
		container->n_chunks = (UINT64_C(1) << bit) - (bit & 1);
		bfs_file_stat(file, &node, &attr);
		assert_true(attr.len > 8192 && attr.len <= MAX_LEN);
	}
	container->n_chunks = 3;
	frames_close(file, &bytes);
}

static void an_array_tells_its_shape(void **state)
{
	struct frame_bytes bytes;
	struct bfs_file *grid = frames_open_grid(&bytes, frames_array_meta,
						 FRAMES_ARRAY_META_LEN, NULL);
	struct bfs_file *file = frames_open_with(&bytes, "map");
	char *text = read_map(file);

	(void)state;
	assert_int_equal(count(text, "array of 5 x 7<"), 1);
	free(text);
	bfs_file_free(grid);
	frames_close(file, &bytes);
}

static void lack_of_memory_is_not_kept(void **state)
{
	struct frame_input in = some_input(3, 1000);
	struct frame_bytes bytes = frames_build(&in);
	struct bfs_file *file = frames_open_with(&bytes, "map");
	struct bfs_diag diag = { 0 };
	struct bfs_node node;

	(void)state;
	assert_true(frames_find(file, "map.svg", &node));
	bfs_mem_fail_at(1);
	assert_int_equal(bfs_file_open(file, &node, &diag), BFS_ERR_NOMEM);
	bfs_mem_fail_at(0);
	free(read_map(file));
	frames_close(file, &bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_size_is_known_before_the_map_is_made),
		cmocka_unit_test(a_cell_is_painted_as_its_chunk_is),
		cmocka_unit_test(neighbours_share_cells_where_there_are_many),
		cmocka_unit_test(a_map_of_samples_says_so),
		cmocka_unit_test(the_size_is_bounded_whatever_the_frame_says),
		cmocka_unit_test(an_array_tells_its_shape),
		cmocka_unit_test(lack_of_memory_is_not_kept),
	};

	return cmocka_run_group_tests(tests, frames_setup, frames_teardown);
}
