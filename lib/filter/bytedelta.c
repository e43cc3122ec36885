/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bytedelta.c - undoing BYTEDELTA: running sums of bytes along channels.
 *
 * The block is w channels of floor(len / w) bytes, w being the slot's meta
 * or the frame's typesize; in each, byte i becomes the sum of bytes 0 ... i,
 * modulo 256. What is left behind the last channel is copied.
 */
#include "filter/bytedelta.h"

#include "filter/delta_neon.h"
#include "filter/weave.h"

#include <string.h>

#ifdef BFS_X86
#include <immintrin.h>
#endif

static size_t n_channels(const struct bfs_filter_job *job)
{
	return job->meta ? job->meta : job->frame_typesize;
}

enum bfs_err bfs_bytedelta_check(const struct bfs_filter_job *job,
				 struct bfs_diag *diag)
{
	if (n_channels(job) == 0)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"bytedelta needs the frame's typesize");
	return BFS_OK;
}

/* Sums len bytes, beginning with `sum`. */
static void run_from(const uint8_t *src, size_t len, uint8_t *dst, uint8_t sum)
{
	for (size_t i = 0; i < len; i++) {
		sum = (uint8_t)(sum + src[i]);
		dst[i] = sum;
	}
}

static void run_scalar(const uint8_t *src, size_t len, uint8_t *dst)
{
	run_from(src, len, dst, 0);
}

static void undo_with(const struct bfs_filter_job *job, bool restarts,
		      void (*run)(const uint8_t *src, size_t len, uint8_t *dst))
{
	const size_t w = n_channels(job), len = job->len / w;
	const size_t cut = restarts ? len - len % 16 : len;
	const size_t rest = job->len - len * w;
	const uint8_t *src = job->src;
	uint8_t *dst = job->dst;

	if (len > 0)
		for (size_t k = 0; k < w; k++, src += len, dst += len) {
			run(src, cut, dst);
			run(src + cut, len - cut, dst + cut);
		}
	if (rest > 0 && dst != src)
		memcpy(dst, src, rest);
}

void bfs_bytedelta_scalar(const struct bfs_filter_job *job, bool restarts)
{
	undo_with(job, restarts, run_scalar);
}

static void undo_scalar(const struct bfs_filter_job *job)
{
	bfs_bytedelta_scalar(job, false);
}

#ifdef BFS_ARM64

static void run_neon(const uint8_t *src, size_t len, uint8_t *dst)
{
	size_t i = sum_neon(src, len, dst);

	run_from(src + i, len - i, dst + i, i ? dst[i - 1] : 0);
}

void bfs_bytedelta_neon(const struct bfs_filter_job *job, bool restarts)
{
	undo_with(job, restarts, run_neon);
}

static void undo_neon(const struct bfs_filter_job *job)
{
	bfs_bytedelta_neon(job, false);
}

#endif

#ifdef BFS_X86

/*
 * All variants sum inside a vector by adding it to itself shifted by 1, 2, 4
 * ... bytes. `carry` holds the sum of everything before the vector in every
 * byte; only one addition to it depends on the vector before.
 */
BFS_TARGET("sse2")
static void run_sse2(const uint8_t *src, size_t len, uint8_t *dst)
{
	__m128i carry = _mm_setzero_si128();
	size_t i = 0;

	for (; i + 16 <= len; i += 16) {
		__m128i x = _mm_loadu_si128((const void *)(src + i)), all;

		x = _mm_add_epi8(x, _mm_slli_si128(x, 1));
		x = _mm_add_epi8(x, _mm_slli_si128(x, 2));
		x = _mm_add_epi8(x, _mm_slli_si128(x, 4));
		x = _mm_add_epi8(x, _mm_slli_si128(x, 8));
		all = _mm_unpackhi_epi8(x, x);
		all = _mm_shufflehi_epi16(all, 0xff);
		all = _mm_unpackhi_epi64(all, all);
		_mm_storeu_si128((void *)(dst + i), _mm_add_epi8(x, carry));
		carry = _mm_add_epi8(carry, all);
	}
	run_from(src + i, len - i, dst + i, i ? dst[i - 1] : 0);
}

BFS_TARGET("avx2")
static void run_avx2(const uint8_t *src, size_t len, uint8_t *dst)
{
	const __m256i last = _mm256_set1_epi8(15);
	__m256i carry = _mm256_setzero_si256();
	size_t i = 0;

	for (; i + 32 <= len; i += 32) {
		__m256i x = _mm256_loadu_si256((const void *)(src + i)), all;

		x = _mm256_add_epi8(x, _mm256_slli_si256(x, 1));
		x = _mm256_add_epi8(x, _mm256_slli_si256(x, 2));
		x = _mm256_add_epi8(x, _mm256_slli_si256(x, 4));
		x = _mm256_add_epi8(x, _mm256_slli_si256(x, 8));
		all = _mm256_shuffle_epi8(x, last);
		/* The low lane's sum goes to the high lane, then both. */
		x = _mm256_add_epi8(x,
				    _mm256_permute2x128_si256(all, all, 0x08));
		all = _mm256_add_epi8(all,
				      _mm256_permute2x128_si256(all, all, 1));
		_mm256_storeu_si256((void *)(dst + i),
				    _mm256_add_epi8(x, carry));
		carry = _mm256_add_epi8(carry, all);
	}
	run_from(src + i, len - i, dst + i, i ? dst[i - 1] : 0);
}

