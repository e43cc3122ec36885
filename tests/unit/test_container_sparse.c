/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_container_sparse.c - the frame that is a directory: an index file as
 * it was written, chunk files, and everything that can stand in their place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/corpus.h"

#include "array/priv.h"
#include "base/bytes.h"
#include "base/digest.h"
#include "base/mem.h"
#include "support/build2.h"
#include "support/folders.h"
#include "support/sample_rows.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK ((size_t)400)
#define NBYTES ((size_t)1720)
#define INDEX "chunks.b2frame"
#define INDEX_LEN 256
#define AT_ENTRIES 0x81

/* The index of a frame that C-Blosc2 wrote: data, zeros, data, 3.5 repeated,
 * 120 bytes of data; one variable-length metalayer. */
static const uint8_t index_file[257] =
	"\x9e\xa8" "b2frame\0\xd2\0\0\0\x61\xcf\0\0\0\0\0\0\1\0\xa4\x12\1\x51"
	"\3\xd3\0\0\0\0\0\0\6\xb8\xd3\0\0\0\0\0\0\2\x7a\xd2\0\0\0\4\xd2\0\0\0"
	"\0\xd2\0\0\1\x90\xd1\0\1\xd1\0\1\xc3\xd8\6\0\0\0\0\0\1\1\0\0\0\0\0\0"
	"\0\0\0\x93\xcd\0\7\xde\0\0\xdc\0\0"
	"\5\1\x17\x8\x28\0\0\0\x28\0\0\0\x48\0\0\0"
	"\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0"
	"\0\0\0\0\0\0\0\0" "\0\0\0\0\0\0\0\x81" "\1\0\0\0\0\0\0\0"
	"\2\0\0\0\0\0\0\0" "\3\0\0\0\0\0\0\0"
	"\x94\1\x93\xcd\0\x0f\xde\0\1\xa3vl1\xd2\0\0\0\x15\xdc\0\1\xc6\0\0\0"
	"\x26\5\1\7\x8\6\0\0\0\1\0\0\0\x26\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0"
	"\0\0\xa5hello\xce\0\0\0\x57\xd8\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

static uint8_t data[NBYTES];
static char dir[64];
static int dirfd = -1;

static void put_file(const char *name, const void *p, size_t len)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, len), len);
	close(fd);
}

static const char *chunk_name(unsigned n)
{
	static char name[24];

	snprintf(name, sizeof(name), "%08X.chunk", n);
	return name;
}

/* A chunk of exactly cbytes with room left in it. */
static struct build make_chunk(size_t off, size_t len, size_t cbytes)
{
	struct build_chunk c = { .data = data + off, .len = len,
				 .typesize = 4, .blocksize = (uint32_t)len,
				 .codec = BUILD_ZSTD };
	struct build b = { 0 };

	build_chunk(&b, &c);
	assert_true(b.len <= cbytes);
	while (b.len < cbytes)
		build_byte(&b, 0);
	patch_le(&b, 12, cbytes, 4);
	return b;
}

static const uint8_t *make_chunk_bytes(size_t off, size_t len, size_t cbytes)
{
	static uint8_t bytes[1000];
	struct build b = make_chunk(off, len, cbytes);

	memcpy(bytes, b.p, b.len);
	free(b.p);
	return bytes;
}

static void put_chunk(unsigned file, size_t off, size_t len, size_t cbytes)
{
	struct build b = make_chunk(off, len, cbytes);

	put_file(chunk_name(file), b.p, b.len);
	free(b.p);
}

static void clear_dir(void)
{
	static const char *const extra[] = { INDEX, ".b2lock", "notes.txt",
					     "other", "0000000a.chunk" };

	for (unsigned i = 0; i < 16; i++) {
		unlinkat(dirfd, chunk_name(i), 0);
		unlinkat(dirfd, chunk_name(i), AT_REMOVEDIR);
	}
	for (size_t i = 0; i < sizeof(extra) / sizeof(*extra); i++)
		unlinkat(dirfd, extra[i], 0);
}

