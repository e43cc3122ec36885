/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_codec_blosclz.c - the BloscLZ decoder against streams made here, token
 * by token, next to what they mean.
 */
#include "codec_try.h"

static struct {
	uint8_t src[ARENA_LEN];
	size_t src_len;
	uint8_t want[ARENA_LEN];
	size_t want_len;
} lz;

static void begin(void)
{
	lz.src_len = lz.want_len = 0;
}

static void emit(unsigned byte)
{
	lz.src[lz.src_len++] = (uint8_t)byte;
}

/* n random literals, in runs of at most 32. */
static void emit_literals(size_t n)
{
	while (n > 0) {
		size_t run = n < 32 ? n : 32;

		emit((unsigned)(run - 1) | (lz.src_len ? 0 : 0x20));
		for (size_t i = 0; i < run; i++) {
			lz.want[lz.want_len] = (uint8_t)draw(256);
			emit(lz.want[lz.want_len++]);
		}
		n -= run;
	}
}

/* The tokens alone, for those that cannot be right. */
static void emit_match_bytes(size_t dist, size_t len)
{
	unsigned top = len < 9 ? (unsigned)(len - 2) << 5 : 7u << 5;
	size_t far = dist - 8192, near = dist - 1;

	emit(top | (dist >= 8192 ? 31 : (unsigned)(near >> 8)));
	if (len >= 9) {
		for (len -= 9; len >= 255; len -= 255)
			emit(255);
		emit((unsigned)len);
	}
	emit(dist >= 8192 ? 255 : (unsigned)(near & 255));
	if (dist >= 8192) {
		emit((unsigned)(far >> 8));
		emit((unsigned)(far & 255));
	}
}

static void emit_match(size_t dist, size_t len)
{
	assert_true(dist <= lz.want_len);
	emit_match_bytes(dist, len);
	for (; len > 0; len--, lz.want_len++)
		lz.want[lz.want_len] = lz.want[lz.want_len - dist];
}

static void expect_round_trip(void)
{
	expect_bytes(&bfs_codec_blosclz, lz.src, lz.src_len, lz.want,
		     lz.want_len);
}

static void expect_refused(void)
{
	expect_corrupt(&bfs_codec_blosclz, lz.src, lz.src_len, lz.want_len);
}

static void blosclz_decodes_the_near_example(void **unused)
{
	static const uint8_t src[] = {
		0x37, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'A', 'B', 'C',
		'D', 'E', 'F', 'G', 'H', '0', '1', '2', '3', '4', '5', '6',
		'7', 0xe0, 0x1e, 0x17, 0x03, 'H', 'x', 'y', 'z', 0xe0, 0x28,
		0x00, 0x0a, 'z', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', '!',
		'?',
	};
	static const char want[] =
		"abcdefghABCDEFGH01234567abcdefghABCDEFGH01234567"
		"abcdefghABCDEFGHxyzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"
		"zzzzzzzzzzzzzzzzzzzabcdefgh!?";

	(void)unused;
	assert_int_equal(sizeof(src), 48);
	assert_int_equal(sizeof(want) - 1, 127);
	expect_bytes(&bfs_codec_blosclz, src, sizeof(src), want, 127);
}

/* 40 bytes without a pattern, 9000 zeros, the 40 bytes again, 20 sevens. */
static void blosclz_decodes_the_far_example(void **unused)
{
	static const uint8_t tail[] = {
		0x40, 0x00,			/* end of 8998 at distance 1 */
		0x00, 0x00,
		0xff, 0x1e, 0xff, 0x03, 0x50,	/* 39 at distance 9040 */
		0x01, 0xb6, 0x07,
		0xe0, 0x07, 0x00, 0x02, 0x07, 0x07, 0x07,
	};
	uint8_t src[98], want[9100] = { 0 };

	(void)unused;
	for (size_t i = 0; i < 40; i++)
		want[i] = want[9040 + i] = (uint8_t)((73 * i + 11) ^ (4 * i));
	memset(want + 9080, 7, 20);
	src[0] = 0x3f;
	memcpy(src + 1, want, 32);
	src[33] = 0x08;
	memcpy(src + 34, want + 32, 9);
	src[43] = 0xe0;
	memset(src + 44, 0xff, 35);
	assert_int_equal(44 + 35 + sizeof(tail), sizeof(src));
	memcpy(src + 79, tail, sizeof(tail));
	expect_bytes(&bfs_codec_blosclz, src, sizeof(src), want, sizeof(want));
}

