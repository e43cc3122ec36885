/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_codec_zfp.c - the three rows of ZFP against what the library itself
 * makes of random arrays, and streams that nobody made.
 */
#include "codec_jobs.h"

#ifdef BFS_HAVE_ZFP
#include <zfp.h>

static const struct bfs_codec *const zfp_rows[] = {
	&bfs_codec_zfp_acc, &bfs_codec_zfp_prec, &bfs_codec_zfp_rate,
};

static struct {
	_Alignas(8) uint8_t raw[65536];
	uint64_t packed[65536 / 8 * 2 + 600];
	size_t packed_len;		/* whole words */
	uint8_t want[65536];
	size_t len;
	struct bfs_codec_env env;
	uint8_t meta;
} zp;

static void draw_shape(unsigned n_dims, uint32_t typesize)
{
	static const uint32_t most[] = { 4000, 60, 15, 8 };

	memset(&zp.env, 0, sizeof(zp.env));
	zp.env.typesize = typesize;
	zp.env.ndim = (uint8_t)n_dims;
	zp.len = typesize;
	for (unsigned i = 0; i < n_dims; i++) {
		zp.env.blockshape[i] = 1 + (int32_t)draw(most[n_dims - 1]);
		zp.len *= (size_t)zp.env.blockshape[i];
	}
	for (size_t i = 0; i < zp.len / typesize; i++) {
		double v = (double)i * 0.01 + draw(100) * 0.001 - 3;

		v = draw(50) ? v : 0;
		if (typesize == 4)
			((float *)(void *)zp.raw)[i] = (float)v;
		else
			((double *)(void *)zp.raw)[i] = v;
	}
}

static void set_zfp_mode(zfp_stream *zfp, int mode, zfp_type type)
{
	double tolerance = 1;

	if (mode == 0) {
		zp.meta = (uint8_t)(draw(8) + 251);	/* -5 ... 2 */
		for (int8_t e = (int8_t)zp.meta; e < 0; e++)
			tolerance /= 10;
		for (int8_t e = (int8_t)zp.meta; e > 0; e--)
			tolerance *= 10;
		zfp_stream_set_accuracy(zfp, tolerance);
	} else if (mode == 1) {
		zp.meta = (uint8_t)(1 + draw(70));
		zfp_stream_set_precision(zfp, zp.meta + 3u + 2u * zp.env.ndim);
	} else {
		zp.meta = (uint8_t)(1 + draw(110));
		zfp_stream_set_rate(zfp, zp.meta * 0.01 * zp.env.typesize * 8,
				    type, zp.env.ndim, 0);
	}
}

/* Files hold words and items least byte first. */
static void turn_for_file(void *buf, size_t len, size_t width)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	for (uint8_t *p = buf, *end = p + len; p < end; p += width) {
		for (size_t i = 0; i < width / 2; i++) {
			uint8_t byte = p[i];

			p[i] = p[width - 1 - i];
			p[width - 1 - i] = byte;
		}
	}
#else
	(void)buf;
	(void)len;
	(void)width;
#endif
}

/* What the library makes of zp.raw, and of that again. */
static void pack_zfp(int mode)
{
	const int32_t *s = zp.env.blockshape;
	const unsigned n = zp.env.ndim;
	zfp_type type = zp.env.typesize == 4 ? zfp_type_float :
					       zfp_type_double;
	zfp_stream *zfp = zfp_stream_open(NULL);
	zfp_field *field = zfp_field_alloc();
	bitstream *bits = stream_open(zp.packed, sizeof(zp.packed));

	zfp_field_set_type(field, type);
	zfp_field_set_pointer(field, zp.raw);
	if (n == 1)
		zfp_field_set_size_1d(field, (size_t)s[0]);
	else if (n == 2)
		zfp_field_set_size_2d(field, (size_t)s[1], (size_t)s[0]);
	else if (n == 3)
		zfp_field_set_size_3d(field, (size_t)s[2], (size_t)s[1],
				      (size_t)s[0]);
	else
		zfp_field_set_size_4d(field, (size_t)s[3], (size_t)s[2],
				      (size_t)s[1], (size_t)s[0]);
	set_zfp_mode(zfp, mode, type);
	zfp_stream_set_bit_stream(zfp, bits);
	memset(zp.packed, 0, sizeof(zp.packed));
	if (zfp_stream_maximum_size(zfp, field) > sizeof(zp.packed)) {
		zp.packed_len = 0;
	} else {
		zp.packed_len = (zfp_compress(zfp, field) + 7) / 8 * 8;
		zfp_stream_rewind(zfp);
		zfp_field_set_pointer(field, zp.want);
		assert_true(zfp_decompress(zfp, field) > 0);
	}
	turn_for_file(zp.packed, zp.packed_len, stream_word_bits / 8);
	turn_for_file(zp.want, zp.len, zp.env.typesize);
	stream_close(bits);
	zfp_field_free(field);
	zfp_stream_close(zfp);
}

