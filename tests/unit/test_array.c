/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_array.c - an opened frame: what is read from the source and when, one
 * decode per block, damage that stays where it is, and bytes that are right.
 */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "array/priv.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "support/arrays.h"
#include "support/build.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void random_read_asks_for_the_touched_block_alone(void **state)
{
	struct bfs_engine *e = arrays_engine(64 << 20);
	struct build out = { 0 };
	uint8_t *data = arrays_make_big(&out, BUILD_LZ4, 0), got[4096];
	struct bfs_array *a = arrays_open(e, out.p, out.len);
	struct bfs_source *s = a->container->source;
	struct bfs_chunk *chunk;
	struct bfs_span span;
	uint64_t reads, len, off = ARRAYS_CHUNK + 37 * ARRAYS_BLOCK + 5000;
	uint32_t at, block_len;

	(void)state;
	/* The chunk's plan: header and block starts, in one small read. */
	reads = s->n_reads;
	len = s->read_len;
	assert_int_equal(bfs_array_plan(a, 1, &chunk, &span, NULL), BFS_OK);
	assert_true(s->n_reads - reads <= 2);
	assert_true(s->read_len - len <= 1024);

	reads = s->n_reads;
	len = s->read_len;
	assert_int_equal(bfs_array_read(a, &arrays_data, off, got, 4096,
					NULL), BFS_OK);
	assert_memory_equal(got, data + off, 4096);
	bfs_chunk_block_span(chunk, 37, &at, &block_len);
	assert_true(s->n_reads - reads <= 2);
	assert_true(s->read_len - len <= block_len);

	/* A hit asks for nothing. */
	reads = s->n_reads;
	assert_int_equal(bfs_array_read(a, &arrays_data, off + 4096, got, 4096,
					NULL), BFS_OK);
	assert_memory_equal(got, data + off + 4096, 4096);
	assert_int_equal(s->n_reads, reads);
	bfs_chunk_unref(chunk);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(data);
	free(out.p);
}

/* Header, block starts, number and place, and the length of each block. */
static void lazy_chunk_is_the_same_in_windows_as_in_one(void **state)
{
	static const size_t steps[] = { 1, 3, 32, 45, 1000 };
	static const struct bfs_stream lazy = { BFS_STREAM_LAZY_CHUNK, 1 };
	struct bfs_engine *e = arrays_engine(64 << 20);
	struct build out = { 0 };
	uint8_t *data = arrays_make_big(&out, BUILD_LZ4, 0), *whole, got[1000];
	struct bfs_array *a = arrays_open(e, out.p, out.len);
	uint64_t len, off, asked;
	struct bfs_chunk *chunk;
	struct bfs_span span;
	size_t i, n, k;

	(void)state;
	assert_int_equal(bfs_array_plan(a, 1, &chunk, &span, NULL), BFS_OK);
	n = chunk->head.n_blocks;
	assert_int_equal(bfs_array_len(a, &lazy, &len, NULL), BFS_OK);
	assert_int_equal(len, 44 + 8 * n);
	whole = malloc(len);
	assert_int_equal(bfs_array_read(a, &lazy, 0, whole, len, NULL),
			 BFS_OK);
	assert_memory_equal(whole, out.p + span.off, 31);
	assert_int_equal(whole[31], out.p[span.off + 31] | 8);
	assert_memory_equal(whole + 32, out.p + span.off + 32, 4 * n);
	assert_int_equal(bfs_le32(whole + 32 + 4 * n), 1);
	assert_int_equal(bfs_le64(whole + 36 + 4 * n), span.off);
	for (k = 0; k < n; k++)
		assert_int_equal(bfs_le32(whole + 44 + 4 * n + 4 * k),
				 chunk->spans[k]);
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		for (off = 0; off < len; off += steps[i]) {
			size_t part = (size_t)bfs_min(steps[i], len - off);

			asked = a->container->source->read_len;
			assert_int_equal(bfs_array_read(a, &lazy, off, got,
							part, NULL), BFS_OK);
			assert_memory_equal(got, whole + off, part);
			assert_true(a->container->source->read_len - asked <=
				    part + 128);
		}
	}
	free(whole);
	bfs_chunk_unref(chunk);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(data);
	free(out.p);
}