/* The whole frame. */
static int fill_dir(void **state)
{
	static const uint8_t value[36] = {
		5, 1, 5, 4, 0x90, 1, 0, 0, 0x90, 1, 0, 0, 36, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x30,
		0, 0, 0x60, 0x40,
	};

	(void)state;
	clear_dir();
	put_file(INDEX, index_file, INDEX_LEN);
	put_chunk(0, 0, CHUNK, 241);
	put_chunk(1, 2 * CHUNK, CHUNK, 241);
	put_file(chunk_name(2), value, sizeof(value));
	put_chunk(3, 4 * CHUNK, 120, 116);
	return 0;
}

static int setup(void **state)
{
	static const uint8_t value[4] = { 0, 0, 0x60, 0x40 };

	for (size_t i = 0; i < NBYTES; i++)
		data[i] = (uint8_t)(i / 16);
	memset(data + CHUNK, 0, CHUNK);
	for (size_t i = 0; i < CHUNK; i += 4)
		memcpy(data + 3 * CHUNK + i, value, 4);
	strcpy(dir, "/tmp/bloscfs-sparse-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dirfd < 0 ? -1 : hostile_setup(state);
}

static int teardown(void **state)
{
	clear_dir();
	close(dirfd);
	return rmdir(dir) || hostile_teardown(state);
}

static struct bfs_array *open_frame(void)
{
	struct bfs_container *f = NULL;
	struct bfs_array *a = NULL;

	assert_ptr_equal(folder_probe(dirfd),
			 &bfs_container_sparseframe);
	assert_int_equal(folder_open(dirfd, &f), BFS_OK);
	assert_int_equal(bfs_array_open(hostile_engine, f, &a, NULL), BFS_OK);
	return a;
}

static void expect_chunk(struct bfs_array *a, unsigned n)
{
	expect_stream(a, BFS_STREAM_CHUNK, n, data + n * CHUNK,
		      n == 4 ? 120 : CHUNK);
}

/* Chunk 2 (file 1) alone cannot be read. */
static void expect_chunk_two_fails(enum bfs_err err, const char *word)
{
	struct bfs_array *a = open_frame();

	expect_chunk(a, 0);
	expect_chunk(a, 1);
	expect_failure(a, BFS_STREAM_CHUNK, 2, err, word);
	expect_failure(a, BFS_STREAM_RAW_CHUNK, 2, err, word);
	expect_chunk(a, 3);
	expect_chunk(a, 4);
	read_all_streams(a, 2000);
	bfs_array_close(a);
}

/* ---- what is right --------------------------------------------------- */

static void frame_of_a_directory_is_served(void **state)
{
	struct bfs_array *a = open_frame();

	(void)state;
	expect_good(a);
	assert_string_equal(a->container->format_detail, "version 2, sparse");
	for (unsigned n = 0; n < 5; n++)
		expect_chunk(a, n);
	expect_stream(a, BFS_STREAM_DATA, 0, data, NBYTES);
	expect_stream(a, BFS_STREAM_VLMETA, 0, "\xa5hello", 6);
	bfs_array_close(a);
}

static void order_is_that_of_the_index_not_of_the_files(void **state)
{
	uint8_t index[256];
	struct bfs_array *a;

	(void)state;
	memcpy(index, index_file, sizeof(index));
	index[AT_ENTRIES] = 1;
	index[AT_ENTRIES + 16] = 0;
	put_file(INDEX, index, sizeof(index));
	a = open_frame();
	expect_good(a);
	expect_stream(a, BFS_STREAM_CHUNK, 0, data + 2 * CHUNK, CHUNK);
	expect_stream(a, BFS_STREAM_CHUNK, 2, data, CHUNK);
	bfs_array_close(a);
}

static void file_numbers_are_upper_case_hex(void **state)
{
	uint8_t index[256];
	struct bfs_array *a;

	(void)state;
	memcpy(index, index_file, sizeof(index));
	index[AT_ENTRIES] = 10;
	put_file(INDEX, index, sizeof(index));
	put_file("0000000a.chunk", "nothing", 7);
	put_chunk(10, 0, CHUNK, 300);
	a = open_frame();
	expect_good(a);
	expect_chunk(a, 0);
	bfs_array_close(a);
}

static void strays_are_ignored(void **state)
{
	struct bfs_array *a;

	(void)state;
	put_file(".b2lock", "\0\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0", 16);
	put_file("notes.txt", "hello", 5);
	put_file(chunk_name(7), "", 0);
	put_file(chunk_name(8), "no chunk", 8);
	a = open_frame();
	expect_good(a);
	expect_stream(a, BFS_STREAM_DATA, 0, data, NBYTES);
	bfs_array_close(a);
}

static void wrong_sum_of_sizes_does_not_matter(void **state)
{
	uint8_t index[256];
	struct bfs_array *a;

	(void)state;
	memcpy(index, index_file, sizeof(index));
	memset(index + 0x28, 0x11, 7);
	put_file(INDEX, index, sizeof(index));
	a = open_frame();
	expect_stream(a, BFS_STREAM_DATA, 0, data, NBYTES);
	bfs_array_close(a);
}

/* ---- chunk files ----------------------------------------------------- */

static void missing_file_fails_in_its_chunk(void **state)
{
	(void)state;
	unlinkat(dirfd, chunk_name(1), 0);
	expect_chunk_two_fails(BFS_ERR_CORRUPT, "00000001.chunk");
}

static void symlink_in_place_of_a_file_is_not_followed(void **state)
{
	struct build b = make_chunk(2 * CHUNK, CHUNK, 241);

	(void)state;
	put_file("other", b.p, b.len);
	free(b.p);
	unlinkat(dirfd, chunk_name(1), 0);
	assert_int_equal(symlinkat("other", dirfd, chunk_name(1)), 0);
	expect_chunk_two_fails(BFS_ERR_CORRUPT, "00000001.chunk");
	unlinkat(dirfd, chunk_name(1), 0);
	assert_int_equal(symlinkat("/dev/zero", dirfd, chunk_name(1)), 0);
	expect_chunk_two_fails(BFS_ERR_CORRUPT, "00000001.chunk");
}

static void fifo_in_place_of_a_file_does_not_block(void **state)
{
	(void)state;
	unlinkat(dirfd, chunk_name(1), 0);
	assert_int_equal(mkfifoat(dirfd, chunk_name(1), 0600), 0);
	alarm(20);
	expect_chunk_two_fails(BFS_ERR_CORRUPT, "regular file");
	alarm(0);
}

static void directory_in_place_of_a_file_fails_in_its_chunk(void **state)
{
	(void)state;
	unlinkat(dirfd, chunk_name(1), 0);
	assert_int_equal(mkdirat(dirfd, chunk_name(1), 0700), 0);
	expect_chunk_two_fails(BFS_ERR_CORRUPT, "regular file");
}

static void file_shorter_than_its_chunk_fails_alone(void **state)
{
	static const size_t lens[] = { 0, 1, 15, 16, 31, 32, 240 };
	struct build b = make_chunk(2 * CHUNK, CHUNK, 241);

	(void)state;
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		put_file(chunk_name(1), b.p, lens[i]);
		expect_chunk_two_fails(BFS_ERR_TRUNCATED, "");
	}
	free(b.p);
}