static struct bfs_codec_job zfp_job(void)
{
	return (struct bfs_codec_job){
		.src = (uint8_t *)zp.packed, .src_len = zp.packed_len,
		.dst_len = zp.len, .meta = zp.meta, .env = &zp.env,
	};
}

static void zfp_decodes_what_its_writer_makes(void **unused)
{
	unsigned n_done = 0;

	(void)unused;
	for (int i = 0; i < 480; i++) {
		int mode = i % 3;
		struct bfs_codec_job job;

		draw_shape(1 + (unsigned)i / 3 % 4, i / 12 % 2 ? 8 : 4);
		pack_zfp(mode);
		if (zp.packed_len == 0)
			continue;
		n_done++;
		job = zfp_job();
		expect_result(zfp_rows[mode], &job, zp.want);
	}
	assert_true(n_done > 300);
}

static void zfp_refuses_truncations_and_contains_mutants(void **unused)
{
	struct bfs_codec_job job;

	(void)unused;
	for (int i = 0; i < 24; i++) {
		int mode = i % 3;

		do {
			draw_shape(1 + (unsigned)i / 3 % 4, i / 12 ? 8 : 4);
			pack_zfp(mode);
		} while (zp.packed_len == 0 || zp.packed_len > 2000);
		job = zfp_job();
		expect_exact(zfp_rows[mode], &job);
		expect_changes_contained(zfp_rows[mode], &job);
		/* A word too much is refused as well. */
		zp.packed[zp.packed_len / 8] = 0;
		job.src_len += 8;
		assert_int_equal(decode_job(zfp_rows[mode], &job),
				 BFS_ERR_CORRUPT);
	}
}

/* Streams of ones alone read the most there is to a cell. */
static void zfp_survives_any_bits(void **unused)
{
	static uint8_t src[4096];
	struct bfs_codec_job job = { .src = src, .env = &zp.env };

	(void)unused;
	for (int i = 0; i < 1200; i++) {
		enum bfs_err err;

		draw_shape(1 + draw(4), draw(2) ? 8 : 4);
		job.dst_len = zp.len;
		job.meta = (uint8_t)draw(256);
		job.src_len = (1 + draw(40)) * (draw(4) ? 8 : 1);
		memset(src, i & 1 ? 0xff : 0, sizeof(src));
		for (size_t k = 0; i & 2 && k < job.src_len; k++)
			src[k] = (uint8_t)draw(256);
		err = decode_job(zfp_rows[i % 3], &job);
		assert_true(err == BFS_OK || err == BFS_ERR_CORRUPT);
	}
}

struct array {
	uint32_t typesize;
	uint8_t ndim;
	int32_t shape[16];
};

static struct bfs_codec_env env_of(const struct array *a)
{
	struct bfs_codec_env e = { .typesize = a->typesize, .ndim = a->ndim };

	memcpy(e.blockshape, a->shape, sizeof(a->shape));
	return e;
}

static void zfp_without_an_array_is_unsupported(void **unused)
{
	static const struct array envs[] = {
		{ 0, 0, { 0 } }, { 4, 0, { 0 } }, { 0, 1, { 8 } },
		{ 2, 1, { 8 } }, { 16, 1, { 8 } }, { 1, 1, { 8 } },
		{ 4, 5, { 1, 1, 1, 1, 8 } }, { 4, 16, { 8, 1 } },
	};

	(void)unused;
	for (int k = 0; k < 3; k++)
		for (size_t i = 0; i < BFS_ARRAY_LEN(envs); i++) {
			const struct bfs_codec_env array = env_of(&envs[i]);
			struct bfs_codec_job job = {
				.src = zfp_rows[k]->sample.src, .src_len = 16,
				.dst_len = 32, .env = &array,
			};

			assert_int_equal(decode_job(zfp_rows[k], &job),
					 BFS_ERR_UNSUPPORTED);
		}
}