static void neighbours_are_read_together(void **state)
{
	struct bfs_engine *e = arrays_engine(64 << 20);
	struct build out = { 0 };
	uint8_t *data = arrays_make_big(&out, BUILD_LZ4, 0);
	struct bfs_array *a = arrays_open(e, out.p, out.len);
	struct bfs_source *s = a->container->source;
	size_t len = 8 * ARRAYS_BLOCK;
	uint8_t *got = malloc(len);
	uint64_t reads;

	(void)state;
	assert_int_equal(bfs_array_read(a, &arrays_data, 0, got, 1, NULL),
			 BFS_OK);
	reads = s->n_reads;
	assert_int_equal(bfs_array_read(a, &arrays_data, 4 * ARRAYS_BLOCK, got,
					len, NULL), BFS_OK);
	assert_memory_equal(got, data + 4 * ARRAYS_BLOCK, len);
	assert_int_equal(s->n_reads - reads, 1);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(got);
	free(data);
	free(out.p);
}

static void untouched_block_survives_garbage_around_it(void **state)
{
	struct bfs_engine *e = arrays_engine(64 << 20);
	struct build out = { 0 };
	uint8_t *data = arrays_make_big(&out, BUILD_ZSTD, 0), got[4096];
	struct bfs_array *a = arrays_open(e, out.p, out.len);
	uint64_t off = 20 * ARRAYS_BLOCK + 99;
	struct bfs_diag why = { 0 };
	struct bfs_chunk *chunk;
	struct bfs_span span;
	uint32_t at, len, k;

	(void)state;
	assert_int_equal(bfs_array_plan(a, 0, &chunk, &span, NULL), BFS_OK);
	for (k = 0; k < chunk->head.n_blocks; k++) {
		bfs_chunk_block_span(chunk, k, &at, &len);
		if (k != 20)
			memset(out.p + span.off + at, 0x5a, len);
	}
	assert_int_equal(bfs_array_read(a, &arrays_data, off, got, 4096,
					NULL), BFS_OK);
	assert_memory_equal(got, data + off, 4096);
	assert_int_equal(bfs_array_read(a, &arrays_data, 0, got, 4096, &why),
			 BFS_ERR_CORRUPT);
	assert_int_equal(why.chunk, 0);
	assert_non_null(strstr(why.text, "block 0"));
	/* And still after the failure. */
	assert_int_equal(bfs_array_read(a, &arrays_data, off + 1, got, 4096,
					NULL), BFS_OK);
	bfs_chunk_unref(chunk);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(data);
	free(out.p);
}

static void delta_reads_block_zero_as_reference(void **state)
{
	struct bfs_engine *e = arrays_engine(64 << 20);
	struct build out = { 0 };
	uint8_t *data = arrays_make_big(&out, BUILD_LZ4, 1), got[4096];
	struct bfs_array *a = arrays_open(e, out.p, out.len);
	uint64_t off = ARRAYS_CHUNK + 9 * ARRAYS_BLOCK + 12345;

	(void)state;
	assert_int_equal(bfs_array_read(a, &arrays_data, off, got, 4096,
					NULL), BFS_OK);
	assert_memory_equal(got, data + off, 4096);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(data);
	free(out.p);
}

struct reader {
	struct bfs_array *array;
	const uint8_t *data;
	unsigned seed;
	int bad;
};

static void *read_all(void *arg)
{
	struct reader *r = arg;
	size_t len = 64 << 10, off;
	uint8_t *got = malloc(len);

	for (off = 0; off < 2 * ARRAYS_CHUNK; off += len) {
		if (bfs_array_read(r->array, &arrays_data, off, got, len,
				   NULL) != BFS_OK ||
		    memcmp(got, r->data + off, len))
			r->bad++;
	}
	free(got);
	return NULL;
}

