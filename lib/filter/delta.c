/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * delta.c - undoing DELTA: XOR with the chunk's first block, or, where a
 * block is its own reference, with what came one element before.
 *
 * An element is 1, 2, 4 or 8 bytes wide, by the chunk's typesize. Bytes
 * behind the last whole element were never filtered and are copied.
 */
#include "filter/filter.h"

#include "filter/delta_neon.h"

#include <string.h>

#ifdef BFS_X86
#include <immintrin.h>
#endif

static enum bfs_err check(const struct bfs_filter_job *job,
			  struct bfs_diag *diag)
{
	if (job->typesize == 0)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"delta of elements of 0 bytes");
	return BFS_OK;
}

static unsigned element_len(uint32_t typesize)
{
	switch (typesize) {
	case 1:
	case 2:
	case 4:
	case 8:
		return (unsigned)typesize;
	default:
		return typesize % 8 == 0 ? 8 : 1;
	}
}

/* XOR with ref from byte i on. */
static void mix_from(size_t i, const uint8_t *src, size_t len, uint8_t *dst,
		     const uint8_t *ref)
{
	for (; i < len; i++)
		dst[i] = src[i] ^ ref[i];
}

/* XOR with the byte g before, from byte i on; the first g stay. */
static void run_from(size_t i, const uint8_t *src, size_t len, uint8_t *dst,
		     unsigned g)
{
	for (; i < len && i < g; i++)
		dst[i] = src[i];
	for (; i < len; i++)
		dst[i] = src[i] ^ dst[i - g];
}

static void mix_scalar(const uint8_t *src, size_t len, uint8_t *dst,
		       const uint8_t *ref)
{
	mix_from(0, src, len, dst, ref);
}

static void run_scalar(const uint8_t *src, size_t len, uint8_t *dst,
		       unsigned g)
{
	run_from(0, src, len, dst, g);
}

struct kernel {
	void (*mix)(const uint8_t *src, size_t len, uint8_t *dst,
		    const uint8_t *ref);
	void (*run)(const uint8_t *src, size_t len, uint8_t *dst, unsigned g);
};

static void undo_with(const struct bfs_filter_job *job,
		      const struct kernel *kernel)
{
	const unsigned g = element_len(job->typesize);
	const size_t len = job->len - job->len % g;

	if (job->ref)
		kernel->mix(job->src, len, job->dst, job->ref);
	else
		kernel->run(job->src, len, job->dst, g);
	if (job->len > len && job->dst != job->src)
		memcpy(job->dst + len, job->src + len, job->len - len);
}

static void undo_scalar(const struct bfs_filter_job *job)
{
	static const struct kernel kernel = { mix_scalar, run_scalar };

	undo_with(job, &kernel);
}

#ifdef BFS_ARM64

static void mix_neon(const uint8_t *src, size_t len, uint8_t *dst,
		     const uint8_t *ref)
{
	mix_from(xor_ref_neon(src, len, dst, ref), src, len, dst, ref);
}

static void run_neon(const uint8_t *src, size_t len, uint8_t *dst, unsigned g)
{
	run_from(xor_neon(src, len, dst, g), src, len, dst, g);
}

static void undo_neon(const struct bfs_filter_job *job)
{
	static const struct kernel kernel = { mix_neon, run_neon };

	undo_with(job, &kernel);
}

#endif

#ifdef BFS_X86

#define INLINE static inline __attribute__((always_inline))

BFS_TARGET("sse2")
static void mix_sse2(const uint8_t *src, size_t len, uint8_t *dst,
		     const uint8_t *ref)
{
	size_t i = 0;

	for (; i + 16 <= len; i += 16)
		_mm_storeu_si128((void *)(dst + i), _mm_xor_si128(
			_mm_loadu_si128((const void *)(src + i)),
			_mm_loadu_si128((const void *)(ref + i))));
	mix_from(i, src, len, dst, ref);
}

/* The last element of g bytes, everywhere. */
BFS_TARGET("sse2")
INLINE __m128i spread_sse2(__m128i x, unsigned g)
{
	if (g == 1)
		x = _mm_unpackhi_epi8(x, x);
	if (g <= 2)
		x = _mm_shufflehi_epi16(x, 0xff);
	if (g == 4)
		x = _mm_shuffle_epi32(x, 0xff);
	return _mm_unpackhi_epi64(x, x);
}

/*
 * A running XOR inside the vector, by XOR with itself shifted by 1, 2, 4 ...
 * elements. `carry` holds the last element before the vector in every
 * element; only one XOR on it depends on the vector before.
 */
BFS_TARGET("sse2")
INLINE void run_with_sse2(const uint8_t *src, size_t len, uint8_t *dst,
			  unsigned g)
{
	__m128i carry = _mm_setzero_si128();
	size_t i = 0;

	for (; i + 16 <= len; i += 16) {
		__m128i x = _mm_loadu_si128((const void *)(src + i));

		if (g == 1)
			x = _mm_xor_si128(x, _mm_slli_si128(x, 1));
		if (g <= 2)
			x = _mm_xor_si128(x, _mm_slli_si128(x, 2));
		if (g <= 4)
			x = _mm_xor_si128(x, _mm_slli_si128(x, 4));
		x = _mm_xor_si128(x, _mm_slli_si128(x, 8));
		_mm_storeu_si128((void *)(dst + i), _mm_xor_si128(x, carry));
		carry = _mm_xor_si128(carry, spread_sse2(x, g));
	}
	run_from(i, src, len, dst, g);
}

