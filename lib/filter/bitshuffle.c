/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bitshuffle.c - undoing BITSHUFFLE: bit k of byte b of every element lies in
 * bit row 8b + k, the element with the lower index in the lower bit.
 *
 * Elements are as wide as the chunk's typesize. Eight of them at a time are
 * transposed; what remains is copied. Chunks of versions 1 and 2 whose block
 * is not a multiple of eight elements were not transposed at all.
 */
#include "filter/filter.h"

#include "filter/bitshuffle_neon.h"
#include "filter/bitshuffle_x86.h"
#include "filter/weave.h"

#include <string.h>

static enum bfs_err check(const struct bfs_filter_job *job,
			  struct bfs_diag *diag)
{
	if (job->typesize == 0)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"bitshuffle of elements of 0 bytes");
	return BFS_OK;
}

/* Elements that are transposed in this block: a multiple of eight. */
static size_t count_elements(const struct bfs_filter_job *job)
{
	const size_t n = job->len / job->typesize;

	if (job->version <= 2 && n % 8 != 0)
		return 0;
	return n - n % 8;
}

static void copy_rest(const struct bfs_filter_job *job, size_t done)
{
	if (job->len > done)
		memcpy(job->dst + done, job->src + done, job->len - done);
}

/* Bit i of byte k becomes bit k of byte i (byte 0 is the lowest). */
static uint64_t transpose_bits(uint64_t x)
{
	uint64_t t;

	t = (x ^ x >> 28) & 0x00000000f0f0f0f0;
	x ^= t ^ t << 28;
	t = (x ^ x >> 14) & 0x0000cccc0000cccc;
	x ^= t ^ t << 14;
	t = (x ^ x >> 7) & 0x00aa00aa00aa00aa;
	x ^= t ^ t << 7;
	return x;
}

static void undo_scalar(const struct bfs_filter_job *job)
{
	const size_t w = job->typesize, n = count_elements(job);
	const size_t row_len = n / 8;

	for (size_t j = 0; j < row_len; j++)
		for (size_t b = 0; b < w; b++) {
			const uint8_t *src = job->src + 8 * b * row_len + j;
			uint8_t *dst = job->dst + 8 * j * w + b;
			uint64_t x = 0;

			for (unsigned k = 0; k < 8; k++)
				x |= (uint64_t)src[k * row_len] << 8 * k;
			x = transpose_bits(x);
			for (unsigned i = 0; i < 8; i++)
				dst[i * w] = (uint8_t)(x >> 8 * i);
		}
	copy_rest(job, n * w);
}

#ifdef BFS_VECTORS

/* Row bytes at a time: one cache line. */
#define TILE 64

struct kernel {
	size_t step;	/* row bytes in a vector */
	void (*rows_to_planes)(const uint8_t *src, size_t row_len,
			       size_t n_planes, size_t n, uint8_t *dst);
	void (*weave)(const struct bfs_planes *p);
};

/* Row bytes j ... j + m - 1 of all planes: 8m elements, at most sixteen
 * planes at a time through a tile that stays in the first cache level. */
static void undo_tile(const struct bfs_filter_job *job, size_t row_len,
		      size_t j, size_t m, const struct kernel *kernel)
{
	const size_t w = job->typesize;
	const size_t group = w < BFS_WEAVE_MAX ? w : BFS_WEAVE_MAX;
	uint8_t *const dst = job->dst + 8 * j * w;
	_Alignas(64) uint8_t tile[BFS_WEAVE_MAX * 8 * TILE];

	if (w == 1) {
		kernel->rows_to_planes(job->src + j, row_len, 1, m, dst);
		return;
	}
	for (size_t b = 0; b < w; b += group) {
		if (b + group > w)
			b = w - group;
		kernel->rows_to_planes(job->src + 8 * b * row_len + j,
				       row_len, group, m, tile);
		kernel->weave(&(struct bfs_planes){
			tile, 8 * m, 8 * m, group, dst + b, w });
	}
}

/* False if the rows are too short for this kernel. */
static bool undo_with(const struct bfs_filter_job *job,
		      const struct kernel *kernel)
{
	const size_t row_len = count_elements(job) / 8;
	size_t m = TILE;

	while (m > row_len)
		m /= 2;
	if (m < kernel->step)
		return false;
	for (size_t j = 0; j < row_len; j += m) {
		if (j + m > row_len)
			j = row_len - m;	/* overlaps the one before */
		undo_tile(job, row_len, j, m, kernel);
	}
	copy_rest(job, row_len * 8 * job->typesize);
	return true;
}

#endif

#ifdef BFS_ARM64

static void undo_neon(const struct bfs_filter_job *job)
{
	static const struct kernel kernel = {
		16, rows_to_planes_neon, bfs_weave_neon
	};

	if (!undo_with(job, &kernel))
		undo_scalar(job);
}

#endif

#ifdef BFS_X86

static void undo_sse2(const struct bfs_filter_job *job)
{
	static const struct kernel kernel = {
		16, rows_to_planes_sse2, bfs_weave_sse2
	};

	if (!undo_with(job, &kernel))
		undo_scalar(job);
}

static void undo_avx2(const struct bfs_filter_job *job)
{
	static const struct kernel kernel = {
		32, rows_to_planes_avx2, bfs_weave_avx2
	};

	if (!undo_with(job, &kernel))
		undo_sse2(job);
}

/* Elements of n bytes in rows of at least 64 bytes. */
BFS_TARGET(BFS_AVX512) BFS_SIMD_INLINE
void undo_dense_avx512(const struct bfs_filter_job *job, size_t row_len,
		       unsigned n)
{
	for (size_t j = 0; j < row_len; j += 64) {
		if (j + 64 > row_len)
			j = row_len - 64;	/* overlaps the one before */
		rows_to_elements_avx512(job->src + j, row_len, n,
					job->dst + 8 * j * n);
	}
	copy_rest(job, row_len * 8 * n);
}

BFS_TARGET(BFS_AVX512)
static void undo_avx512(const struct bfs_filter_job *job)
{
	static const struct kernel kernel = {
		64, rows_to_planes_avx512, bfs_weave_avx512
	};
	const size_t row_len = count_elements(job) / 8;

	if (row_len < 64)
		undo_avx2(job);
	else if (job->typesize == 2)
		undo_dense_avx512(job, row_len, 2);
	else if (job->typesize == 4)
		undo_dense_avx512(job, row_len, 4);
	else if (job->typesize == 8)
		undo_dense_avx512(job, row_len, 8);
	else
		undo_with(job, &kernel);
}

#endif

/* Eight elements of two bytes and one byte that is no element. */
static const uint8_t sample_src[] = {
	0xaa, 0xcc, 0xf0, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x07, 0x04, 0x00, 0x00, 0x00, 0x00, 0x40, 0x10, 0xee,
};
static const uint8_t sample_want[] = {
	0x00, 0x01, 0x01, 0x01, 0x02, 0x03, 0x03, 0x00,
	0x04, 0x80, 0x05, 0x00, 0x06, 0x40, 0x07, 0x00, 0xee,
};

const struct bfs_filter bfs_filter_bitshuffle = {
	.name = "bitshuffle",
	.id = 2,
	.check = check,
	.undo = BFS_UNDO_BY_LEVEL,
	.sample = { sample_src, sample_want, sizeof(sample_src), 2, 0 },
};
