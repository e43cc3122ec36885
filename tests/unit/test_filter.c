/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_filter.c - every filter, in every variant that this CPU can run.
 *
 * Random data is filtered here, by code that follows the definitions bit by
 * bit and shares nothing with the library, and must come back. Source,
 * destination and reference lie against inaccessible pages, at either end.
 * BFS_TEST_SEED repeats a run.
 */
#include "filter/filter.h"

#include "../support/guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define MAX_LEN ((size_t)256 * 1024)
#define SLACK 64	/* for odd addresses */

static struct guard src_guard, dst_guard, ref_guard;
static uint8_t *plain, *coded, *reference;
static uint64_t seed, rng;

static uint32_t draw(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 32);
}

static uint32_t draw_below(uint32_t n)
{
	return draw() % n;
}

static void fill(uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)draw();
}

/* ---- Filtering, by the definitions ---- */

struct params {
	size_t len;
	uint32_t typesize;
	uint32_t frame_typesize;
	uint8_t meta;
	uint8_t version;
	bool has_ref;
	uint8_t ndim;
	const int32_t *blockshape;
};

static void encode_shuffle(const struct params *p)
{
	const size_t w = p->meta ? p->meta : p->typesize, n = p->len / w;

	memcpy(coded, plain, p->len);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < w; j++)
			coded[j * n + i] = plain[i * w + j];
}

static void encode_bitshuffle(const struct params *p)
{
	const size_t w = p->typesize;
	size_t n = p->len / w;

	memcpy(coded, plain, p->len);
	if (p->version <= 2 && n % 8)
		return;
	n = n / 8 * 8;
	memset(coded, 0, n * w);
	for (size_t e = 0; e < n; e++)
		for (size_t b = 0; b < w; b++)
			for (size_t k = 0; k < 8; k++)
				if (plain[e * w + b] & 1 << k)
					coded[(8 * b + k) * (n / 8) + e / 8] |=
						(uint8_t)(1 << e % 8);
}

static void encode_delta(const struct params *p)
{
	const uint32_t t = p->typesize;
	const size_t g = t == 1 || t == 2 || t == 4 ? t : t % 8 ? 1 : 8;
	const size_t m = p->len / g * g;

	memcpy(coded, plain, p->len);
	for (size_t i = 0; i < m; i++) {
		if (p->has_ref)
			coded[i] = plain[i] ^ reference[i];
		else if (i >= g)
			coded[i] = plain[i] ^ plain[i - g];
	}
}

static void encode_bytedelta_with(const struct params *p, bool restarts)
{
	const size_t w = p->meta ? p->meta : p->frame_typesize;
	const size_t n = p->len / w;

	memcpy(coded, plain, p->len);
	for (size_t k = 0; k < w; k++)
		for (size_t i = 1; i < n; i++)
			if (!restarts || i != n / 16 * 16)
				coded[k * n + i] =
					(uint8_t)(plain[k * n + i] -
						  plain[k * n + i - 1]);
}

static void encode_bytedelta(const struct params *p)
{
	encode_bytedelta_with(p, false);
}

static void encode_bytedelta_buggy(const struct params *p)
{
	encode_bytedelta_with(p, true);
}

static void encode_identity(const struct params *p)
{
	memcpy(coded, plain, p->len);
}

/* ---- Undoing it, everywhere and in every way ---- */

enum place { AT_HEAD, AT_TAIL, ANYWHERE /* unaligned */ };

static uint8_t *place(const struct guard *g, size_t len, enum place where)
{
	switch (where) {
	case AT_HEAD:
		return guard_head(g, len);
	case AT_TAIL:
		return guard_tail(g, len);
	case ANYWHERE:
		break;
	}
	return guard_head(g, len + SLACK) + draw_below(SLACK);
}

static void expect_plain(const struct bfs_filter *f, int level,
			 const struct params *p, const uint8_t *got,
			 const char *how)
{
	size_t i = 0;

	if (memcmp(got, plain, p->len) == 0)
		return;
	while (got[i] == plain[i])
		i++;
	fail_msg("%s, %s, %s: byte %zu of %zu is %02x, not %02x (typesize %u, "
		 "of the frame %u, meta %u, version %u, %s; seed %llu)",
		 f->name, bfs_cpu_name((enum bfs_cpu)level), how, i, p->len,
		 got[i], plain[i], p->typesize, p->frame_typesize, p->meta,
		 p->version, p->has_ref ? "reference" : "no reference",
		 (unsigned long long)seed);
}

