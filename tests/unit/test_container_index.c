/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_container_index.c - what the index and the chunks of a hostile frame
 * can claim: the chunk that is touched fails, the others are served, and a
 * few bytes never stand for much memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hostile_frame.h"
#include "base/mem.h"
#include "container/index.h"

#include <zstd.h>

/* ---- the index ------------------------------------------------------- */

static void chunk_outside_the_data_fails_alone(void **state)
{
	static const uint64_t entries[] = {
		N_CHUNKS * STORED, N_CHUNKS * STORED - 15, 100000, INT64_MAX,
		UINT64_C(1) << 62, UINT32_MAX,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		struct build b = make_frame();
		struct bfs_array *a;

		patch_le(&b, entry_at(&b, 1), entries[i], 8);
		a = hostile_open(&b, NAME);
		expect_chunk(a, 0);
		expect_failure(a, BFS_STREAM_CHUNK, 1, BFS_ERR_CORRUPT,
			       "it would begin");
		expect_failure(a, BFS_STREAM_RAW_CHUNK, 1, BFS_ERR_CORRUPT,
			       "it would begin");
		expect_chunk(a, 2);
		read_all_streams(a, 4096);
		bfs_array_close(a);
		free(b.p);
	}
}

static void chunk_that_runs_into_the_index_fails_alone(void **state)
{
	struct build b = make_frame();
	struct bfs_array *a;

	(void)state;
	patch_le(&b, header_len(&b) + 2 * STORED + 12, STORED + 1, 4);
	a = hostile_open(&b, NAME);
	expect_chunk(a, 0);
	expect_failure(a, BFS_STREAM_CHUNK, 2, BFS_ERR_TRUNCATED, "cbytes");
	bfs_array_close(a);
	free(b.p);
}

static void entry_with_junk_in_its_upper_bits_fails_alone(void **state)
{
	static const uint64_t entries[] = {
		UINT64_MAX, UINT64_C(1) << 63, UINT64_C(0x83) << 56,
		UINT64_C(0x85) << 56, UINT64_C(0x88) << 56,
		UINT64_C(0xc1) << 56, (UINT64_C(0x81) << 56) + 1,
		(UINT64_C(0x82) << 56) + (UINT64_C(1) << 40),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		struct build b = make_frame();
		struct bfs_array *a;

		patch_le(&b, entry_at(&b, 0), entries[i], 8);
		a = hostile_open(&b, NAME);
		expect_failure(a, BFS_STREAM_CHUNK, 0, BFS_ERR_CORRUPT,
			       "index entry");
		expect_chunk(a, 1);
		expect_chunk(a, 2);
		bfs_array_close(a);
		free(b.p);
	}
}

static void entries_may_share_a_chunk_and_be_special(void **state)
{
	static const uint8_t zeros[CHUNK];
	struct build b = make_frame();
	struct bfs_array *a;

	(void)state;
	patch_le(&b, entry_at(&b, 0), 2 * STORED, 8);
	patch_le(&b, entry_at(&b, 1), UINT64_C(0x81) << 56, 8);
	a = hostile_open(&b, NAME);
	expect_good(a);
	expect_stream(a, BFS_STREAM_CHUNK, 0, data + 2 * CHUNK, CHUNK);
	expect_stream(a, BFS_STREAM_CHUNK, 1, zeros, CHUNK);
	expect_chunk(a, 2);
	bfs_array_close(a);
	free(b.p);
}

