/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_view_items.c - lists of objects as lines of JSON: one value in each
 * chunk, or lists of them in blocks of chunks.
 */
#include "support/build2.h"
#include "support/frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LAYER "\x82\xa7version\x01\xaaserializer\xa7msgpack"

/* Appends a chunk that is one value. */
static void add_value(struct build_frame *f, const void *p, size_t len)
{
	struct build_chunk c = { .data = p, .len = len, .typesize = 1,
				 .blocksize = (uint32_t)len,
				 .codec = BUILD_RAW };

	build_frame_chunk(f, &c);
}

/* Appends a chunk of blocks, each as it is. */
static void add_batch(struct build_frame *f, const struct build *blocks,
		      uint32_t n)
{
	static const uint8_t rest[16] = { [6] = 1, [14] = 1 };
	uint32_t nbytes = 0, at = 32 + 4 * n;

	build_le64(&f->index, f->data.len);
	for (uint32_t i = 0; i < n; i++)
		nbytes += (uint32_t)blocks[i].len;
	build_bytes(&f->data, "\6\1\x35\1", 4);
	build_le32(&f->data, nbytes);
	build_le32(&f->data, n);
	build_le32(&f->data, at + 4 * n + nbytes);
	build_bytes(&f->data, rest, 16);
	for (uint32_t i = 0; i < n; i++) {
		build_le32(&f->data, at);
		at += 4 + (uint32_t)blocks[i].len;
	}
	for (uint32_t i = 0; i < n; i++) {
		build_le32(&f->data, (uint32_t)blocks[i].len);
		build_bytes(&f->data, blocks[i].p, blocks[i].len);
	}
	f->nbytes += nbytes;
}

static struct bfs_file *open_list(struct build_frame *f, const char *layer,
				  struct build *b)
{
	struct frame_bytes bytes;
	bool in_blocks = !strcmp(layer, "batcharray");

	f->meta_name = layer;
	f->meta = (const uint8_t *)LAYER;
	f->meta_len = sizeof(LAYER) - 1;
	f->flags = in_blocks ? 0xd3 : 0x53;
	f->typesize = 1;
	memset(b, 0, sizeof(*b));
	build_frame_finish(f, b);
	bytes = (struct frame_bytes){ .p = b->p, .len = b->len };
	return frames_open_with(&bytes, "info,items");
}

static void close_list(struct bfs_file *file, struct build *b)
{
	bfs_file_free(file);
	free(b->p);
}

/* The whole, and each range of a few lengths. */
static void expect_lines(struct bfs_file *file, const char *want)
{
	struct bfs_node node;
	struct bfs_attr attr;
	size_t len = strlen(want), n;
	char buf[300];

	frames_expect(file, "items.jsonl", want, len);
	assert_true(frames_find(file, "items.jsonl", &node));
	bfs_file_stat(file, &node, &attr);
	assert_int_equal(attr.len, len);
	for (size_t off = 0; off < len; off += 1 + len / 97) {
		size_t some = len - off < sizeof(buf) ? len - off :
							sizeof(buf);

		assert_int_equal(bfs_file_read(file, &node, off, buf, some, &n,
					       NULL), BFS_OK);
		assert_int_equal(n, some);
		assert_memory_equal(buf, want + off, some);
	}
}

static void each_chunk_that_is_a_value_is_a_line(void **state)
{
	struct build_frame f = { 0 };
	struct build b;
	struct bfs_file *file;

	(void)state;
	add_value(&f, "\x82\xa1" "a\x92\x01\xc0\xa2\xc3\xbc\xc3", 10);
	add_value(&f, "\xa3x\n\"", 4);
	add_value(&f, "\xc4\x02hi", 4);
	add_value(&f, "\xff", 1);
	add_value(&f, "\x93\xa9__tuple__\x01\x02", 13);
	add_value(&f, "\x01\x02", 2);		/* not one value */
	file = open_list(&f, "vlarray", &b);
	expect_lines(file, "{\"a\": [1, null], \"\u00fc\": true}\n"
			   "\"x\\n\\\"\"\n{\"base64\": \"aGk=\"}\n-1\n"
			   "[1, 2]\n{\"base64\": \"AQI=\"}\n");
	close_list(file, &b);
}