static void file_longer_than_its_chunk_is_tolerated(void **state)
{
	struct build b = make_chunk(2 * CHUNK, CHUNK, 241);
	struct bfs_array *a;

	(void)state;
	build_bytes(&b, data, 1000);
	put_file(chunk_name(1), b.p, b.len);
	a = open_frame();
	expect_good(a);
	expect_stream(a, BFS_STREAM_DATA, 0, data, NBYTES);
	bfs_array_close(a);
	free(b.p);
}

static void file_of_another_size_than_the_frames_fails_alone(void **state)
{
	struct bfs_array *a;

	(void)state;
	put_chunk(1, 2 * CHUNK, 396, 241);
	a = open_frame();
	expect_failure(a, BFS_STREAM_CHUNK, 2, BFS_ERR_CORRUPT,
		       "where 400 belong");
	expect_chunk(a, 3);
	bfs_array_close(a);
}

static void file_of_no_chunk_fails_alone(void **state)
{
	struct bfs_array *a;

	(void)state;
	put_file(chunk_name(1), data, 500);
	a = open_frame();
	expect_failure(a, BFS_STREAM_CHUNK, 2, BFS_ERR_CORRUPT, "");
	expect_chunk(a, 3);
	bfs_array_close(a);
}

static void file_that_is_replaced_meanwhile_is_reported(void **state)
{
	struct bfs_array *a = open_frame();

	(void)state;
	expect_chunk(a, 0);
	/* In place, after it was opened and before its blocks are needed. */
	expect_stream(a, BFS_STREAM_RAW_CHUNK, 2,
		      make_chunk_bytes(2 * CHUNK, CHUNK, 241), 241);
	put_chunk(1, 0, CHUNK, 240);
	expect_failure(a, BFS_STREAM_CHUNK, 2, BFS_ERR_CHANGED, "");
	expect_failure(a, BFS_STREAM_RAW_CHUNK, 2, BFS_ERR_CHANGED, "");
	expect_chunk(a, 3);
	bfs_array_close(a);
}