static void undo_at(const struct bfs_filter *f, int level,
		    const struct params *p, enum place where, bool in_place)
{
	uint8_t *src = place(&src_guard, p->len, where);
	uint8_t *dst = place(&dst_guard, p->len, where);
	uint8_t *ref = place(&ref_guard, p->len, where);
	struct bfs_filter_job job = {
		.src = in_place ? dst : src,
		.dst = dst,
		.len = p->len,
		.typesize = p->typesize,
		.frame_typesize = p->frame_typesize,
		.meta = p->meta,
		.version = p->version,
		.ref = p->has_ref ? ref : NULL,
		.ndim = p->ndim,
		.blockshape = p->blockshape,
	};

	memset(dst, 0xa5, p->len);
	if (p->has_ref)
		memcpy(ref, reference, p->len);
	memcpy(in_place ? dst : src, coded, p->len);
	f->undo[level](&job);
	expect_plain(f, level, p, dst, in_place ? "in place" : "apart");
	if (!in_place && memcmp(src, coded, p->len))
		fail_msg("%s changed its source", f->name);
	if (p->has_ref && memcmp(ref, reference, p->len))
		fail_msg("%s changed its reference", f->name);
}

/* What is in `coded` must become `plain`. */
static void undo_everywhere(const struct bfs_filter *f, const struct params *p)
{
	for (int level = 0; level < BFS_N_CPUS; level++) {
		if (!f->undo[level] ||
		    !bfs_cpu_allows(bfs_cpu_detect(), (enum bfs_cpu)level))
			continue;
		for (int in_place = 0; in_place <= f->in_place; in_place++) {
			undo_at(f, level, p, AT_TAIL, in_place);
			undo_at(f, level, p, p->len % 2 ? AT_HEAD : ANYWHERE,
				in_place);
		}
	}
}

static void round_trip(const struct bfs_filter *f, const struct params *p,
		       void (*encode)(const struct params *p))
{
	encode(p);
	undo_everywhere(f, p);
}

/* All small lengths with all small type sizes, then bigger ones. */
static void sweep(const struct bfs_filter *f, struct params p,
		  void (*encode)(const struct params *p))
{
	fill(plain, MAX_LEN);
	fill(reference, MAX_LEN);
	for (p.typesize = 1; p.typesize <= 40; p.typesize++) {
		p.frame_typesize = p.typesize;
		for (p.len = 0; p.len <= 600; p.len++)
			round_trip(f, &p, encode);
		/* The widest bitshuffle takes 512 elements at a time. */
		for (int i = 0; i < 4; i++) {
			p.len = draw_below(2000 * p.typesize);
			round_trip(f, &p, encode);
		}
	}
	for (p.typesize = 41; p.typesize <= 256;
	     p.typesize += p.typesize < 250 ? 1 + draw_below(9) : 1) {
		p.frame_typesize = p.typesize;
		for (int i = 0; i < 3; i++) {
			p.len = draw_below((i ? 80 : 600) * p.typesize);
			round_trip(f, &p, encode);
		}
	}
	for (int i = 0; i < 32; i++) {
		static const uint32_t usual[] = { 1, 2, 3, 4, 6, 8, 12, 16 };

		p.typesize = i % 2 ? usual[i / 2 % 8] : 1 + draw_below(256);
		p.frame_typesize = p.typesize;
		p.len = i < 16 ? draw_below(20000)
			       : draw_below((uint32_t)MAX_LEN + 1);
		round_trip(f, &p, encode);
	}
}

static void shuffle_comes_back(void **state)
{
	(void)state;
	sweep(&bfs_filter_shuffle, (struct params){ .version = 5 },
	      encode_shuffle);
}