/* The bytes that the format's page gives for single tokens. */
static void blosclz_reads_every_form_of_match(void **unused)
{
	static const struct {
		uint8_t bytes[5];
		uint8_t n;
		uint16_t len, dist;
	} forms[] = {
		{ { 0x2b, 0x10 }, 2, 3, 2833 },
		{ { 0xe0, 0x1e, 0x17 }, 3, 39, 24 },
		{ { 0xe0, 0x28, 0x00 }, 3, 49, 1 },
		{ { 0xe0, 0xff, 0x00, 0x00 }, 4, 264, 1 },
		{ { 0xe0, 0x00, 0x07 }, 3, 9, 8 },
		{ { 0xff, 0x1e, 0xff, 0x03, 0x50 }, 5, 39, 9040 },
		{ { 0x3f, 0xff, 0x00, 0x00 }, 4, 3, 8192 },
		{ { 0x3f, 0xfe }, 2, 3, 8191 },
		{ { 0xdf, 0xff, 0x00, 0x01 }, 4, 8, 8193 },
	};

	(void)unused;
	for (size_t i = 0; i < BFS_ARRAY_LEN(forms); i++) {
		size_t at;

		begin();
		emit_literals(9100);
		at = lz.src_len;
		emit_match(forms[i].dist, forms[i].len);
		assert_int_equal(lz.src_len - at, forms[i].n);
		assert_memory_equal(lz.src + at, forms[i].bytes, forms[i].n);
		expect_round_trip();
	}
}

static void blosclz_ignores_the_mark_of_the_first_byte(void **unused)
{
	(void)unused;
	for (unsigned mark = 0; mark < 256; mark += 32) {
		begin();
		emit_literals(5);
		lz.src[0] = (uint8_t)(mark | 4);
		emit_match(2, 40);
		expect_round_trip();
	}
}

/* All the lengths of a distance in one stream, far from the ends. */
static void emit_all_lengths(size_t dist)
{
	begin();
	emit_literals(dist + draw(3));
	for (size_t len = 3; len <= 300; len++) {
		emit_match(dist, len);
		emit_literals(draw(5));
	}
	emit_match(dist, 518 + draw(5));
	emit_match(dist, 9000);
	emit_literals(draw(80));
}

static void blosclz_copies_every_length_at_every_distance(void **unused)
{
	static const size_t far[] = {
		127, 128, 129, 255, 256, 257, 4095, 8190, 8191, 8192, 8193,
		65535, 65536, 73724, 73727,
	};

	(void)unused;
	for (size_t dist = 1; dist <= 70; dist++) {
		emit_all_lengths(dist);
		expect_round_trip();
	}
	for (size_t i = 0; i < BFS_ARRAY_LEN(far); i++) {
		emit_all_lengths(far[i]);
		expect_round_trip();
	}
}

/* Near the end of the output no copy may be wide; tail 0 ends the stream
 * with a match, as no writer does. */
static void blosclz_copies_exactly_near_the_end(void **unused)
{
	(void)unused;
	for (size_t dist = 1; dist <= 36; dist++) {
		for (size_t len = 3; len <= 75; len++) {
			for (size_t tail = 0; tail <= 40; tail++) {
				begin();
				emit_literals(dist);
				emit_match(dist, len);
				emit_literals(tail);
				expect_round_trip();
			}
		}
	}
}

static void blosclz_copies_every_literal_run(void **unused)
{
	(void)unused;
	for (size_t n = 1; n <= 140; n++) {
		begin();
		emit_literals(n);
		expect_round_trip();
		for (size_t run = 1; run <= 34; run++) {
			begin();
			emit_literals(run);
			emit_match(1 + draw((uint32_t)run), 3 + draw(20));
			emit_literals(n % 32 + 1);
			emit_literals(run);
			expect_round_trip();
		}
	}
}

/* A stream of random tokens; small distances are as likely as big ones. */
static void emit_random(size_t about)
{
	begin();
	emit_literals(1 + draw(40));
	while (lz.want_len < about) {
		uint32_t most = (uint32_t)lz.want_len;
		uint32_t bound = draw(2) ? 40 : draw(2) ? 9000 : 73727;
		size_t len = draw(3) ? 3 + draw(10) : 3 + draw(600);

		if (draw(3) == 0)
			emit_literals(1 + draw(70));
		emit_match(1 + draw(most < bound ? most : bound), len);
	}
	emit_literals(draw(3));
}

static void blosclz_decodes_random_streams(void **unused)
{
	(void)unused;
	for (int i = 0; i < 400; i++) {
		emit_random(1 + draw(i % 40 ? 3000 : 300000));
		expect_round_trip();
	}
}

static void blosclz_refuses_truncations_of_random_streams(void **unused)
{
	(void)unused;
	for (int i = 0; i < 15; i++) {
		emit_random(1 + draw(1500));
		for (size_t n = 0; n < lz.src_len; n++)
			expect_corrupt(&bfs_codec_blosclz, lz.src, n,
				       lz.want_len);
	}
}

static void blosclz_contains_mutants(void **unused)
{
	(void)unused;
	for (int i = 0; i < 40; i++) {
		emit_random(1 + draw(4000));
		expect_mutants_contained(&bfs_codec_blosclz, lz.src,
					 lz.src_len, lz.want_len);
	}
}

static void blosclz_refuses_empty_input(void **unused)
{
	(void)unused;
	expect_corrupt(&bfs_codec_blosclz, "", 0, 0);
	expect_corrupt(&bfs_codec_blosclz, "", 0, 1);
	expect_corrupt(&bfs_codec_blosclz, "\x20", 1, 0);
}