BFS_TARGET("sse2")
static void run_sse2(const uint8_t *src, size_t len, uint8_t *dst, unsigned g)
{
	switch (g) {
	case 1:
		run_with_sse2(src, len, dst, 1);
		break;
	case 2:
		run_with_sse2(src, len, dst, 2);
		break;
	case 4:
		run_with_sse2(src, len, dst, 4);
		break;
	default:
		run_with_sse2(src, len, dst, 8);
	}
}

static void undo_sse2(const struct bfs_filter_job *job)
{
	static const struct kernel kernel = { mix_sse2, run_sse2 };

	undo_with(job, &kernel);
}

BFS_TARGET("avx2")
static void mix_avx2(const uint8_t *src, size_t len, uint8_t *dst,
		     const uint8_t *ref)
{
	size_t i = 0;

	for (; i + 32 <= len; i += 32)
		_mm256_storeu_si256((void *)(dst + i), _mm256_xor_si256(
			_mm256_loadu_si256((const void *)(src + i)),
			_mm256_loadu_si256((const void *)(ref + i))));
	mix_from(i, src, len, dst, ref);
}

/* The last element of g bytes of each lane, everywhere in it. */
BFS_TARGET("avx2")
INLINE __m256i spread_avx2(__m256i x, unsigned g)
{
	switch (g) {
	case 1:
		return _mm256_shuffle_epi8(x, _mm256_set1_epi8(15));
	case 2:
		return _mm256_shuffle_epi8(x, _mm256_set1_epi16(0x0f0e));
	case 4:
		return _mm256_shuffle_epi32(x, 0xff);
	default:
		return _mm256_unpackhi_epi64(x, x);
	}
}

BFS_TARGET("avx2")
INLINE void run_with_avx2(const uint8_t *src, size_t len, uint8_t *dst,
			  unsigned g)
{
	__m256i carry = _mm256_setzero_si256();
	size_t i = 0;

	for (; i + 32 <= len; i += 32) {
		__m256i x = _mm256_loadu_si256((const void *)(src + i)), all;

		if (g == 1)
			x = _mm256_xor_si256(x, _mm256_slli_si256(x, 1));
		if (g <= 2)
			x = _mm256_xor_si256(x, _mm256_slli_si256(x, 2));
		if (g <= 4)
			x = _mm256_xor_si256(x, _mm256_slli_si256(x, 4));
		x = _mm256_xor_si256(x, _mm256_slli_si256(x, 8));
		all = spread_avx2(x, g);
		/* The low lane's goes to the high lane, then both. */
		x = _mm256_xor_si256(x,
				     _mm256_permute2x128_si256(all, all, 8));
		all = _mm256_xor_si256(all,
				       _mm256_permute2x128_si256(all, all, 1));
		_mm256_storeu_si256((void *)(dst + i),
				    _mm256_xor_si256(x, carry));
		carry = _mm256_xor_si256(carry, all);
	}
	run_from(i, src, len, dst, g);
}

BFS_TARGET("avx2")
static void run_avx2(const uint8_t *src, size_t len, uint8_t *dst, unsigned g)
{
	switch (g) {
	case 1:
		run_with_avx2(src, len, dst, 1);
		break;
	case 2:
		run_with_avx2(src, len, dst, 2);
		break;
	case 4:
		run_with_avx2(src, len, dst, 4);
		break;
	default:
		run_with_avx2(src, len, dst, 8);
	}
}

static void undo_avx2(const struct bfs_filter_job *job)
{
	static const struct kernel kernel = { mix_avx2, run_avx2 };

	undo_with(job, &kernel);
}

#endif

/* int32 0x01000000, ...05, ...0a, ...0f, its own reference; and one byte. */
static const uint8_t sample_src[] = {
	0x00, 0x00, 0x00, 0x01, 0x05, 0x00, 0x00, 0x00, 0x0f, 0x00, 0x00,
	0x00, 0x05, 0x00, 0x00, 0x00, 0xee,
};
static const uint8_t sample_want[] = {
	0x00, 0x00, 0x00, 0x01, 0x05, 0x00, 0x00, 0x01, 0x0a, 0x00, 0x00,
	0x01, 0x0f, 0x00, 0x00, 0x01, 0xee,
};

const struct bfs_filter bfs_filter_delta = {
	.name = "delta",
	.id = 3,
	.needs_ref = true,
	.in_place = true,
	.check = check,
	.undo = {
		[BFS_CPU_SCALAR] = undo_scalar,
#ifdef BFS_X86
		[BFS_CPU_SSE2] = undo_sse2,
		[BFS_CPU_AVX2] = undo_avx2,
#endif
#ifdef BFS_ARM64
		[BFS_CPU_NEON] = undo_neon,
#endif
	},
	.sample = { sample_src, sample_want, sizeof(sample_src), 4, 0 },
};
