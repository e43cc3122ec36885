/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_array_pins.c - ranges of an array as pieces: blocks of the cache where
 * they are long enough, and else a copy.
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

#include <stdlib.h>
#include <string.h>

static void pins_give_the_same_bytes_as_reads(void **state)
{
	struct bfs_engine *e = arrays_engine(4 << 20);
	struct build out = { 0 };
	uint8_t *data = arrays_make_big(&out, BUILD_LZ4, 1);
	struct bfs_array *a = arrays_open(e, out.p, out.len);
	uint8_t *buf = malloc(2 << 20), *flat = malloc(2 << 20);
	static struct bfs_pieces pieces;
	uint32_t x = 1;
	int round;

	(void)state;
	for (round = 0; round < 200; round++) {
		size_t off, len, at = 0, i;

		x = x * 1664525 + 1013904223;
		off = x % (2 * ARRAYS_CHUNK);
		x = x * 1664525 + 1013904223;
		len = 1 + (x >> 4) % (round % 2 ? 2 << 20 : 9000);
		if (len > 2 * ARRAYS_CHUNK - off)
			len = 2 * ARRAYS_CHUNK - off;
		assert_int_equal(bfs_array_pin(a, &arrays_data, off, buf, len,
					       &pieces, NULL), BFS_OK);
		for (i = 0; i < pieces.n; i++) {
			memcpy(flat + at, pieces.iov[i].iov_base,
			       pieces.iov[i].iov_len);
			at += pieces.iov[i].iov_len;
		}
		bfs_array_release(a, &pieces);
		assert_int_equal(at, len);
		assert_memory_equal(flat, data + off, len);
	}
	bfs_array_close(a);
	bfs_engine_free(e);
	free(buf);
	free(flat);
	free(data);
	free(out.p);
}

#define ROWS 3000
#define ROW_ITEMS 1024

/* Chunks of 512 rows in blocks of 16, the last one longer than the array. */
static void make_rows(uint32_t *items, struct build *out)
{
	struct build_frame f = { .typesize = 4, .ndim = 2, .dtype = "<u4",
				 .shape = { ROWS, ROW_ITEMS },
				 .chunkshape = { 512, ROW_ITEMS },
				 .blockshape = { 16, ROW_ITEMS },
				 .chunksize = 512 * ROW_ITEMS * 4 };
	size_t n = (size_t)f.chunksize / 4;

	for (size_t i = 0; i < 6 * n; i++)
		items[i] = (uint32_t)i;
	for (size_t i = 0; i < 6; i++) {
		struct build_chunk c = {
			.data = (const uint8_t *)(items + i * n), .len = n * 4,
			.typesize = 4, .blocksize = 16 * ROW_ITEMS * 4,
			.codec = BUILD_LZ4, .shuffle = 1,
		};

		build_frame_chunk(&f, &c);
	}
	build_frame_finish(&f, out);
}

/* More chunks than there are pieces: the rest is gathered into one. */
static void a_range_of_many_small_chunks_is_given_whole(void **state)
{
	static const uint32_t sizes[] = { 64, 4095, 4096, 5000, 5461, 8192 };
	static uint8_t data[200 * 8192], buf[sizeof(data)];
	static struct bfs_pieces pieces;
	uint32_t x = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
	for (size_t k = 0; k < BFS_ARRAY_LEN(sizes); k++) {
		struct build_frame f = { .typesize = 1, .chunksize = sizes[k] };
		struct bfs_engine *e = arrays_engine(4 << 20);
		const size_t all = (size_t)200 * sizes[k];
		struct build out = { 0 };
		struct bfs_array *a;

		for (uint32_t i = 0; i < 200; i++) {
			struct build_chunk c = {
				.data = data + i * sizes[k], .len = sizes[k],
				.typesize = 1, .blocksize = sizes[k],
				.codec = BUILD_LZ4,
			};

			build_frame_chunk(&f, &c);
		}
		build_frame_finish(&f, &out);
		a = arrays_open(e, out.p, out.len);
		for (size_t len = 1; len <= all; len += len / 3 + 1) {
			size_t off = (all - len) / 2, at = 0;

			assert_int_equal(bfs_array_pin(
				a, &arrays_data, off, buf, len, &pieces,
				NULL), BFS_OK);
			assert_true(pieces.n <= BFS_MAX_PIECES);
			for (size_t i = 0; i < pieces.n; i++) {
				assert_memory_equal(pieces.iov[i].iov_base,
						    data + off + at,
						    pieces.iov[i].iov_len);
				at += pieces.iov[i].iov_len;
			}
			assert_int_equal(at, len);
			bfs_array_release(a, &pieces);
			pieces.n = pieces.n_pins = 0;
		}
		bfs_array_close(a);
		bfs_engine_free(e);
		free(out.p);
	}
}