static void blosclz_refuses_literals_beyond_input(void **unused)
{
	(void)unused;
	for (size_t n = 1; n <= 32; n++) {
		begin();
		emit_literals(n);
		lz.src_len--;
		expect_refused();
		begin();
		emit_literals(50);
		emit_match(9, 20);
		emit_literals(n);
		lz.src_len--;
		expect_refused();
	}
}

static void blosclz_refuses_literals_beyond_output(void **unused)
{
	(void)unused;
	for (size_t n = 1; n <= 32; n++) {
		begin();
		emit_literals(n);
		lz.want_len--;
		expect_refused();
		begin();
		emit_literals(50);
		emit_match(9, 20);
		emit_literals(n);
		lz.want_len -= n;	/* output is full, input is not */
		expect_refused();
	}
}

static void blosclz_refuses_matches_beyond_output(void **unused)
{
	(void)unused;
	for (size_t len = 3; len < 600; len += 1 + len / 20) {
		for (size_t short_by = 1; short_by <= len; short_by += 3) {
			begin();
			emit_literals(100);
			emit_match(1 + draw(100), len);
			lz.want_len -= short_by;
			expect_refused();
			emit_literals(50);	/* and with input to spare */
			lz.want_len -= 50;
			expect_refused();
		}
	}
}

static void blosclz_refuses_each_missing_byte_of_a_match(void **unused)
{
	static const struct {
		size_t dist, len;
	} kinds[] = { { 5, 3 }, { 5, 9 }, { 5, 600 }, { 8192, 3 },
		      { 9000, 8 }, { 9000, 9 }, { 9000, 600 } };

	(void)unused;
	for (size_t i = 0; i < BFS_ARRAY_LEN(kinds); i++) {
		size_t whole, at;

		begin();
		emit_literals(9000);
		at = lz.src_len;
		emit_match(kinds[i].dist, kinds[i].len);
		whole = lz.src_len;
		expect_round_trip();
		for (lz.src_len = at + 1; lz.src_len < whole; lz.src_len++) {
			expect_refused();
			/* nor may what is missing be taken for granted */
			expect_corrupt(&bfs_codec_blosclz, lz.src, lz.src_len,
				       9000);
		}
	}
}

/* A sum that no buffer of ours holds, and one that is right in 16 bits. */
static void blosclz_refuses_endless_extension(void **unused)
{
	(void)unused;
	begin();
	emit_literals(40);
	emit(0xe0);
	memset(lz.src + lz.src_len, 0xff, ARENA_LEN - lz.src_len);
	expect_corrupt(&bfs_codec_blosclz, lz.src, ARENA_LEN, 1000);
	expect_corrupt(&bfs_codec_blosclz, lz.src, ARENA_LEN, ARENA_LEN);
	begin();
	emit_literals(40);
	emit_match_bytes(1, 65536 + 100);
	emit_literals(40);
	lz.want_len += 100;
	expect_refused();
}

static void blosclz_refuses_distance_before_output(void **unused)
{
	static const size_t lens[] = { 3, 8, 9, 40, 300 };

	(void)unused;
	for (size_t have = 1; have < 9000; have += 1 + have / 5) {
		for (size_t i = 0; i < BFS_ARRAY_LEN(lens); i++) {
			begin();
			emit_literals(have);
			emit_match_bytes(have + 1 + draw(3), lens[i]);
			lz.want_len += lens[i];
			expect_refused();
			emit_literals(400);	/* far from both ends */
			expect_refused();
		}
	}
	begin();
	emit_literals(300);
	emit_match_bytes(73727, 30);
	lz.want_len += 30;
	emit_literals(300);
	expect_refused();
}

static void blosclz_refuses_streams_that_end_early(void **unused)
{
	(void)unused;
	for (size_t more = 1; more < 100; more++) {
		emit_random(1 + draw(500));
		lz.want_len += more;
		expect_refused();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blosclz_decodes_the_near_example),
		cmocka_unit_test(blosclz_decodes_the_far_example),
		cmocka_unit_test(blosclz_reads_every_form_of_match),
		cmocka_unit_test(blosclz_ignores_the_mark_of_the_first_byte),
		cmocka_unit_test(blosclz_copies_every_length_at_every_distance),
		cmocka_unit_test(blosclz_copies_exactly_near_the_end),
		cmocka_unit_test(blosclz_copies_every_literal_run),
		cmocka_unit_test(blosclz_decodes_random_streams),
		cmocka_unit_test(blosclz_refuses_truncations_of_random_streams),
		cmocka_unit_test(blosclz_contains_mutants),
		cmocka_unit_test(blosclz_refuses_empty_input),
		cmocka_unit_test(blosclz_refuses_literals_beyond_input),
		cmocka_unit_test(blosclz_refuses_literals_beyond_output),
		cmocka_unit_test(blosclz_refuses_matches_beyond_output),
		cmocka_unit_test(blosclz_refuses_each_missing_byte_of_a_match),
		cmocka_unit_test(blosclz_refuses_endless_extension),
		cmocka_unit_test(blosclz_refuses_distance_before_output),
		cmocka_unit_test(blosclz_refuses_streams_that_end_early),
	};

	return cmocka_run_group_tests_name("codec_blosclz", tests, set_up,
					   tear_down);
}