static void readers_side_by_side_decode_each_block_once(void **state)
{
	struct bfs_engine *e = arrays_engine(256 << 20);
	struct build out = { 0 };
	uint8_t *data = arrays_make_big(&out, BUILD_LZ4, 1);
	struct bfs_array *a = arrays_open(e, out.p, out.len);
	struct bfs_engine_stats stats;
	struct reader readers[6];
	pthread_t threads[6];
	int i;

	(void)state;
	for (i = 0; i < 6; i++) {
		readers[i] = (struct reader){ a, data, (unsigned)i, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, read_all,
						&readers[i]), 0);
	}
	for (i = 0; i < 6; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(readers[i].bad, 0);
	}
	bfs_engine_get_stats(e, &stats);
	assert_int_equal(stats.decoded_len, 2 * ARRAYS_CHUNK);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(data);
	free(out.p);
}

static void cache_smaller_than_the_data_gives_the_same_bytes(void **state)
{
	struct bfs_engine *e = arrays_engine(1 << 20);
	struct build out = { 0 };
	uint8_t *data = arrays_make_big(&out, BUILD_LZ4, 1);
	struct bfs_array *a = arrays_open(e, out.p, out.len);
	struct reader r = { a, data, 0, 0 };

	(void)state;
	read_all(&r);
	assert_int_equal(r.bad, 0);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(data);
	free(out.p);
}

static void one_special_chunk_of_a_variable_frame_gets_the_rest(void **state)
{
	struct bfs_engine *e = arrays_engine(1 << 20);
	uint8_t data[560], got[1040];
	struct build out = { 0 };
	struct build_frame f = { .typesize = 4, .flags = 0x53 };
	struct build_chunk c = { .typesize = 4, .codec = BUILD_LZ4 };
	struct bfs_stream chunk2 = { BFS_STREAM_CHUNK, 2 };
	struct bfs_array *a;
	uint64_t len = 0;

	(void)state;
	build_fill(data, sizeof(data), 3);
	c.data = data;
	c.len = c.blocksize = 400;
	build_frame_chunk(&f, &c);
	c.data = data + 400;
	c.len = c.blocksize = 160;
	build_frame_chunk(&f, &c);
	build_frame_special(&f, UINT64_C(0x81) << 56, 480);
	build_frame_finish(&f, &out);
	a = arrays_open(e, out.p, out.len);
	assert_int_equal(bfs_array_len(a, &chunk2, &len, NULL), BFS_OK);
	assert_int_equal(len, 480);
	assert_int_equal(bfs_array_read(a, &arrays_data, 0, got, 1040, NULL),
			 BFS_OK);
	assert_memory_equal(got, data, 560);
	for (len = 560; len < 1040; len++)
		assert_int_equal(got[len], 0);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(out.p);
}

static void two_special_chunks_of_a_variable_frame_are_an_error(void **state)
{
	struct bfs_engine *e = arrays_engine(1 << 20);
	uint8_t data[400], got[400];
	struct build out = { 0 };
	struct build_frame f = { .typesize = 4, .flags = 0x53 };
	struct build_chunk c = { .typesize = 4, .codec = BUILD_LZ4,
				 .data = data, .len = 400, .blocksize = 400 };
	struct bfs_stream chunk0 = { BFS_STREAM_CHUNK, 0 };
	struct bfs_diag why = { 0 };
	struct bfs_array *a;

	(void)state;
	build_fill(data, sizeof(data), 3);
	build_frame_chunk(&f, &c);
	build_frame_special(&f, UINT64_C(0x81) << 56, 100);
	build_frame_special(&f, UINT64_C(0x84) << 56, 100);
	build_frame_finish(&f, &out);
	a = arrays_open(e, out.p, out.len);
	assert_int_equal(bfs_array_ready(a, &arrays_data, &why),
			 BFS_ERR_CORRUPT);
	assert_non_null(strstr(why.text, "special chunk without size"));
	assert_int_equal(bfs_array_read(a, &chunk0, 0, got, 400, NULL),
			 BFS_OK);
	assert_memory_equal(got, data, 400);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(out.p);
}