static void shuffle_takes_its_width_from_meta(void **state)
{
	struct params p = { .typesize = 4, .version = 5 };

	(void)state;
	fill(plain, MAX_LEN);
	for (unsigned meta = 1; meta <= 255; meta++)
		for (int i = 0; i < 6; i++) {
			p.meta = (uint8_t)meta;
			p.len = draw_below(i < 3 ? 300 : 9000);
			round_trip(&bfs_filter_shuffle, &p, encode_shuffle);
		}
}

static void bitshuffle_comes_back(void **state)
{
	(void)state;
	/* The slot's meta means nothing here. */
	sweep(&bfs_filter_bitshuffle,
	      (struct params){ .version = 3, .meta = 7 }, encode_bitshuffle);
}

static void bitshuffle_of_version_2_comes_back(void **state)
{
	(void)state;
	sweep(&bfs_filter_bitshuffle, (struct params){ .version = 2 },
	      encode_bitshuffle);
}

static void bitshuffle_of_versions_1_and_2_leaves_odd_blocks_alone(void **state)
{
	struct params p = { .len = 35 * 4, .typesize = 4 };

	(void)state;
	fill(plain, p.len);
	memcpy(coded, plain, p.len);
	for (p.version = 1; p.version <= 2; p.version++)
		undo_everywhere(&bfs_filter_bitshuffle, &p);
}

static void delta_of_a_first_block_comes_back(void **state)
{
	(void)state;
	sweep(&bfs_filter_delta, (struct params){ .version = 5, .meta = 3 },
	      encode_delta);
}

static void delta_of_a_later_block_comes_back(void **state)
{
	(void)state;
	sweep(&bfs_filter_delta,
	      (struct params){ .version = 5, .has_ref = true }, encode_delta);
}

static void bytedelta_comes_back(void **state)
{
	(void)state;
	sweep(&bfs_filter_bytedelta, (struct params){ .version = 5 },
	      encode_bytedelta);
}

static void bytedelta_takes_its_width_from_meta(void **state)
{
	struct params p = { .typesize = 4, .version = 5 };

	(void)state;
	fill(plain, MAX_LEN);
	for (unsigned meta = 1; meta <= 255; meta++)
		for (unsigned frame = 0; frame <= 8; frame += 8) {
			p.meta = (uint8_t)meta;
			p.frame_typesize = frame;
			p.len = draw_below(40 * meta);
			round_trip(&bfs_filter_bytedelta, &p,
				   encode_bytedelta);
		}
}

static void bytedelta_wider_than_the_block_changes_nothing(void **state)
{
	struct params p = {
		.len = 1000, .typesize = 1, .frame_typesize = 536866816,
		.version = 5,
	};

	(void)state;
	fill(plain, p.len);
	memcpy(coded, plain, p.len);
	undo_everywhere(&bfs_filter_bytedelta, &p);
	undo_everywhere(&bfs_filter_bytedelta_buggy, &p);
}

static void buggy_bytedelta_comes_back(void **state)
{
	(void)state;
	sweep(&bfs_filter_bytedelta_buggy, (struct params){ .version = 5 },
	      encode_bytedelta_buggy);
}

static void lossy_filters_change_nothing(void **state)
{
	struct params p = { .typesize = 4, .version = 5, .meta = 0xf0 };

	(void)state;
	fill(plain, MAX_LEN);
	for (p.len = 0; p.len <= 40; p.len++) {
		round_trip(&bfs_filter_trunc_prec, &p, encode_identity);
		round_trip(&bfs_filter_int_trunc, &p, encode_identity);
	}
	assert_true(bfs_filter_trunc_prec.identity);
	assert_true(bfs_filter_int_trunc.identity);
}

/* ---- Blocks that C-Blosc and C-Blosc2 wrote ---- */

static size_t unhex(const char *hex, uint8_t *ret)
{
	size_t n = 0;

	for (; hex[0] && hex[1]; hex += 2) {
		const char digits[] = { hex[0], hex[1], 0 };

		ret[n++] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return n;
}

/* len bytes of int32 first, first + step, ... */
static void count_up(uint8_t *p, size_t len, uint32_t first, uint32_t step)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)((first + (uint32_t)(i / 4) * step) >>
				 8 * (i % 4));
}