static void index_that_is_no_chunk_is_refused(void **state)
{
	static const struct { unsigned at, n; uint64_t v; } bad[] = {
		{ 0, 1, 0 }, { 3, 1, 0 }, { 4, 4, 23 }, { 4, 4, UINT32_MAX },
		{ 8, 4, 0 }, { 12, 4, 16 }, { 12, 4, UINT32_MAX },
		{ 31, 1, 0x50 }, { 31, 1, 0x08 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct build b = make_frame();

		patch_le(&b, index_at(&b) + bad[i].at, bad[i].v, bad[i].n);
		expect_useless(&b, NAME, BFS_DAMAGED, "");
		free(b.p);
	}
}

/* Replaces index and trailer by an index chunk of the caller's. */
static void put_index(struct build *b, const void *index, size_t len,
		      uint64_t nbytes, uint64_t chunksize)
{
	b->len = index_at(b);
	build_bytes(b, index, len);
	build_bytes(b, "\x94\1\x93\xcd\0\6\xde\0\0\xdc\0\0\xce\0\0\0\x23", 17);
	build_bytes(b, "\xd8\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 18);
	patch_be(b, 0x10, b->len, 8);
	patch_be(b, 0x1e, nbytes, 8);
	patch_be(b, 0x3a, chunksize, 4);
}

/* An index chunk that repeats one entry: 40 bytes. */
static void make_repeated(uint8_t chunk[40], uint32_t n, uint64_t entry)
{
	struct build b = { 0 };

	build_bytes(&b, "\5\1\5\10", 4);
	build_le32(&b, 8 * n);
	build_le32(&b, 8 * n);
	build_le32(&b, 40);
	build_bytes(&b, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x30", 16);
	build_le64(&b, entry);
	memcpy(chunk, b.p, 40);
	free(b.p);
}

static void exbibyte_of_zeros_costs_no_memory(void **state)
{
	struct bfs_stream s = { BFS_STREAM_DATA, 0 };
	uint64_t size = 2147483615, n = 2147483615 / 8, len = 0;
	uint8_t chunk[40], got[64], zeros[64] = { 0 };
	struct build b = make_frame();
	struct bfs_array *a;
	uint64_t before;

	(void)state;
	make_repeated(chunk, (uint32_t)n, UINT64_C(0x81) << 56);
	put_index(&b, chunk, 40, n * size, size);
	before = bfs_mem_used();
	a = hostile_open(&b, NAME);
	expect_good(a);
	assert_int_equal(bfs_array_len(a, &s, &len, NULL), BFS_OK);
	assert_int_equal(len, n * size);
	for (unsigned i = 0; i < 62; i++)
		if (UINT64_C(1) << i <= len - 64) {
			memset(got, 1, 64);
			assert_int_equal(bfs_array_read(
				a, &s, UINT64_C(1) << i, got, 64, NULL),
				BFS_OK);
			assert_memory_equal(got, zeros, 64);
		}
	assert_true(bfs_mem_used() - before < 1 << 20);
	bfs_array_close(a);
	free(b.p);
}

/* The index lies in the frame as it is, so that its blocks may be of any
 * length: also such that entries reach over their ends. */
static void a_step_through_the_index_ends_with_its_block(void **state)
{
	static const struct {
		uint32_t blocksize;
		uint64_t next[N_CHUNKS];
	} rows[] = {
		{ 8, { 1, 2, 3 } }, { 12, { 1, 2, 3 } }, { 16, { 2, 2, 3 } },
		{ 24, { 3, 3, 3 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct build b = make_frame();
		struct bfs_array *a;
		struct bfs_index *x;
		uint8_t got[8 * N_CHUNKS];
		uint64_t n_got;
		bool same;

		patch_le(&b, index_at(&b) + 8, rows[i].blocksize, 4);
		a = hostile_open(&b, NAME);
		x = a->container->index;
		assert_non_null(x);
		for (uint64_t n = 0; n < N_CHUNKS; n++) {
			assert_int_equal(bfs_index_next_block(x, n),
					 rows[i].next[n]);
			assert_int_equal(bfs_index_window(x, n, N_CHUNKS,
							  got, &n_got, &same,
							  NULL), BFS_OK);
			assert_false(same);
			assert_int_equal(n_got, rows[i].next[n] - n);
			for (uint64_t k = 0; k < n_got; k++)
				assert_int_equal(bfs_le64(got + 8 * k),
						 (n + k) * STORED);
		}
		bfs_array_close(a);
		free(b.p);
	}
}

static void index_of_a_few_hundred_million_entries_costs_nothing(void **state)
{
	struct build b = build_sample("bad-frame-index-bomb.b2frame");
	uint64_t before = bfs_mem_used();
	struct bfs_array *a = hostile_open(&b, NAME);

	(void)state;
	read_all_streams(a, 4096);
	assert_true(bfs_mem_used() - before < 1 << 20);
	bfs_array_close(a);
	free(b.p);
}

/* An index of n entries in one Zstandard block: all zeros. */
static void make_giant(struct build *out, uint32_t n)
{
	size_t len = 8 * (size_t)n, got;
	ZSTD_CCtx *ctx = ZSTD_createCCtx();
	uint8_t *raw = calloc(1, len), *zip = malloc(len / 64);

	assert_non_null(raw);
	assert_non_null(zip);
	got = ZSTD_compressCCtx(ctx, zip, len / 64, raw, len, 1);
	assert_false(ZSTD_isError(got));
	build_bytes(out, "\5\1\x95\10", 4);
	build_le32(out, (uint32_t)len);
	build_le32(out, (uint32_t)len);
	build_le32(out, (uint32_t)got + 40);
	build_bytes(out, "\0\0\0\0\0\0\5\0\0\0\0\0\0\0\0\0", 16);
	build_le32(out, 36);
	build_le32(out, (uint32_t)got);
	build_bytes(out, zip, got);
	ZSTD_freeCCtx(ctx);
	free(raw);
	free(zip);
}

static void index_of_one_giant_block_is_refused_without_memory(void **state)
{
	struct build b = make_frame(), giant = { 0 };
	uint32_t n = (32 << 20) / 8;

	(void)state;
	make_giant(&giant, n);
	assert_true(giant.len < 65536);
	put_index(&b, giant.p, giant.len, n * (uint64_t)CHUNK, CHUNK);
	expect_useless(&b, NAME, BFS_DAMAGED, "index");
	free(giant.p);
	free(b.p);
}

static void empty_index_of_a_frame_with_data_is_refused(void **state)
{
	static const uint8_t none[32] = { 5, 1, 7, 8, 0, 0, 0, 0, 1, 0, 0, 0,
					  32 };
	struct build b = make_frame();

	(void)state;
	put_index(&b, none, 32, 1000, 0);
	expect_useless(&b, NAME, BFS_DAMAGED, "index");
	free(b.p);
}

static void frame_without_data_needs_no_index(void **state)
{
	struct build b = make_frame();
	struct bfs_array *a;

	(void)state;
	patch_be(&b, 0x1e, 0, 8);
	/* Bytes of chunks that were deleted reach up to the trailer. */
	patch_be(&b, 0x27, trailer_at(&b) - header_len(&b), 8);
	a = hostile_open(&b, NAME);
	expect_good(a);
	assert_int_equal(a->container->n_chunks, 0);
	expect_stream(a, BFS_STREAM_DATA, 0, "", 0);
	bfs_array_close(a);
	free(b.p);
}

static void frame_of_no_bytes_beside_an_index_is_damage(void **state)
{
	struct build b = make_frame();
	struct bfs_file *file;
	struct bfs_attr attr;
	struct bfs_node node;
	struct bfs_array *a;

	(void)state;
	patch_be(&b, 0x1e, 0, 8);
	a = hostile_open(&b, NAME);
	expect_blamed(a, BFS_DAMAGED, "nbytes is 0 beside");
	expect_failure(a, BFS_STREAM_DATA, 0, BFS_ERR_CORRUPT, "nbytes is 0");
	bfs_array_close(a);
	/* What shows a size of 0 is taken for empty. */
	file = hostile_file(&b, NAME);
	assert_true(frames_find(file, "data.bin", &node));
	bfs_file_stat(file, &node, &attr);
	assert_int_equal(attr.len, 1);
	assert_int_equal(bfs_file_open(file, &node, NULL), BFS_ERR_CORRUPT);
	bfs_file_free(file);
	free(b.p);
}

/* One entry that names another one's chunk: all lengths are right, and some
 * bytes are named by nobody. */
static void entry_that_names_anothers_chunk_is_damage(void **state)
{
	struct build b = make_frame();
	struct bfs_array *a;
	struct bfs_stream s = { BFS_STREAM_DATA, 0 };
	struct bfs_diag diag = { 0 };

	(void)state;
	/* The index is stored as it is. */
	assert_int_equal(bfs_le64(b.p + index_at(&b) + 32 + 8), STORED);
	patch_le(&b, index_at(&b) + 32 + 8, 2 * STORED, 8);
	a = hostile_open(&b, NAME);
	assert_int_equal(bfs_array_ready(a, &s, &diag), BFS_ERR_CORRUPT);
	assert_non_null(strstr(diag.text, "two entries of the index"));
	expect_stream(a, BFS_STREAM_CHUNK, 0, data, CHUNK);
	bfs_array_close(a);
	free(b.p);
}

/* Replaces the index by one of n entries that are stored as they are. */
static void put_entries(struct build *b, const uint64_t *entries, size_t n)
{
	struct build plain = { 0 }, chunk = { 0 };
	struct build_chunk c = { .typesize = 8, .codec = BUILD_RAW,
				 .len = 8 * n, .blocksize = (uint32_t)(8 * n) };

	for (size_t i = 0; i < n; i++)
		build_le64(&plain, entries[i]);
	c.data = plain.p;
	build_chunk(&chunk, &c);
	put_index(b, chunk.p, chunk.len, n * CHUNK, CHUNK);
	free(chunk.p);
	free(plain.p);
}

/* All stored bytes are somebody's: it was meant so. */
static void chunks_that_are_named_twice_are_fine_if_none_is_left(void **state)
{
	static const struct {
		uint64_t entries[6];
		size_t n;
		bool all;
	} rows[] = {
		{ { 0, STORED, 2 * STORED, 0, STORED, 2 * STORED }, 6, true },
		{ { 2 * STORED, STORED, 0, 0, STORED, STORED }, 6, true },
		/* The last, the first, the one between are nobody's. */
		{ { 0, STORED, 0, STORED }, 4, false },
		{ { STORED, 2 * STORED, STORED, 2 * STORED }, 4, false },
		{ { 0, 2 * STORED, 0, 2 * STORED }, 4, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bfs_stream s = { BFS_STREAM_JOINED, 0 };
		struct build b = make_frame();
		struct bfs_diag diag = { 0 };
		uint8_t got[CHUNK];
		struct bfs_array *a;

		put_entries(&b, rows[i].entries, rows[i].n);
		a = hostile_open(&b, NAME);
		expect_good(a);
		if (rows[i].all)
			assert_int_equal(bfs_array_ready(a, &s, &diag),
					 BFS_OK);
		else
			assert_int_equal(bfs_array_ready(a, &s, &diag),
					 BFS_ERR_CORRUPT);
		assert_int_equal(!strstr(diag.text, "two entries of the index"),
				 rows[i].all);
		for (size_t k = 0; k < rows[i].n && rows[i].all; k++) {
			assert_int_equal(bfs_array_read(a, &s, k * CHUNK, got,
							CHUNK, NULL), BFS_OK);
			assert_memory_equal(got, data + rows[i].entries[k] /
					    STORED * CHUNK, CHUNK);
		}
		bfs_array_close(a);
		free(b.p);
	}
}

static void index_of_other_than_entries_is_refused(void **state)
{
	static const struct {
		uint32_t nbytes;
		const char *word;
	} rows[] = {
		{ 44, "an index of 44 bytes has no whole number of entries" },
		{ 40, "an index repeats a value of 4 bytes" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct build b = make_frame(), index = { 0 };
		uint8_t chunk[40];

		make_repeated(chunk, 5, UINT64_C(0x81) << 56);
		build_bytes(&index, chunk, 36);
		patch_le(&index, 3, 4, 1);
		patch_le(&index, 4, rows[i].nbytes, 4);
		patch_le(&index, 8, rows[i].nbytes, 4);
		patch_le(&index, 12, 36, 4);
		put_index(&b, index.p, index.len, 5 * CHUNK, CHUNK);
		expect_useless(&b, NAME, BFS_DAMAGED, rows[i].word);
		free(index.p);
		free(b.p);
	}
}

/* One that repeats an entry is the same as one that has it many times. */
static void an_index_of_one_value_is_as_if_it_were_written_out(void **state)
{
	const uint64_t entry = UINT64_C(0x81) << 56;
	const uint64_t entries[5] = { entry, entry, entry, entry, entry };
	uint64_t digests[2], n_got, digest;
	uint8_t got[40];

	(void)state;
	for (int written = 0; written < 2; written++) {
		struct build b = make_frame();
		struct bfs_index *x;
		struct bfs_array *a;
		uint8_t chunk[40];
		int64_t one;
		bool same;

		make_repeated(chunk, 5, entry);
		if (written)
			put_entries(&b, entries, 5);
		else
			put_index(&b, chunk, 40, 5 * CHUNK, CHUNK);
		a = hostile_open(&b, NAME);
		expect_good(a);
		x = a->container->index;
		assert_int_equal(bfs_index_get(x, 4, &one, NULL), BFS_OK);
		assert_true((uint64_t)one == entry);
		assert_int_equal(bfs_index_get(x, 5, &one, NULL),
				 BFS_ERR_RANGE);
		assert_int_equal(bfs_index_window(x, 2, 100, got, &n_got,
						  &same, NULL), BFS_OK);
		assert_int_equal(n_got, 3);
		assert_int_equal(same, !written);
		for (size_t i = 0; i < (same ? 1 : n_got); i++)
			assert_true(bfs_le64(got + 8 * i) == entry);
		assert_int_equal(bfs_index_window(x, 5, 1, got, &n_got, &same,
						  NULL), BFS_ERR_RANGE);
		assert_int_equal(bfs_index_next_block(x, 1), 5);
		assert_int_equal(bfs_index_digest(x, 5, &digests[written],
						  NULL), BFS_OK);
		assert_int_equal(bfs_index_digest(x, 4, &digest, NULL),
				 BFS_OK);
		assert_true(digest != digests[written]);
		assert_int_equal(bfs_index_digest(x, 6, &digest, NULL),
				 BFS_ERR_RANGE);
		bfs_array_close(a);
		free(b.p);
	}
	assert_true(digests[0] == digests[1]);
}

/* ---- chunks of varying sizes ----------------------------------------- */

static void special_chunk_gets_what_the_others_leave(void **state)
{
	static const uint8_t zeros[200];
	struct build b = make_frame();
	struct bfs_array *a;

	(void)state;
	/* The last one, over which other readers divide by zero. */
	patch_be(&b, 0x3a, 0, 4);
	patch_be(&b, 0x1e, 2 * CHUNK + 200, 8);
	patch_le(&b, entry_at(&b, 2), UINT64_C(0x81) << 56, 8);
	a = hostile_open(&b, NAME);
	expect_good(a);
	expect_chunk(a, 0);
	expect_chunk(a, 1);
	expect_stream(a, BFS_STREAM_CHUNK, 2, zeros, 200);
	bfs_array_close(a);
	free(b.p);
}

static void special_chunks_without_size_fail_and_stored_ones_do_not(
	void **state)
{
	struct build b = make_frame();
	struct bfs_array *a;

	(void)state;
	patch_be(&b, 0x3a, 0, 4);
	patch_le(&b, entry_at(&b, 1), UINT64_C(0x81) << 56, 8);
	patch_le(&b, entry_at(&b, 2), UINT64_C(0x84) << 56, 8);
	a = hostile_open(&b, NAME);
	expect_chunk(a, 0);
	expect_failure(a, BFS_STREAM_CHUNK, 1, BFS_ERR_CORRUPT,
		       "special chunk without size");
	expect_failure(a, BFS_STREAM_DATA, 0, BFS_ERR_CORRUPT,
		       "special chunk without size");
	bfs_array_close(a);
	free(b.p);
}

static void varying_chunks_must_add_up_to_nbytes(void **state)
{
	static const uint64_t sums[] = { 1, sizeof(data) - 1,
					 sizeof(data) + 1, INT64_MAX };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct build b = make_frame();
		struct bfs_array *a;

		patch_be(&b, 0x3a, 0, 4);
		patch_be(&b, 0x1e, sums[i], 8);
		a = hostile_open(&b, NAME);
		expect_failure(a, BFS_STREAM_DATA, 0, BFS_ERR_CORRUPT,
			       "the frame says");
		expect_chunk(a, 1);
		bfs_array_close(a);
		free(b.p);
	}
}

static void one_special_chunk_cannot_be_longer_than_a_chunk(void **state)
{
	struct build b = make_frame();
	struct bfs_array *a;

	(void)state;
	patch_be(&b, 0x3a, 0, 4);
	patch_be(&b, 0x1e, UINT64_C(1) << 40, 8);
	patch_le(&b, entry_at(&b, 2), UINT64_C(0x81) << 56, 8);
	a = hostile_open(&b, NAME);
	expect_failure(a, BFS_STREAM_CHUNK, 2, BFS_ERR_CORRUPT,
		       "a special chunk would have");
	expect_chunk(a, 0);
	read_all_streams(a, 4096);
	bfs_array_close(a);
	free(b.p);
}

static void millions_of_varying_chunks_in_one_place_are_over_a_limit(
	void **state)
{
	uint32_t n = 1 << 22;
	struct build b = make_frame();
	struct bfs_array *a;
	uint8_t chunk[40];

	(void)state;
	make_repeated(chunk, n, 0);
	put_index(&b, chunk, 40, n * (uint64_t)CHUNK, 0);
	a = hostile_open(&b, NAME);
	expect_failure(a, BFS_STREAM_DATA, 0, BFS_ERR_LIMIT, "chunks");
	expect_stream(a, BFS_STREAM_CHUNK, n - 1, data, CHUNK);
	bfs_array_close(a);
	free(b.p);
}

/* ---- chunks ---------------------------------------------------------- */

/* Patches chunk 1, which alone must fail. */
static void expect_chunk_one_fails(size_t at, uint64_t v, unsigned n,
				   enum bfs_err err, const char *word)
{
	struct build b = make_frame();
	struct bfs_array *a;

	patch_le(&b, header_len(&b) + STORED + at, v, n);
	a = hostile_open(&b, NAME);
	expect_chunk(a, 0);
	expect_failure(a, BFS_STREAM_CHUNK, 1, err, word);
	expect_chunk(a, 2);
	read_all_streams(a, 4096);
	bfs_array_close(a);
	free(b.p);
}

static void chunk_of_another_size_than_the_frames_fails_alone(void **state)
{
	(void)state;
	expect_chunk_one_fails(4, CHUNK - 4, 4, BFS_ERR_CORRUPT, "memcpyed");
	/* Zeros, whose header may claim any size. */
	{
		struct build b = make_frame();
		size_t at = header_len(&b) + STORED;
		struct bfs_array *a;

		patch_le(&b, at + 2, 5, 1);
		patch_le(&b, at + 4, 2000000000, 4);
		patch_le(&b, at + 12, 32, 4);
		patch_le(&b, at + 31, 0x10, 1);
		a = hostile_open(&b, NAME);
		expect_failure(a, BFS_STREAM_CHUNK, 1, BFS_ERR_CORRUPT,
			       "where 400 belong");
		expect_chunk(a, 2);
		bfs_array_close(a);
		free(b.p);
	}
}

static void chunk_of_another_typesize_is_legal(void **state)
{
	struct build b = make_frame();
	struct bfs_array *a;

	(void)state;
	patch_le(&b, header_len(&b) + STORED + 3, 8, 1);
	a = hostile_open(&b, NAME);
	expect_good(a);
	expect_chunk(a, 1);
	bfs_array_close(a);
	free(b.p);
}

static void repeated_value_that_does_not_fill_its_chunk_fails(void **state)
{
	/* Widths of 3, which does not divide 400, and 0. */
	static const unsigned cbytes[] = { 35, 32 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct build b = make_frame();
		size_t at = header_len(&b) + STORED;
		struct bfs_array *a;

		patch_le(&b, at + 2, 0x0105, 2);
		patch_le(&b, at + 12, cbytes[i], 4);
		patch_le(&b, at + 31, 0x30, 1);
		a = hostile_open(&b, NAME);
		expect_failure(a, BFS_STREAM_CHUNK, 1, BFS_ERR_CORRUPT,
			       "repeated value");
		expect_chunk(a, 2);
		bfs_array_close(a);
		free(b.p);
	}
}

static void nan_chunk_of_a_width_without_nan_fails(void **state)
{
	struct build b = make_frame();
	struct bfs_array *a;

	(void)state;
	patch_be(&b, 0x30, 2, 4);
	patch_le(&b, entry_at(&b, 1), UINT64_C(0x82) << 56, 8);
	a = hostile_open(&b, NAME);
	expect_failure(a, BFS_STREAM_CHUNK, 1, BFS_ERR_CORRUPT, "NaN");
	expect_chunk(a, 2);
	bfs_array_close(a);
	free(b.p);
}

static void frame_cannot_mix_kinds_of_blocks(void **state)
{
	struct build b = make_frame();
	struct bfs_array *a;

	(void)state;
	/* Says variable-length blocks, has none. */
	patch_be(&b, 0x19, 0x93, 1);
	a = hostile_open(&b, NAME);
	expect_failure(a, BFS_STREAM_CHUNK, 0, BFS_ERR_CORRUPT,
		       "variable-length blocks");
	bfs_array_close(a);
	free(b.p);
	/* Has some, does not say so. */
	b = build_sample("good-frame-vlblocks.b2frame");
	patch_be(&b, 0x19, b.p[0x19] & 0x7f, 1);
	a = hostile_open(&b, NAME);
	expect_failure(a, BFS_STREAM_CHUNK, 0, BFS_ERR_CORRUPT,
		       "variable-length blocks");
	bfs_array_close(a);
	free(b.p);
}

static void unknown_codec_or_filter_is_unsupported_in_its_chunk(void **state)
{
	struct build b = build_sample("unsupported-frame-codec250.b2frame");
	struct bfs_array *a = hostile_open(&b, NAME);
	unsigned n_bad = 0, n_good = 0;
	uint8_t buf[2000];

	(void)state;
	for (uint64_t n = 0; n < a->container->n_chunks; n++) {
		struct bfs_stream s = { BFS_STREAM_CHUNK, n };
		struct bfs_diag diag = { 0 };
		enum bfs_err err = bfs_array_read(a, &s, 0, buf, 2000,
						  &diag);

		n_good += err == BFS_OK;
		n_bad += err == BFS_ERR_UNSUPPORTED && diag.text[0];
	}
	assert_true(n_bad > 0);
	assert_true(n_good > 0);
	assert_int_equal(n_bad + n_good, a->container->n_chunks);
	bfs_array_close(a);
	free(b.p);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(chunk_outside_the_data_fails_alone),
		T(chunk_that_runs_into_the_index_fails_alone),
		T(entry_with_junk_in_its_upper_bits_fails_alone),
		T(entries_may_share_a_chunk_and_be_special),
		T(index_that_is_no_chunk_is_refused),
		T(exbibyte_of_zeros_costs_no_memory),
		T(a_step_through_the_index_ends_with_its_block),
		T(index_of_a_few_hundred_million_entries_costs_nothing),
		T(index_of_one_giant_block_is_refused_without_memory),
		T(empty_index_of_a_frame_with_data_is_refused),
		T(frame_without_data_needs_no_index),
		T(frame_of_no_bytes_beside_an_index_is_damage),
		T(entry_that_names_anothers_chunk_is_damage),
		T(chunks_that_are_named_twice_are_fine_if_none_is_left),
		T(index_of_other_than_entries_is_refused),
		T(an_index_of_one_value_is_as_if_it_were_written_out),
		T(special_chunk_gets_what_the_others_leave),
		T(special_chunks_without_size_fail_and_stored_ones_do_not),
		T(varying_chunks_must_add_up_to_nbytes),
		T(one_special_chunk_cannot_be_longer_than_a_chunk),
		T(millions_of_varying_chunks_in_one_place_are_over_a_limit),
		T(chunk_of_another_size_than_the_frames_fails_alone),
		T(chunk_of_another_typesize_is_legal),
		T(repeated_value_that_does_not_fill_its_chunk_fails),
		T(nan_chunk_of_a_width_without_nan_fails),
		T(frame_cannot_mix_kinds_of_blocks),
		T(unknown_codec_or_filter_is_unsupported_in_its_chunk),
	};

	return cmocka_run_group_tests_name("container_index", tests, setup,
					   hostile_teardown);
}
