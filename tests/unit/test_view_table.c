/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_view_table.c - chunks.tsv: lines of one length, what they say, and
 * that any range of them is the same bytes.
 */
#include "base/bytes.h"
#include "support/frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LINE 128
#define N_FIELDS 9
#define CHUNK 1000

static struct frame_input some_input(size_t n_chunks)
{
	return (struct frame_input){
		.data = frames_pattern, .len = n_chunks * CHUNK,
		.chunksize = CHUNK, .blocksize = 250, .typesize = 2,
	};
}

/* The fields of a line, which is cut in place; behind them stand blanks up to
 * its length, or their name. */
static void cut_line(char *line, char *fields[N_FIELDS])
{
	char *save, *field = strtok_r(line, "\t", &save);

	for (size_t i = 0; i < N_FIELDS; i++) {
		assert_non_null(field);
		assert_null(strchr(field, ' '));
		fields[i] = field;
		field = strtok_r(NULL, "\t", &save);
	}
	if (field && strncmp(field, "padding", 7) == 0)
		field += 7;
	assert_true(!field || !field[strspn(field, " ")]);
	assert_null(strtok_r(NULL, "\t", &save));
}

static void expect_line(const char *table, size_t i, const char *want)
{
	char line[LINE], got[LINE + 1] = "", *fields[N_FIELDS];

	memcpy(line, table + i * LINE, LINE);
	assert_int_equal(line[LINE - 1], '\n');
	assert_null(memchr(line, '\n', LINE - 1));
	line[LINE - 1] = 0;
	cut_line(line, fields);
	for (size_t k = 0; k < N_FIELDS; k++) {
		strcat(got, k ? " " : "");
		strcat(got, fields[k]);
	}
	assert_string_equal(got, want);
}

static void a_line_tells_what_a_chunk_is(void **state)
{
	struct frame_input in = some_input(5);
	struct frame_bytes bytes;
	struct bfs_file *file;
	char *table;
	size_t len;

	(void)state;
	in.len -= 400;
	in.special[1] = 0x81;
	in.special[2] = 0x82;
	in.special[3] = 0x84;
	bytes = frames_build(&in);
	file = frames_open_with(&bytes, "table");
	table = (char *)frames_read(file, "chunks.tsv", &len);
	assert_int_equal(len, 6 * LINE);
	expect_line(table, 0, "chunk offset cbytes nbytes codec filters "
		    "special blocks status");
	expect_line(table, 1, "0 97 1032 1000 blosclz - - 4 good");
	expect_line(table, 2, "1 - 0 1000 - - zeros - good");
	expect_line(table, 3, "2 - 0 1000 - - nan - good");
	expect_line(table, 4, "3 - 0 1000 - - uninit - good");
	expect_line(table, 5, "4 1129 632 600 blosclz - - 3 good");
	free(table);
	frames_close(file, &bytes);
}

static void a_damaged_header_costs_its_own_line(void **state)
{
	struct frame_input in = some_input(4);
	struct frame_bytes bytes = frames_build(&in);
	struct bfs_file *file;
	char *table;
	size_t len;

	(void)state;
	memset(bytes.p + 97 + 1032, 0xff, 16);		/* no header */
	bytes.p[97 + 2 * 1032 + 4]--;			/* a byte less */
	bytes.p[97 + 2 * 1032 + 12]--;
	file = frames_open_with(&bytes, "table");
	table = (char *)frames_read(file, "chunks.tsv", &len);
	assert_int_equal(len, 5 * LINE);
	expect_line(table, 1, "0 97 1032 1000 blosclz - - 4 good");
	expect_line(table, 2, "1 1129 - 1000 - - - - damaged");
	expect_line(table, 3, "2 2161 1031 999 blosclz - - 4 damaged");
	expect_line(table, 4, "3 3193 1032 1000 blosclz - - 4 good");
	free(table);
	frames_close(file, &bytes);
}