/* Plans are forgotten sooner than blocks. */
static void blocks_of_a_replaced_file_are_not_found_again(void **state)
{
	struct bfs_array *a = open_frame();
	struct bfs_plan first, other, again;

	(void)state;
	assert_int_equal(bfs_array_find_plan(a, 2, &first, NULL), BFS_OK);
	other = again = first;
	other.file_id.mtime_ns++;
	bfs_kin_place(a, 2, &other, NULL);
	assert_true(other.gen != first.gen);
	bfs_kin_place(a, 2, &again, NULL);
	assert_true(again.gen == first.gen);
	bfs_chunk_unref(first.chunk);
	bfs_array_close(a);
}

/* ---- the index ------------------------------------------------------- */

static void expect_entry_fails(uint64_t entry, enum bfs_err err,
			       const char *word)
{
	uint8_t index[256];
	struct bfs_array *a;

	memcpy(index, index_file, sizeof(index));
	for (unsigned i = 0; i < 8; i++)
		index[AT_ENTRIES + i] = (uint8_t)(entry >> 8 * i);
	put_file(INDEX, index, sizeof(index));
	a = open_frame();
	expect_failure(a, BFS_STREAM_CHUNK, 0, err, word);
	expect_chunk(a, 2);
	bfs_array_close(a);
}

static void number_beyond_32_bits_is_refused(void **state)
{
	(void)state;
	expect_entry_fails(UINT64_C(1) << 32, BFS_ERR_CORRUPT, "would be");
	expect_entry_fails(INT64_MAX, BFS_ERR_CORRUPT, "would be");
	expect_entry_fails(UINT64_MAX, BFS_ERR_CORRUPT, "index entry");
	expect_entry_fails(UINT32_MAX, BFS_ERR_CORRUPT, "FFFFFFFF.chunk");
}

static void expect_blamed_index(const void *p, size_t len,
				enum bfs_status status, const char *word)
{
	struct bfs_array *a;

	put_file(INDEX, p, len);
	a = open_frame();
	expect_blamed(a, status, word);
	assert_int_equal(a->container->n_chunks, 0);
	read_all_streams(a, 2000);
	bfs_array_close(a);
}

static void index_cut_anywhere_opens_and_says_so(void **state)
{
	(void)state;
	for (size_t len = 0; len < INDEX_LEN; len++) {
		struct bfs_array *a;

		put_file(INDEX, index_file, len);
		a = open_frame();
		expect_blamed(a, BFS_DAMAGED, "");
		read_all_streams(a, 2000);
		bfs_array_close(a);
	}
}

static void contiguous_frame_as_index_is_refused(void **state)
{
	uint8_t index[256];

	(void)state;
	memcpy(index, index_file, sizeof(index));
	index[0x1a] = 0;
	expect_blamed_index(index, sizeof(index), BFS_DAMAGED,
			    "contiguous frame as the index");
	index[0x1a] = 2;
	expect_blamed_index(index, sizeof(index), BFS_UNSUPPORTED,
			    "frame type 2");
}

static void index_opened_as_a_file_says_what_it_is(void **state)
{
	struct build b = { 0 };

	(void)state;
	build_bytes(&b, index_file, INDEX_LEN);
	expect_useless(&b, INDEX, BFS_DAMAGED, "without its directory");
	free(b.p);
}

static void index_that_runs_into_the_trailer_is_refused(void **state)
{
	uint8_t index[256];

	(void)state;
	memcpy(index, index_file, sizeof(index));
	index[0x61 + 4] = 0x30;
	index[0x61 + 12] = 0x50;
	index[0x24] = 8;	/* six chunks */
	expect_blamed_index(index, sizeof(index), BFS_DAMAGED, "cbytes");
}