/* 1000 items in chunks of 100, which blocks of 30 make 120 long. */
static void padding_between_chunks_is_left_out(void **state)
{
	struct build_frame f = { .typesize = 4, .ndim = 1, .dtype = "<u4",
				 .shape = { 1000 }, .chunkshape = { 100 },
				 .blockshape = { 30 }, .chunksize = 480 };
	struct bfs_engine *e = arrays_engine(1 << 20);
	static struct bfs_pieces pieces;
	uint32_t items[120], buf[1000];
	struct build out = { 0 };
	struct bfs_array *a;
	size_t at = 0;

	(void)state;
	for (uint32_t chunk = 0; chunk < 10; chunk++) {
		struct build_chunk c = {
			.data = (const uint8_t *)items, .len = sizeof(items),
			.typesize = 4, .blocksize = 120, .codec = BUILD_LZ4,
			.shuffle = 1,
		};

		for (uint32_t i = 0; i < 120; i++)
			items[i] = htole32(i < 100 ? chunk * 100 + i :
						     0xeeeeeeee);
		build_frame_chunk(&f, &c);
	}
	build_frame_finish(&f, &out);
	a = arrays_open(e, out.p, out.len);
	assert_int_equal(bfs_array_pin(a, &arrays_data, 0, buf, sizeof(buf),
				       &pieces, NULL), BFS_OK);
	for (size_t i = 0; i < pieces.n; i++)
		for (size_t k = 0; k < pieces.iov[i].iov_len; k += 4, at++)
			assert_int_equal(bfs_le32((uint8_t *)
				pieces.iov[i].iov_base + k), at);
	assert_int_equal(at, 1000);
	bfs_array_release(a, &pieces);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(out.p);
}

static void rows_that_no_chunk_cuts_are_pinned_and_not_copied(void **state)
{
	struct bfs_engine *e = arrays_engine(4 << 20);
	uint32_t *items = malloc(6 * 512 * ROW_ITEMS * 4);
	uint8_t *buf = malloc(1 << 20);
	const size_t all = ROWS * ROW_ITEMS * 4, len = 300000;
	static struct bfs_pieces pieces;
	struct build out = { 0 };
	struct bfs_array *a;
	uint64_t end = 0;

	(void)state;
	assert_true(items && buf);
	make_rows(items, &out);
	a = arrays_open(e, out.p, out.len);
	assert_int_equal(bfs_array_len(a, &arrays_data, &end, NULL), BFS_OK);
	assert_int_equal(end, all);
	for (size_t off = 0; off < all; off += len - 4096) {
		size_t want = len < all - off ? len : all - off, at = 0;

		assert_int_equal(bfs_array_pin(a, &arrays_data, off, buf, want,
					       &pieces, NULL), BFS_OK);
		for (size_t i = 0; i < pieces.n; i++) {
			const uint8_t *p = pieces.iov[i].iov_base;

			assert_true(p < buf || p >= buf + want);
			assert_memory_equal(p, (uint8_t *)items + off + at,
					    pieces.iov[i].iov_len);
			at += pieces.iov[i].iov_len;
		}
		assert_int_equal(at, want);
		bfs_array_release(a, &pieces);
	}
	assert_int_equal(bfs_array_pin(a, &arrays_data, all - 10, buf, 11,
				       &pieces, NULL), BFS_ERR_RANGE);
	bfs_array_close(a);
	bfs_engine_free(e);
	free(buf);
	free(items);
	free(out.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pins_give_the_same_bytes_as_reads),
		cmocka_unit_test(a_range_of_many_small_chunks_is_given_whole),
		cmocka_unit_test(padding_between_chunks_is_left_out),
		cmocka_unit_test(
			rows_that_no_chunk_cuts_are_pinned_and_not_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