static void changed_file_is_an_error_and_not_other_bytes(void **state)
{
	struct bfs_engine *e = arrays_engine(64 << 20);
	struct build out = { 0 };
	uint8_t *data = arrays_make_big(&out, BUILD_LZ4, 0), got[4096];
	char path[] = "/tmp/bloscfs-test-XXXXXX";
	struct bfs_source *s = NULL;
	struct bfs_container *f = NULL;
	struct bfs_array *a = NULL;
	struct bfs_diag why;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, out.p, out.len), (ssize_t)out.len);
	assert_int_equal(bfs_source_file(fd, &s, NULL), BFS_OK);
	assert_int_equal(bfs_container_open(s, NULL, NULL, NULL, &f, NULL),
			 BFS_OK);
	bfs_source_unref(s);
	assert_int_equal(bfs_array_open(e, f, &a, NULL), BFS_OK);
	assert_int_equal(bfs_array_read(a, &arrays_data, 0, got, 4096, NULL),
			 BFS_OK);
	assert_int_equal(ftruncate(fd, (off_t)out.len / 2), 0);
	assert_int_equal(bfs_array_read(a, &arrays_data, ARRAYS_CHUNK, got,
					4096, &why), BFS_ERR_CHANGED);
	/* What was decoded before is the old file's and still served. */
	assert_int_equal(bfs_array_read(a, &arrays_data, 100, got, 4096, NULL),
			 BFS_OK);
	assert_memory_equal(got, data + 100, 4096);
	bfs_array_close(a);
	bfs_engine_free(e);
	unlink(path);
	free(data);
	free(out.p);
}

/* A 2-d array of 300 x 500 items in chunks of 70 x 90, blocks of 20 x 30,
 * laid out by the formulas of docs/formats/b2nd.md item by item. */
static void make_tiles(const uint32_t *items, struct build *out)
{
	struct build_frame f = { .typesize = 4, .ndim = 2, .dtype = "<u4",
				 .shape = { 300, 500 },
				 .chunkshape = { 70, 90 },
				 .blockshape = { 20, 30 } };
	struct build_chunk c = { .typesize = 4, .blocksize = 20 * 30 * 4,
				 .codec = BUILD_LZ4, .shuffle = 1 };
	size_t n = 4 * 3 * 20 * 30;	/* items of an extended chunk */
	uint32_t *chunk = malloc(n * 4);
	size_t cy, cx, i;

	f.chunksize = (int64_t)n * 4;
	c.len = n * 4;
	for (cy = 0; cy < 5; cy++) {
		for (cx = 0; cx < 6; cx++) {
			memset(chunk, 0xee, n * 4);
			for (i = 0; i < 70 * 90; i++) {
				size_t y = i / 90, x = i % 90;
				size_t b = y / 20 * 3 + x / 30;
				size_t q = y % 20 * 30 + x % 30;
				size_t ay = cy * 70 + y, ax = cx * 90 + x;

				if (ay < 300 && ax < 500)
					chunk[b * 600 + q] =
						items[ay * 500 + ax];
			}
			c.data = (const uint8_t *)chunk;
			if (cy == 2 && cx == 3)
				build_frame_special(&f, UINT64_C(0x81) << 56,
						    n * 4);
			else
				build_frame_chunk(&f, &c);
		}
	}
	build_frame_finish(&f, out);
	free(chunk);
}