static void index_that_is_no_regular_file_is_no_frame(void **state)
{
	(void)state;
	unlinkat(dirfd, INDEX, 0);
	assert_null(folder_probe(dirfd));
	assert_int_equal(symlinkat(chunk_name(0), dirfd, INDEX), 0);
	assert_null(folder_probe(dirfd));
	unlinkat(dirfd, INDEX, 0);
	assert_int_equal(mkfifoat(dirfd, INDEX, 0600), 0);
	alarm(20);
	assert_null(folder_probe(dirfd));
	alarm(0);
	unlinkat(dirfd, INDEX, 0);
	assert_int_equal(mkdirat(dirfd, INDEX, 0700), 0);
	assert_null(folder_probe(dirfd));
	assert_int_equal(unlinkat(dirfd, INDEX, AT_REMOVEDIR), 0);
	put_file(INDEX, "a text about chunks", 19);
	assert_null(folder_probe(dirfd));
}

static void directory_that_is_gone_is_still_the_one_opened(void **state)
{
	char moved[80];
	struct bfs_array *a = open_frame();

	(void)state;
	snprintf(moved, sizeof(moved), "%s-moved", dir);
	assert_int_equal(rename(dir, moved), 0);
	assert_int_equal(mkdir(dir, 0700), 0);
	expect_stream(a, BFS_STREAM_DATA, 0, data, NBYTES);
	bfs_array_close(a);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(rename(moved, dir), 0);
}