/* Sums inside 64-bit lanes first, then those of the eight lanes. */
BFS_TARGET("avx512f,avx512bw,avx512vl,avx512vbmi")
static void run_avx512(const uint8_t *src, size_t len, uint8_t *dst)
{
	const __m512i zero = _mm512_setzero_si512();
	const __m512i last = _mm512_set1_epi8(63);
	/* Byte 7 of each 64-bit lane, everywhere in it. */
	const __m512i spread = _mm512_set_epi64(
		0x3f3f3f3f3f3f3f3f, 0x3737373737373737, 0x2f2f2f2f2f2f2f2f,
		0x2727272727272727, 0x1f1f1f1f1f1f1f1f, 0x1717171717171717,
		0x0f0f0f0f0f0f0f0f, 0x0707070707070707);
	__m512i carry = zero;
	size_t i = 0;

	for (; i + 64 <= len; i += 64) {
		__m512i x = _mm512_loadu_si512(src + i), all;

		x = _mm512_add_epi8(x, _mm512_slli_epi64(x, 8));
		x = _mm512_add_epi8(x, _mm512_slli_epi64(x, 16));
		x = _mm512_add_epi8(x, _mm512_slli_epi64(x, 32));
		all = _mm512_permutexvar_epi8(spread, x);
		all = _mm512_add_epi8(all, _mm512_alignr_epi64(all, zero, 7));
		all = _mm512_add_epi8(all, _mm512_alignr_epi64(all, zero, 6));
		all = _mm512_add_epi8(all, _mm512_alignr_epi64(all, zero, 4));
		x = _mm512_add_epi8(x, _mm512_alignr_epi64(all, zero, 7));
		_mm512_storeu_si512(dst + i, _mm512_add_epi8(x, carry));
		carry = _mm512_add_epi8(carry,
					_mm512_permutexvar_epi8(last, all));
	}
	run_from(src + i, len - i, dst + i, i ? dst[i - 1] : 0);
}

void bfs_bytedelta_sse2(const struct bfs_filter_job *job, bool restarts)
{
	undo_with(job, restarts, run_sse2);
}

void bfs_bytedelta_avx2(const struct bfs_filter_job *job, bool restarts)
{
	undo_with(job, restarts, run_avx2);
}

void bfs_bytedelta_avx512(const struct bfs_filter_job *job, bool restarts)
{
	undo_with(job, restarts, run_avx512);
}

static void undo_sse2(const struct bfs_filter_job *job)
{
	bfs_bytedelta_sse2(job, false);
}

static void undo_avx2(const struct bfs_filter_job *job)
{
	bfs_bytedelta_avx2(job, false);
}

static void undo_avx512(const struct bfs_filter_job *job)
{
	bfs_bytedelta_avx512(job, false);
}

#endif

/* With SHUFFLE over the same planes. */
static bool undo_both(const struct bfs_filter_job *job,
		      const struct bfs_filter *next, uint8_t next_meta)
{
	const size_t w = n_channels(job), len = job->len / w;
	const size_t rest = job->len - len * w;
	const struct bfs_planes p = { job->src, len, len, w, job->dst, w };
	const struct bfs_mixing mix = { job->planes, true, NULL };

	if (next != &bfs_filter_shuffle || w != job->typesize ||
	    (next_meta && next_meta != w) || !bfs_weave_mixed(&p, &mix))
		return false;
	if (rest > 0)
		memcpy(job->dst + len * w, job->src + len * w, rest);
	return true;
}

/* Two channels of four bytes, and one byte that belongs to none. */
static const uint8_t sample_src[] = {
	0x01, 0x01, 0x01, 0xfe, 0x10, 0x00, 0xf0, 0x01, 0x7f,
};
static const uint8_t sample_want[] = {
	0x01, 0x02, 0x03, 0x01, 0x10, 0x10, 0x00, 0x01, 0x7f,
};

const struct bfs_filter bfs_filter_bytedelta = {
	.name = "bytedelta",
	.id = 35,
	.in_place = true,
	.check = bfs_bytedelta_check,
	.undo = BFS_UNDO_BY_LEVEL,
	.undo_both = undo_both,
	.sample = { sample_src, sample_want, sizeof(sample_src), 2, 2 },
};