static void array_is_served_in_c_order(void **state)
{
	struct bfs_engine *e = arrays_engine(1 << 20);
	size_t len = 300 * 500 * 4, off, i;
	uint32_t *items = malloc(len), x = 5;
	uint8_t *got = malloc(len);
	struct build out = { 0 };
	struct bfs_array *a;
	uint64_t all = 0;
	int round;

	(void)state;
	for (i = 0; i < 300 * 500; i++)
		items[i] = (uint32_t)i * 7919;
	for (i = 0; i < 70 * 90; i++)
		items[(140 + i / 90) * 500 + 270 + i % 90] = 0;
	make_tiles(items, &out);
	a = arrays_open(e, out.p, out.len);
	assert_true(a->has_nd);
	assert_int_equal(bfs_array_len(a, &arrays_data, &all, NULL), BFS_OK);
	assert_int_equal(all, len);
	assert_int_equal(bfs_array_read(a, &arrays_data, 0, got, len, NULL),
			 BFS_OK);
	assert_memory_equal(got, items, len);
	for (round = 0; round < 300; round++) {
		size_t part;

		x = x * 1664525 + 1013904223;
		off = x % len;
		x = x * 1664525 + 1013904223;
		part = 1 + (x >> 8) % 20000;
		if (part > len - off)
			part = len - off;
		memset(got, 0xaa, part);
		assert_int_equal(bfs_array_read(a, &arrays_data, off, got,
						part, NULL), BFS_OK);
		assert_memory_equal(got, (uint8_t *)items + off, part);
	}
	bfs_array_close(a);
	bfs_engine_free(e);
	free(items);
	free(got);
	free(out.p);
}

/* Where the frame has not the bytes of all its tiles, none of its joined
 * bytes are the array. */
static void array_beyond_the_frame_is_damaged(void **state)
{
	struct bfs_engine *e = arrays_engine(1 << 20);
	uint32_t *items = calloc(300 * 500, 4);
	struct build out = { 0 };
	struct bfs_array *a;
	uint64_t nbytes, len;

	(void)state;
	make_tiles(items, &out);
	nbytes = bfs_be64(out.p + 0x1e) - 28799;
	nbytes = htobe64(nbytes);
	memcpy(out.p + 0x1e, &nbytes, 8);
	a = arrays_open(e, out.p, out.len);
	assert_false(a->has_nd);
	assert_int_equal(a->container->status, BFS_DAMAGED);
	assert_non_null(strstr(a->container->why.text, "the frame"));
	assert_int_equal(bfs_array_len(a, &arrays_data, &len, NULL),
			 BFS_ERR_CORRUPT);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(items);
	free(out.p);
}

/* 5 x 7 items of 2 bytes in plain chunks of 2 x 3, edges full-size. */
static void make_caterva(const uint16_t *items, const uint8_t *meta,
			 size_t meta_len, struct build *out)
{
	struct build_frame f = { .typesize = 2, .chunksize = 12,
				 .meta_name = "caterva", .meta = meta,
				 .meta_len = meta_len };
	uint16_t chunk[6];
	struct build_chunk c = { .data = (uint8_t *)chunk, .len = 12,
				 .typesize = 2, .blocksize = 12,
				 .codec = BUILD_LZ4, .shuffle = 1 };
	size_t cy, cx, i;

	for (cy = 0; cy < 3; cy++) {
		for (cx = 0; cx < 3; cx++) {
			for (i = 0; i < 6; i++) {
				size_t y = cy * 2 + i / 3, x = cx * 3 + i % 3;

				chunk[i] = y < 5 && x < 7 ? items[y * 7 + x] :
							    0xeeee;
			}
			build_frame_chunk(&f, &c);
		}
	}
	build_frame_finish(&f, out);
}

static void check_caterva(const uint8_t *meta, size_t meta_len)
{
	struct bfs_engine *e = arrays_engine(1 << 20);
	struct build out = { 0 };
	uint16_t items[35], got[35];
	struct bfs_array *a;
	size_t i;

	for (i = 0; i < 35; i++)
		items[i] = (uint16_t)(i * 257 + 3);
	make_caterva(items, meta, meta_len, &out);
	a = arrays_open(e, out.p, out.len);
	assert_true(a->has_nd);
	assert_true(a->plain);
	assert_int_equal(bfs_array_read(a, &arrays_data, 0, got, 70, NULL),
			 BFS_OK);
	assert_memory_equal(got, items, 70);
	assert_int_equal(bfs_array_read(a, &arrays_data, 13, got, 31, NULL),
			 BFS_OK);
	assert_memory_equal(got, (uint8_t *)items + 13, 31);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(out.p);
}