static void lists_in_blocks_are_lines_one_after_another(void **state)
{
	struct build blocks[] = { { .p = (uint8_t *)"\x92\x01\x02", .len = 3 },
				  { .p = (uint8_t *)"\x90", .len = 1 },
				  { .p = (uint8_t *)"\xdc\0\1\xa1z",
				    .len = 5 } };
	struct build_frame f = { 0 };
	struct build b;
	struct bfs_file *file;

	(void)state;
	add_batch(&f, blocks, 3);
	add_batch(&f, blocks, 1);
	file = open_list(&f, "batcharray", &b);
	expect_lines(file, "1\n2\n\"z\"\n1\n2\n");
	close_list(file, &b);
}

/* Numbers as a list, and as lines. */
static void make_numbers(unsigned from, unsigned n, struct build *block,
			 struct build *lines)
{
	char line[32];

	build_byte(block, 0xdd);
	build_be32(block, n);
	for (unsigned i = from; i < from + n; i++) {
		build_byte(block, 0xce);
		build_be32(block, i);
		snprintf(line, sizeof(line), "%u\n", i);
		build_bytes(lines, line, strlen(line));
	}
}

static void any_range_of_a_long_text_is_read_alone(void **state)
{
	/* Small blocks, large ones, and small ones behind. */
	static const unsigned sizes[] = { 3, 9000, 1, 100000, 5, 14000, 2 };
	struct build blocks[7] = { 0 }, lines = { 0 }, b;
	struct build_frame f = { 0 };
	struct bfs_file *file;
	unsigned from = 7;

	(void)state;
	for (size_t i = 0; i < 7; i++) {
		make_numbers(from, sizes[i], &blocks[i], &lines);
		from += sizes[i];
	}
	add_batch(&f, blocks, 4);
	add_batch(&f, blocks + 4, 1);
	add_batch(&f, blocks + 5, 2);
	file = open_list(&f, "batcharray", &b);
	build_byte(&lines, 0);
	expect_lines(file, (char *)lines.p);
	close_list(file, &b);
	for (size_t i = 0; i < 7; i++)
		free(blocks[i].p);
	free(lines.p);
}

static void very_many_small_chunks_are_read(void **state)
{
	struct build lines = { 0 }, b;
	struct build_frame f = { 0 };
	struct bfs_file *file;

	(void)state;
	for (unsigned i = 0; i < 30000; i++) {
		uint8_t value[3] = { 0xcd, (uint8_t)(i >> 8), (uint8_t)i };
		char line[16];

		add_value(&f, value, 3);
		snprintf(line, sizeof(line), "%u\n", i);
		build_bytes(&lines, line, strlen(line));
	}
	build_byte(&lines, 0);
	file = open_list(&f, "vlarray", &b);
	expect_lines(file, (char *)lines.p);
	close_list(file, &b);
	free(lines.p);
}

static void a_value_that_is_too_long_says_how_long_it_is(void **state)
{
	enum { LEN = (1 << 20) + 1 };
	uint8_t *value = calloc(1, LEN);
	struct build block = { 0 }, b;
	struct build_frame f = { 0 };
	struct bfs_file *file;

	(void)state;
	assert_non_null(value);
	memcpy(value, "\xdb\0\x0f\xff\xfc", 5);
	memset(value + 5, 'a', LEN - 5);
	add_value(&f, value, LEN);
	add_value(&f, "\x05", 1);
	file = open_list(&f, "vlarray", &b);
	expect_lines(file, "{\"omitted\": 1048577}\n5\n");
	close_list(file, &b);
	build_byte(&block, 0x92);
	build_bytes(&block, value, LEN);
	build_byte(&block, 5);
	add_batch(&f, &block, 1);
	file = open_list(&f, "batcharray", &b);
	expect_lines(file, "{\"omitted\": 1048577}\n5\n");
	close_list(file, &b);
	free(block.p);
	free(value);
}