/* A pipeline that says "compressed" makes the codec count. */
static void what_this_build_lacks_is_unsupported(void **state)
{
	struct frame_input in = some_input(3);
	struct frame_bytes bytes = frames_build(&in);
	uint8_t *first = bytes.p + 97, *second = first + 1032;
	struct bfs_file *file;
	char *table;
	size_t len;

	(void)state;
	first[2] = 0x05 | 6 << 5;	/* by id */
	first[22] = 201;
	second[2] = 0x05 | 1 << 5;
	memset(second + 16, 2, 6);
	second[16] = 200;
	file = frames_open_with(&bytes, "table");
	table = (char *)frames_read(file, "chunks.tsv", &len);
	expect_line(table, 1, "0 97 1032 1000 codec-201 - - 4 unsupported");
	expect_line(table, 2, "1 1129 1032 1000 lz4 "
		    "filter-200,bitshuffle,bitshu... - 4 unsupported");
	expect_line(table, 3, "2 2161 1032 1000 blosclz - - 4 good");
	free(table);
	frames_close(file, &bytes);
}

static void any_range_is_the_same_bytes(void **state)
{
	struct frame_input in = some_input(90);
	struct frame_bytes bytes = frames_build(&in);
	struct bfs_file *file = frames_open_with(&bytes, "table");
	uint32_t seed = 5;
	uint8_t *table, buf[1500];
	struct bfs_node node;
	size_t len, n;

	(void)state;
	assert_true(frames_find(file, "chunks.tsv", &node));
	table = frames_read(file, "chunks.tsv", &len);
	assert_int_equal(len, 91 * LINE);
	for (int i = 0; i < 2000; i++) {
		uint64_t off;
		size_t want;

		seed = seed * 1664525u + 1013904223u;
		off = (seed >> 8) % (len + 2);
		want = (seed >> 3) % sizeof(buf);
		assert_int_equal(bfs_file_read(file, &node, off, buf, want,
					       &n, NULL), BFS_OK);
		assert_int_equal(n, off < len ? bfs_min(want, len - off) : 0);
		assert_memory_equal(buf, table + off, n);
	}
	free(table);
	frames_close(file, &bytes);
}

static void a_frame_without_chunks_has_names_alone(void **state)
{
	struct frame_input in = { .typesize = 1, .chunksize = 100,
				  .blocksize = 100 };
	struct frame_bytes bytes = frames_build(&in);
	struct bfs_file *file = frames_open_with(&bytes, "table");
	char *table;
	size_t len;

	(void)state;
	table = (char *)frames_read(file, "chunks.tsv", &len);
	assert_int_equal(len, LINE);
	expect_line(table, 0, "chunk offset cbytes nbytes codec filters "
		    "special blocks status");
	free(table);
	frames_close(file, &bytes);
}

/* A row of its own length needs no index for that. */
static void the_size_is_known_for_any_number_of_chunks(void **state)
{
	struct frame_input in = some_input(3);
	struct frame_bytes bytes = frames_build(&in);
	struct bfs_file *file = frames_open_with(&bytes, "table");
	struct bfs_container *container = file->array->container;
	uint64_t n_chunks = container->n_chunks;
	struct bfs_diag diag = { 0 };
	struct bfs_attr attr;
	struct bfs_node node;

	(void)state;
	assert_true(frames_find(file, "chunks.tsv", &node));
	container->n_chunks = UINT64_C(10000000000);
	bfs_file_stat(file, &node, &attr);
	assert_int_equal(attr.len, UINT64_C(1280000000128));
	assert_int_equal(bfs_file_open(file, &node, &diag), BFS_OK);
	container->n_chunks++;
	bfs_file_stat(file, &node, &attr);
	assert_int_equal(attr.len, 1);
	assert_int_equal(bfs_file_open(file, &node, &diag), BFS_ERR_LIMIT);
	container->n_chunks = n_chunks;
	frames_close(file, &bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_tells_what_a_chunk_is),
		cmocka_unit_test(a_damaged_header_costs_its_own_line),
		cmocka_unit_test(what_this_build_lacks_is_unsupported),
		cmocka_unit_test(any_range_is_the_same_bytes),
		cmocka_unit_test(a_frame_without_chunks_has_names_alone),
		cmocka_unit_test(the_size_is_known_for_any_number_of_chunks),
	};

	return cmocka_run_group_tests(tests, frames_setup, frames_teardown);
}