static void delta_written_by_the_library_is_undone(void **state)
{
	struct params p = { .len = 64, .typesize = 4, .version = 5 };

	(void)state;
	assert_int_equal(unhex("00000001050000000f000000050000001b000000"
			       "0d000000070000003d0000000b00000005000000"
			       "1f000000050000000b0000007d00000007000000"
			       "0d000000", coded), 64);
	count_up(plain, 64, 0x01000000, 5);
	undo_everywhere(&bfs_filter_delta, &p);

	memcpy(reference, plain, 64);
	assert_int_equal(unhex("5000000050000000500000005000000070000000"
			       "7000000070000000500000005000000050000000"
			       "b0000000b0000000b0000000d0000000d0000000"
			       "d0000000", coded), 64);
	count_up(plain, 64, 0x01000000 + 16 * 5, 5);
	p.has_ref = true;
	undo_everywhere(&bfs_filter_delta, &p);
}

static void delta_of_12_bytes_written_by_the_library_is_undone(void **state)
{
	struct params p = { .len = 48, .typesize = 12, .version = 5 };

	(void)state;
	assert_int_equal(unhex("00000001040500010b0a00010e0f000115140001"
			       "181900011f1e000122230001292800012c2d0001"
			       "3332000136370001", coded), 48);
	count_up(plain, 48, 0x01000000, 5);
	undo_everywhere(&bfs_filter_delta, &p);
}

static void bytedelta_written_by_the_library_is_undone(void **state)
{
	struct params p = {
		.len = 160, .typesize = 4, .meta = 4, .version = 5,
	};
	uint8_t ints[160];

	(void)state;
	count_up(ints, sizeof(ints), 1000, 3);
	for (size_t i = 0; i < 160; i++)	/* what SHUFFLE makes of them */
		plain[i % 4 * 40 + i / 4] = ints[i];
	memset(coded, 0, 160);
	memset(coded + 1, 3, 39);
	coded[0] = 0xe8;
	coded[40] = 3;
	coded[48] = 1;
	undo_everywhere(&bfs_filter_bytedelta, &p);

	/* The sums begin anew at byte 32 of each channel. */
	coded[32] = 0x48;
	coded[72] = 4;
	undo_everywhere(&bfs_filter_bytedelta_buggy, &p);
}

static void bytedelta_of_a_short_block_written_by_the_library(void **state)
{
	struct params p = {
		.len = 40, .typesize = 4, .meta = 4, .version = 5,
	};

	(void)state;
	assert_int_equal(unhex("00080808080808080808020808080808080808080408"
			       "080808080808080806080808080808080808", coded),
			 40);
	for (size_t i = 0; i < 40; i++)
		plain[i] = (uint8_t)(2 * (i % 10 * 4 + i / 10));
	undo_everywhere(&bfs_filter_bytedelta, &p);

	p.len = 3;
	assert_int_equal(unhex("505254", coded), 3);
	memcpy(plain, coded, 3);
	undo_everywhere(&bfs_filter_bytedelta, &p);
}

static void bitshuffle_written_by_the_library_is_undone(void **state)
{
	struct params p = { .len = 38, .typesize = 2, .version = 5 };

	(void)state;
	assert_int_equal(unhex("aaaaccccf0f000ff000000000000000000000000"
			       "00000000000000000000ffff108011801280", coded),
			 38);
	for (size_t i = 0; i < 38; i++)
		plain[i] = i % 2 ? 0x80 : (uint8_t)(i / 2);
	undo_everywhere(&bfs_filter_bitshuffle, &p);

	p = (struct params){ .len = 8, .typesize = 1, .version = 2 };
	assert_int_equal(unhex("aaccf00000000000", coded), 8);
	assert_int_equal(unhex("0001020304050607", plain), 8);
	undo_everywhere(&bfs_filter_bitshuffle, &p);
}

static void shuffle_by_meta_written_by_the_library_is_undone(void **state)
{
	struct params p = {
		.len = 120, .typesize = 6, .meta = 3, .version = 5,
	};

	(void)state;
	for (size_t i = 0; i < 40; i++) {
		coded[i] = (uint8_t)(i / 2);
		coded[40 + i] = i % 2;
		coded[80 + i] = 7;
		plain[3 * i] = (uint8_t)(i / 2);
		plain[3 * i + 1] = i % 2;
		plain[3 * i + 2] = 7;
	}
	undo_everywhere(&bfs_filter_shuffle, &p);
}