static void first_caterva_has_little_endian_numbers_and_no_blocks(void **state)
{
	static const uint8_t meta[] =
		"\x93\x02\x92\xcf\5\0\0\0\0\0\0\0\xcf\7\0\0\0\0\0\0\0"
		"\x92\xd2\2\0\0\0\xd2\3\0\0";

	(void)state;
	/* The literal's own NUL is the last byte. */
	check_caterva(meta, sizeof(meta));
}

static void caterva_without_a_block_shape_is_plain(void **state)
{
	static const uint8_t zeros[] =
		"\x95\0\2\x92\xd3\0\0\0\0\0\0\0\5\xd3\0\0\0\0\0\0\0\7"
		"\x92\xd2\0\0\0\2\xd2\0\0\0\3"
		"\x92\xd2\0\0\0\0\xd2\0\0\0";
	static const uint8_t stale[] =
		"\x95\0\2\x92\xd3\0\0\0\0\0\0\0\5\xd3\0\0\0\0\0\0\0\7"
		"\x92\xd2\0\0\0\2\xd2\0\0\0\3"
		"\x92\xd2\0\0\0\1\xd2\0\0\0\3";

	(void)state;
	check_caterva(zeros, sizeof(zeros));
	check_caterva(stale, sizeof(stale) - 1);
}

static void failing_memory_leaves_nothing_behind(void **state)
{
	struct build out = { 0 };
	uint8_t *data = arrays_make_big(&out, BUILD_LZ4, 1), got[4096];
	uint64_t before = bfs_mem_used(), n;
	bool done = false;

	(void)state;
	for (n = 1; !done && n < 500; n++) {
		struct bfs_engine_options o = { .cache_len = 4 << 20 };
		struct bfs_engine *e = NULL;
		struct bfs_source *s = NULL;
		struct bfs_container *f = NULL;
		struct bfs_array *a = NULL;

		bfs_mem_fail_at(n);
		if (bfs_engine_new(&o, &e) == BFS_OK &&
		    bfs_source_memory(out.p, out.len, false, &s, NULL) ==
			    BFS_OK &&
		    bfs_container_open(s, NULL, NULL, bfs_engine_cache(e), &f,
				       NULL) == BFS_OK &&
		    bfs_array_open(e, f, &a, NULL) == BFS_OK &&
		    bfs_array_read(a, &arrays_data, ARRAYS_CHUNK * 3 / 2, got,
				   4096, NULL) == BFS_OK) {
			assert_memory_equal(got, data + ARRAYS_CHUNK * 3 / 2,
					    4096);
			done = bfs_mem_used() > 0 && n > 20;
		}
		bfs_mem_fail_at(0);
		bfs_source_unref(s);
		bfs_array_close(a);
		bfs_engine_free(e);
		assert_int_equal(bfs_mem_used(), before);
	}
	assert_true(done);
	free(data);
	free(out.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_read_asks_for_the_touched_block_alone),
		cmocka_unit_test(lazy_chunk_is_the_same_in_windows_as_in_one),
		cmocka_unit_test(neighbours_are_read_together),
		cmocka_unit_test(untouched_block_survives_garbage_around_it),
		cmocka_unit_test(delta_reads_block_zero_as_reference),
		cmocka_unit_test(readers_side_by_side_decode_each_block_once),
		cmocka_unit_test(
			cache_smaller_than_the_data_gives_the_same_bytes),
		cmocka_unit_test(
			one_special_chunk_of_a_variable_frame_gets_the_rest),
		cmocka_unit_test(
			two_special_chunks_of_a_variable_frame_are_an_error),
		cmocka_unit_test(changed_file_is_an_error_and_not_other_bytes),
		cmocka_unit_test(array_is_served_in_c_order),
		cmocka_unit_test(array_beyond_the_frame_is_damaged),
		cmocka_unit_test(
			first_caterva_has_little_endian_numbers_and_no_blocks),
		cmocka_unit_test(caterva_without_a_block_shape_is_plain),
		cmocka_unit_test(failing_memory_leaves_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
