/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_digest.c - the nine checksums against published values, fed at once
 * and in pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/digest.h"

#include <stdio.h>
#include <string.h>

/* Of "abc" and of nothing, as stored: the two sums in little-endian order. */
static const struct row {
	enum bfs_digest_kind kind;
	const char *name;
	size_t len;
	const char *abc, *nothing;
} rows[] = {
	{ BFS_DIGEST_NONE, "none", 0, "", "" },
	{ BFS_DIGEST_ADLER32, "adler32", 4, "27014d02", "01000000" },
	{ BFS_DIGEST_CRC32, "crc32", 4, "c2412435", "00000000" },
	{ BFS_DIGEST_MD5, "md5", 16, "900150983cd24fb0d6963f7d28e17f72",
	  "d41d8cd98f00b204e9800998ecf8427e" },
	{ BFS_DIGEST_SHA1, "sha1", 20,
	  "a9993e364706816aba3e25717850c26c9cd0d89d",
	  "da39a3ee5e6b4b0d3255bfef95601890afd80709" },
	{ BFS_DIGEST_SHA224, "sha224", 28,
	  "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7",
	  "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f" },
	{ BFS_DIGEST_SHA256, "sha256", 32,
	  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ BFS_DIGEST_SHA384, "sha384", 48,
	  "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
	  "8086072ba1e7cc2358baeca134c825a7",
	  "38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da"
	  "274edebfe76f65fbd51ad2f14898b95b" },
	{ BFS_DIGEST_SHA512, "sha512", 64,
	  "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
	  "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
	  "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
	  "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e" },
};

#define N_ROWS (sizeof(rows) / sizeof(*rows))

static void expect_digest(const struct row *row, const void *p, size_t len,
			  size_t piece, const char *want)
{
	uint8_t bytes[BFS_DIGEST_MAX + 1];
	char hex[2 * BFS_DIGEST_MAX + 1] = "";
	struct bfs_digest d;

	memset(bytes, 0xa5, sizeof(bytes));
	assert_int_equal(bfs_digest_init(&d, row->kind), BFS_OK);
	for (size_t at = 0; at < len; at += piece)
		bfs_digest_add(&d, (const char *)p + at,
			       len - at < piece ? len - at : piece);
	assert_int_equal(bfs_digest_finish(&d, bytes), BFS_OK);
	for (size_t i = 0; i < row->len; i++)
		sprintf(hex + 2 * i, "%02x", bytes[i]);
	assert_string_equal(hex, want);
	assert_int_equal(bytes[row->len], 0xa5);
}

static void names_and_lengths_are_those_of_the_format(void **state)
{
	(void)state;
	assert_int_equal(N_ROWS, BFS_N_DIGESTS);
	for (size_t i = 0; i < N_ROWS; i++) {
		assert_int_equal(rows[i].kind, i);
		assert_string_equal(bfs_digest_name(rows[i].kind),
				    rows[i].name);
		assert_int_equal(bfs_digest_len(rows[i].kind), rows[i].len);
		assert_true(rows[i].len <= BFS_DIGEST_MAX);
	}
}

static void digests_are_the_published_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS; i++) {
		expect_digest(&rows[i], "abc", 3, 3, rows[i].abc);
		expect_digest(&rows[i], "", 0, 1, rows[i].nothing);
	}
}

static void pieces_give_the_digest_of_the_whole(void **state)
{
	uint8_t data[5000];
	char want[2 * BFS_DIGEST_MAX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 31 ^ i >> 7);
	for (size_t i = 0; i < N_ROWS; i++) {
		uint8_t bytes[BFS_DIGEST_MAX];
		struct bfs_digest d;

		assert_int_equal(bfs_digest_init(&d, rows[i].kind), BFS_OK);
		bfs_digest_add(&d, data, sizeof(data));
		assert_int_equal(bfs_digest_finish(&d, bytes), BFS_OK);
		want[0] = '\0';
		for (size_t k = 0; k < rows[i].len; k++)
			sprintf(want + 2 * k, "%02x", bytes[k]);
		expect_digest(&rows[i], data, sizeof(data), 1, want);
		expect_digest(&rows[i], data, sizeof(data), 63, want);
		expect_digest(&rows[i], data, sizeof(data), 4096, want);
	}
}

static void digest_left_unfinished_is_released(void **state)
{
	struct bfs_digest d;

	(void)state;
	for (size_t i = 0; i < N_ROWS; i++) {
		assert_int_equal(bfs_digest_init(&d, rows[i].kind), BFS_OK);
		bfs_digest_add(&d, "abc", 3);
		bfs_digest_release(&d);
		assert_null(d.ctx);
		bfs_digest_release(&d);
	}
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(names_and_lengths_are_those_of_the_format),
		T(digests_are_the_published_ones),
		T(pieces_give_the_digest_of_the_whole),
		T(digest_left_unfinished_is_released),
	};

	return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