/* One block: there is an entry that cannot be opened, with a reason. */
static void expect_refused(const void *p, size_t len, enum bfs_err err,
			   const char *word)
{
	struct build block = { 0 }, b;
	struct build_frame f = { 0 };
	struct bfs_diag diag = { 0 };
	struct bfs_file *file;
	struct bfs_node node;
	struct bfs_attr attr;

	build_bytes(&block, p, len);
	add_batch(&f, &block, 1);
	file = open_list(&f, "batcharray", &b);
	assert_true(frames_find(file, "items.jsonl", &node));
	assert_int_equal(bfs_file_open(file, &node, &diag), err);
	assert_non_null(strstr(diag.text, word));
	bfs_file_stat(file, &node, &attr);
	assert_int_equal(attr.len, 1);
	close_list(file, &b);
	free(block.p);
}

static void what_is_no_list_has_no_length(void **state)
{
	char deep[40];

	(void)state;
	expect_refused("\x81\x01\x02", 3, BFS_ERR_CORRUPT, "no list");
	expect_refused("\x92\x01", 2, BFS_ERR_CORRUPT, "no list");
	expect_refused("\x91\x01\x02", 3, BFS_ERR_CORRUPT, "no list");
	expect_refused("\xdd\xff\xff\xff\xff\x01", 6, BFS_ERR_CORRUPT,
		       "no list");
	expect_refused("\x91\xdd\x7f\xff\xff\xff", 6, BFS_ERR_CORRUPT,
		       "no list");
	expect_refused("\xdc\0", 2, BFS_ERR_CORRUPT, "no list");
	memset(deep, '\x91', sizeof(deep));
	deep[39] = '\xc0';
	expect_refused(deep, sizeof(deep), BFS_ERR_LIMIT, "too many");
}

static void expect_why(struct bfs_file *file, const char *want)
{
	struct json_object *info = frames_json(file, "info.json");
	struct bfs_node node;

	assert_string_equal(frames_text(info, "items"), want);
	assert_int_equal(frames_find(file, "items.jsonl", &node),
			 !strcmp(want, "true"));
	json_object_put(info);
}

static void info_tells_whether_there_are_items(void **state)
{
	static const char arrow[] = "\x81\xaaserializer\xa5" "arrow";
	struct build_frame f = { 0 };
	struct build b;
	struct bfs_file *file;
	struct frame_bytes bytes;
	enum { LEN = 33 << 20 };
	uint8_t *value = calloc(1, LEN);

	(void)state;
	assert_non_null(value);
	add_value(&f, "\x05", 1);
	file = open_list(&f, "vlarray", &b);
	expect_why(file, "true");
	close_list(file, &b);
	add_value(&f, value, LEN);
	add_value(&f, value, LEN);
	file = open_list(&f, "vlarray", &b);
	expect_why(file, "too large: 69206016 bytes, more than 67108864");
	close_list(file, &b);
	add_value(&f, "\x05", 1);
	f.meta_name = "vlarray";
	f.meta = (const uint8_t *)arrow;
	f.meta_len = sizeof(arrow) - 1;
	f.flags = 0x53;
	f.typesize = 1;
	memset(&b, 0, sizeof(b));
	build_frame_finish(&f, &b);
	bytes = (struct frame_bytes){ .p = b.p, .len = b.len };
	file = frames_open_with(&bytes, "info,items");
	expect_why(file, "values that are no MessagePack");
	close_list(file, &b);
	free(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_chunk_that_is_a_value_is_a_line),
		cmocka_unit_test(lists_in_blocks_are_lines_one_after_another),
		cmocka_unit_test(any_range_of_a_long_text_is_read_alone),
		cmocka_unit_test(very_many_small_chunks_are_read),
		cmocka_unit_test(
			a_value_that_is_too_long_says_how_long_it_is),
		cmocka_unit_test(what_is_no_list_has_no_length),
		cmocka_unit_test(info_tells_whether_there_are_items),
	};

	return cmocka_run_group_tests(tests, frames_setup, frames_teardown);
}