static void hundreds_of_millions_of_chunks_cost_nothing(void **state)
{
	uint64_t n = 2147483615 / 8, before = bfs_mem_used();
	struct build b = { 0 };
	struct bfs_array *a;

	(void)state;
	build_bytes(&b, index_file, 0x61);
	build_bytes(&b, "\5\1\5\x8", 4);
	build_le32(&b, (uint32_t)(8 * n));
	build_le32(&b, (uint32_t)(8 * n));
	build_le32(&b, 40);
	build_bytes(&b, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x30", 16);
	build_le64(&b, 1);
	build_bytes(&b, index_file + 0xa9, 256 - 0xa9);
	patch_be(&b, 0x10, b.len, 8);
	patch_be(&b, 0x1e, n * CHUNK, 8);
	put_file(INDEX, b.p, b.len);
	a = open_frame();
	expect_good(a);
	assert_int_equal(a->container->n_chunks, n);
	expect_stream(a, BFS_STREAM_CHUNK, n - 1, data + 2 * CHUNK, CHUNK);
	assert_true(bfs_mem_used() - before < 2 << 20);
	bfs_array_close(a);
	/* Of unknown sizes, they would have to be looked at one by one. */
	patch_be(&b, 0x3a, 0, 4);
	put_file(INDEX, b.p, b.len);
	a = open_frame();
	expect_failure(a, BFS_STREAM_DATA, 0, BFS_ERR_LIMIT, "unknown size");
	expect_stream(a, BFS_STREAM_CHUNK, n - 1, data + 2 * CHUNK, CHUNK);
	bfs_array_close(a);
	free(b.p);
}

/* ---- frames that others wrote ---------------------------------------- */

/* Hashes a stream; false where it cannot be read. */
static bool hash_stream(struct bfs_array *a, const struct bfs_stream *s,
			uint64_t *ret_len, char hex[65])
{
	static uint8_t buf[65536];
	uint8_t sum[BFS_DIGEST_MAX];
	struct bfs_digest d;
	uint64_t at = 0, len;
	enum bfs_err err = bfs_array_len(a, s, &len, NULL);

	assert_int_equal(bfs_digest_init(&d, BFS_DIGEST_SHA256), BFS_OK);
	for (size_t n; err == BFS_OK && at < len; at += n) {
		n = (size_t)bfs_min(sizeof(buf), len - at);
		err = bfs_array_read(a, s, at, buf, n, NULL);
		bfs_digest_add(&d, buf, n);
	}
	assert_int_equal(bfs_digest_finish(&d, sum), BFS_OK);
	for (int i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", sum[i]);
	*ret_len = at;
	return err == BFS_OK;
}

static bool stream_of(const char *what, struct bfs_stream *ret_stream)
{
	ret_stream->index = 0;
	ret_stream->kind = BFS_STREAM_JOINED;
	if (!strcmp(what, "npy"))
		ret_stream->kind = BFS_STREAM_DATA;
	else if (!strncmp(what, "chunk:", 6))
		*ret_stream = (struct bfs_stream){
			BFS_STREAM_CHUNK, strtoull(what + 6, NULL, 10) };
	else if (strcmp(what, "data"))
		return false;
	return true;
}

/* Not opened, blamed, or a chunk that fails. */
static bool is_damaged(struct bfs_array *a)
{
	struct bfs_stream s = { BFS_STREAM_CHUNK, 0 };
	uint64_t len;
	char hex[65];

	if (!a || a->container->status != BFS_GOOD)
		return true;
	for (; s.index < a->container->n_chunks; s.index++)
		if (!hash_stream(a, &s, &len, hex))
			return true;
	return false;
}

static bool row_holds(const struct sample_row *row, struct bfs_array *a)
{
	struct bfs_stream s;
	char hex[65];
	uint64_t len;

	if (!strcmp(row->what, "corrupt"))
		return !strstr(row->notes, "expect=error") || is_damaged(a);
	if (!stream_of(row->what, &s))
		return true;
	/* What needs a codec that is missing is not this test's. */
	if (a && a->container->status == BFS_UNSUPPORTED)
		return true;
	return a && hash_stream(a, &s, &len, hex) &&
	       len == strtoull(row->length, NULL, 10) &&
	       (!strcmp(row->sha, "-") || !strcmp(row->sha, hex));
}

static struct bfs_array *open_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct bfs_container *f = NULL;
	struct bfs_array *a = NULL;

	if (fd >= 0 && folder_open(fd, &f) == BFS_OK)
		assert_int_equal(bfs_array_open(hostile_engine, f, &a, NULL),
				 BFS_OK);
	if (fd >= 0)
		close(fd);
	return a;
}

/* BLOSCFS_CORPUS: a directory with a MANIFEST.tsv (see tests/data). */
static void frames_of_the_corpus_hold(void **state)
{
	const char *corpus = getenv("BLOSCFS_CORPUS");
	unsigned n_checked = 0, n_bad = 0;
	struct sample_rows m;
	char path[4096];

	(void)state;
	snprintf(path, sizeof(path), "%s/MANIFEST.tsv", corpus);
	sample_rows_load(path, &m);
	for (size_t i = 0; i < m.n; i++) {
		const struct sample_row *row = &m.rows[i];
		struct bfs_array *a;

		if (strcmp(row->kind, "sframe") &&
		    strcmp(row->kind, "b2nd-sframe"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", corpus, row->path);
		a = open_path(path);
		n_checked++;
		if (!row_holds(row, a)) {
			n_bad++;
			print_message("# %s %s\n", row->path, row->what);
		}
		bfs_array_close(a);
	}
	sample_rows_free(&m);
	assert_true(n_checked > 0);
	assert_int_equal(n_bad, 0);
}

#define T(name) cmocka_unit_test_setup(name, fill_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(frame_of_a_directory_is_served),
		T(order_is_that_of_the_index_not_of_the_files),
		T(file_numbers_are_upper_case_hex),
		T(strays_are_ignored),
		T(wrong_sum_of_sizes_does_not_matter),
		T(missing_file_fails_in_its_chunk),
		T(symlink_in_place_of_a_file_is_not_followed),
		T(fifo_in_place_of_a_file_does_not_block),
		T(directory_in_place_of_a_file_fails_in_its_chunk),
		T(file_shorter_than_its_chunk_fails_alone),
		T(file_longer_than_its_chunk_is_tolerated),
		T(file_of_another_size_than_the_frames_fails_alone),
		T(file_of_no_chunk_fails_alone),
		T(file_that_is_replaced_meanwhile_is_reported),
		T(blocks_of_a_replaced_file_are_not_found_again),
		T(number_beyond_32_bits_is_refused),
		T(index_cut_anywhere_opens_and_says_so),
		T(contiguous_frame_as_index_is_refused),
		T(index_opened_as_a_file_says_what_it_is),
		T(index_that_runs_into_the_trailer_is_refused),
		T(index_that_is_no_regular_file_is_no_frame),
		T(directory_that_is_gone_is_still_the_one_opened),
		T(hundreds_of_millions_of_chunks_cost_nothing),
		/* The last: only where there is a corpus. */
		T(frames_of_the_corpus_hold),
	};

	return corpus_run_group("container_sparse", tests,
				sizeof(tests) / sizeof(tests[0]), setup,
				teardown);
}