/* ---- Samples of the table ---- */

static void every_row_gives_its_sample_at_each_level(void **state)
{
	(void)state;
	for (size_t i = 0; i < bfs_n_filters; i++) {
		const struct bfs_filter *f = bfs_filters[i];
		const struct bfs_filter_sample *s = &f->sample;
		struct params p = {
			s->len, s->typesize, s->typesize, s->meta, 5, false,
			f->sample_ndim, f->sample_shape,
		};

		assert_non_null(f->undo[BFS_CPU_SCALAR]);
		assert_true(s->len > 0);
		memcpy(coded, s->src, s->len);
		memcpy(plain, s->want, s->len);
		undo_everywhere(f, &p);
	}
}

/* ---- The guard pages themselves ---- */

static void note_fault(int sig)
{
	(void)sig;
	_exit(42);
}

static int status_of_touching(volatile uint8_t *p)
{
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (pid == 0) {
		signal(SIGSEGV, note_fault);
		signal(SIGBUS, note_fault);
		*p = 1;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void guard_pages_stop_a_byte_too_many(void **state)
{
	(void)state;
	assert_int_equal(status_of_touching(guard_head(&dst_guard, 5)), 0);
	assert_int_equal(status_of_touching(guard_tail(&dst_guard, 5) + 4), 0);
	/* memcheck ends it with a status of its own. */
	assert_true(status_of_touching(guard_head(&dst_guard, 5) - 1) != 0);
	assert_true(status_of_touching(guard_tail(&dst_guard, 5) + 5) != 0);
}

static int set_up(void **state)
{
	(void)state;
	guard_open(&src_guard, MAX_LEN + SLACK);
	guard_open(&dst_guard, MAX_LEN + SLACK);
	guard_open(&ref_guard, MAX_LEN + SLACK);
	plain = malloc(MAX_LEN);
	coded = malloc(MAX_LEN);
	reference = calloc(1, MAX_LEN);
	return plain && coded && reference ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	guard_close(&src_guard);
	guard_close(&dst_guard);
	guard_close(&ref_guard);
	free(plain);
	free(coded);
	free(reference);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guard_pages_stop_a_byte_too_many),
		cmocka_unit_test(every_row_gives_its_sample_at_each_level),
		cmocka_unit_test(shuffle_comes_back),
		cmocka_unit_test(shuffle_takes_its_width_from_meta),
		cmocka_unit_test(
			shuffle_by_meta_written_by_the_library_is_undone),
		cmocka_unit_test(bitshuffle_comes_back),
		cmocka_unit_test(bitshuffle_of_version_2_comes_back),
		cmocka_unit_test(
			bitshuffle_of_versions_1_and_2_leaves_odd_blocks_alone),
		cmocka_unit_test(bitshuffle_written_by_the_library_is_undone),
		cmocka_unit_test(delta_of_a_first_block_comes_back),
		cmocka_unit_test(delta_of_a_later_block_comes_back),
		cmocka_unit_test(delta_written_by_the_library_is_undone),
		cmocka_unit_test(
			delta_of_12_bytes_written_by_the_library_is_undone),
		cmocka_unit_test(bytedelta_comes_back),
		cmocka_unit_test(bytedelta_takes_its_width_from_meta),
		cmocka_unit_test(
			bytedelta_wider_than_the_block_changes_nothing),
		cmocka_unit_test(bytedelta_written_by_the_library_is_undone),
		cmocka_unit_test(
			bytedelta_of_a_short_block_written_by_the_library),
		cmocka_unit_test(buggy_bytedelta_comes_back),
		cmocka_unit_test(lossy_filters_change_nothing),
	};
	const char *given = getenv("BFS_TEST_SEED");

	seed = given ? strtoull(given, NULL, 10)
		     : (uint64_t)time(NULL) << 20 ^ (uint64_t)getpid();
	rng = seed ? seed : 1;
	/* In TAP nothing may come before the line with its version. */
	fprintf(stderr, "BFS_TEST_SEED=%llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