static void zfp_refuses_shapes_that_are_not_the_block(void **unused)
{
	static const struct array envs[] = {
		{ 4, 1, { 7 } }, { 4, 1, { 9 } }, { 4, 1, { 0 } },
		{ 4, 1, { -8 } }, { 4, 2, { -2, -4 } }, { 8, 1, { 8 } },
		{ 4, 2, { 8, 0 } },
		{ 4, 4, { 65536, 65536, 65536, 65536 } },
		{ 4, 4, { INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX } },
		{ 4, 3, { 0x40000000, 0x40000000, 8 } },
	};

	(void)unused;
	for (int k = 0; k < 3; k++)
		for (size_t i = 0; i < BFS_ARRAY_LEN(envs); i++) {
			const struct bfs_codec_env array = env_of(&envs[i]);
			struct bfs_codec_job job = {
				.src = zfp_rows[k]->sample.src, .src_len = 16,
				.dst_len = 32, .env = &array, .meta = 50,
			};

			assert_int_equal(decode_job(zfp_rows[k], &job),
					 BFS_ERR_CORRUPT);
		}
}

/* A million cells that each could hold 256 values: what is set aside goes by
 * the stream and by one bit a cell. */
static void zfp_sets_little_aside_for_many_cells(void **unused)
{
	static const struct bfs_codec_env thin = {
		.typesize = 4, .ndim = 4, .blockshape = { 65536, 1, 1, 4 },
	};
	const uint8_t zeros[8] = { 0 };

	(void)unused;
	for (int k = 0; k < 3; k++) {
		struct bfs_codec_states *own = bfs_codec_states_new();
		uint8_t *dst = dst_arena;
		struct bfs_codec_job job = {
			.src = zeros, .src_len = 8, .dst = dst,
			.dst_len = ARENA_LEN, .meta = 200, .env = &thin,
		};
		uint64_t before = bfs_mem_used();

		assert_int_equal(bfs_codec_decode(zfp_rows[k], &job, own),
				 BFS_ERR_CORRUPT);
		assert_true(bfs_mem_used() - before < 65536);
		bfs_codec_states_free(own);
	}
}

static void zfp_fails_without_memory_and_recovers(void **unused)
{
	(void)unused;
	for (int k = 0; k < 3; k++) {
		const struct bfs_codec_sample *s = &zfp_rows[k]->sample;
		struct bfs_codec_states *own = bfs_codec_states_new();
		uint64_t used = bfs_mem_used();
		struct bfs_codec_job job = {
			.src = s->src, .src_len = s->src_len,
			.dst = dst_arena, .dst_len = s->want_len,
			.meta = s->meta, .env = &s->env,
		};

		for (uint64_t n = 1; n <= 2; n++) {
			bfs_mem_fail_at(n);
			assert_int_equal(bfs_codec_decode(zfp_rows[k], &job,
							  own), BFS_ERR_NOMEM);
		}
		bfs_mem_fail_at(0);
		assert_int_equal(bfs_codec_decode(zfp_rows[k], &job, own),
				 BFS_OK);
		assert_memory_equal(dst_arena, s->want, s->want_len);
		assert_true(bfs_mem_used() > used);
		bfs_codec_states_free(own);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zfp_decodes_what_its_writer_makes),
		cmocka_unit_test(zfp_refuses_truncations_and_contains_mutants),
		cmocka_unit_test(zfp_survives_any_bits),
		cmocka_unit_test(zfp_without_an_array_is_unsupported),
		cmocka_unit_test(zfp_refuses_shapes_that_are_not_the_block),
		cmocka_unit_test(zfp_sets_little_aside_for_many_cells),
		cmocka_unit_test(zfp_fails_without_memory_and_recovers),
	};

	return cmocka_run_group_tests_name("codec zfp", tests, set_up,
					   tear_down);
}

#else

static void zfp_is_known_by_name_alone(void **unused)
{
	(void)unused;
	assert_int_equal(decode(&bfs_codec_zfp_acc, "x", 1, 1),
			 BFS_ERR_UNSUPPORTED);
	assert_int_equal(decode(&bfs_codec_zfp_prec, "x", 1, 1),
			 BFS_ERR_UNSUPPORTED);
	assert_int_equal(decode(&bfs_codec_zfp_rate, "x", 1, 1),
			 BFS_ERR_UNSUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zfp_is_known_by_name_alone),
	};

	return cmocka_run_group_tests_name("codec zfp", tests, set_up,
					   tear_down);
}

#endif
