/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blosclz.c - decodes BloscLZ, the byte-wise LZ77 code of Blosc's own.
 *
 * In: one stream; out: exactly dst_len bytes. Tokens: a control byte below 32
 * is a run of that many literals plus one; any other is a match whose length
 * is in the top three bits (7: more bytes follow) and whose distance is in the
 * low five and the next byte (all ones: two more bytes follow).
 *
 * There are two decoders of a token. step() checks each byte and copies not
 * one byte too many; it is the specification, and does the ends of both
 * buffers and whatever is rare. run_fast() does the plain tokens that lie at
 * least a whole copy away from both ends: it reads up to WIDE bytes behind a
 * literal run and writes up to WIDE bytes of garbage behind what a token
 * yields, always inside the buffers, always overwritten by what follows.
 */
#include "codec/codec.h"

#include "base/bytes.h"
#include "base/cpu.h"

#ifdef BFS_X86
#include <immintrin.h>
#endif

#define WIDE 32			/* bytes of one unguarded copy */
#define MAX_LITERALS 32
#define LONG_MATCH 9		/* length from which extensions count */
#define MAX_NEAR 8192		/* the first distance that is far */

/* Both buffers and how far we are in each. */
struct lz {
	const uint8_t *ip;
	const uint8_t *ie;
	const uint8_t *dst;
	uint8_t *op;
	uint8_t *oe;
};

/* Copies a pattern that ends at op and has a period below WIDE, so that it
 * repeats. May write WIDE - 1 bytes more than len. */
typedef void repeat_fn(uint8_t *op, size_t dist, size_t len);

static inline void copy_8(uint8_t *dst, const uint8_t *src)
{
	memcpy(dst, src, 8);
}

static inline void copy_16(uint8_t *dst, const uint8_t *src)
{
	memcpy(dst, src, 16);
}

/* As a vector, not by memcpy: gcc would make two copies of 16 of that, also
 * where one of 32 is allowed, and a load of what two stores wrote stalls. */
static inline void copy_32(uint8_t *dst, const uint8_t *src)
{
	typedef uint8_t vec __attribute__((vector_size(32), aligned(1),
					   may_alias));

	*(vec *)dst = *(const vec *)src;
}

/* The input is used up so slowly that CPUs may stop fetching it ahead. It
 * does not matter if there is none. */
static inline void prefetch_ahead(const uint8_t *ip)
{
	__builtin_prefetch((const void *)((uintptr_t)ip + 256));
}

static inline uint64_t swap_if_big(uint64_t x)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap64(x);
#else
	return x;
#endif
}

/* Eight bytes of the pattern that ends at op: its first dist bytes, cut out
 * and, by one multiplication, put side by side. */
static inline uint64_t spread_8(const uint8_t *op, size_t dist)
{
	static const struct {
		uint64_t mask, times;
	} by_dist[9] = {
		[1] = { 0xff, 0x0101010101010101 },
		[2] = { 0xffff, 0x0001000100010001 },
		[3] = { 0xffffff, 0x0001000001000001 },
		[4] = { 0xffffffff, 0x0000000100000001 },
		[5] = { 0xffffffffff, 0x0000010000000001 },
		[6] = { 0xffffffffffff, 0x0001000000000001 },
		[7] = { 0xffffffffffffff, 0x0100000000000001 },
		[8] = { UINT64_MAX, 1 },
	};
	size_t i = dist < 8 ? dist : 8;
	uint64_t x;

	memcpy(&x, op - dist, 8);
	x = swap_if_big(x) & by_dist[i].mask;
	return swap_if_big(x * by_dist[i].times);
}

static void repeat_scalar(uint8_t *op, size_t dist, size_t len)
{
	uint8_t *const end = op + len;

	if (dist == 1) {
		memset(op, op[-1], len);
	} else if (dist < 8) {
		uint64_t x = spread_8(op, dist);
		size_t step = 8 - 8 % dist;

		for (; op < end; op += step)
			memcpy(op, &x, 8);
	} else if (dist < 16) {
		for (; op < end; op += 8)
			copy_8(op, op - dist);
	} else {
		for (; op < end; op += 16)
			copy_16(op, op - dist);
	}
}

#ifdef BFS_X86
/* One row a period: which byte of the pattern each byte of a vector takes. */
#define FOUR(d, i) (i) % (d), ((i) + 1) % (d), ((i) + 2) % (d), ((i) + 3) % (d)
#define ROW(d) [d] = { FOUR(d, 0), FOUR(d, 4), FOUR(d, 8), FOUR(d, 12), \
		       FOUR(d, 16), FOUR(d, 20), FOUR(d, 24), FOUR(d, 28) }
static const uint8_t pattern[17][WIDE] = {
	ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7), ROW(8),
	ROW(9), ROW(10), ROW(11), ROW(12), ROW(13), ROW(14), ROW(15), ROW(16),
};
#undef ROW
#undef FOUR

/* The pattern is built once and only stored from then on: to load what was
 * stored a moment ago at another offset would stall. */
BFS_TARGET("avx2") static void repeat_avx2(uint8_t *op, size_t dist, size_t len)
{
	uint8_t *const end = op + len;
	size_t step = WIDE - WIDE % dist;
	__m256i x;

	if (dist <= 16) {
		x = _mm256_broadcastsi128_si256(
			_mm_loadu_si128((const void *)(op - dist)));
		x = _mm256_shuffle_epi8(
			x, _mm256_loadu_si256((const void *)pattern[dist]));
	} else {
		x = _mm256_loadu_si256((const void *)(op - dist));
	}
	for (; op < end; op += step)
		_mm256_storeu_si256((void *)op, x);
}
#endif

/* Copies a match and not one byte more. The pattern doubles each time, so a
 * long match becomes a few big copies. */
static void copy_exact(uint8_t *op, size_t dist, size_t len)
{
	const uint8_t *const from = op - dist;

	while (len > 0) {
		size_t n = dist < len ? dist : len;

		memcpy(op, from, n);
		op += n;
		len -= n;
		dist *= 2;
	}
}

static enum bfs_err step_literals(struct lz *s, size_t n)
{
	BFS_NEED(n <= (size_t)(s->ie - s->ip));
	BFS_NEED(n <= (size_t)(s->oe - s->op));
	memcpy(s->op, s->ip, n);
	s->op += n;
	s->ip += n;
	return BFS_OK;
}

/* Adds up extension bytes. The sum never passes the room by more than one
 * byte's worth, so no number of them overflows it. */
static enum bfs_err read_extension(struct lz *s, size_t room, size_t *ret_len)
{
	size_t len = LONG_MATCH;
	unsigned byte;

	do {
		BFS_NEED(s->ip < s->ie);
		byte = *s->ip++;
		len += byte;
		BFS_NEED(len <= room);
	} while (byte == 255);
	*ret_len = len;
	return BFS_OK;
}

static enum bfs_err read_distance(struct lz *s, unsigned control,
				  size_t *ret_dist)
{
	size_t dist;

	BFS_NEED(s->ip < s->ie);
	dist = (size_t)(control & 31) << 8 | *s->ip++;
	if (dist == MAX_NEAR - 1) {
		BFS_NEED(s->ie - s->ip >= 2);
		dist += bfs_be16(s->ip);
		s->ip += 2;
	}
	*ret_dist = dist + 1;
	return BFS_OK;
}

static enum bfs_err step_match(struct lz *s, unsigned control)
{
	size_t room = (size_t)(s->oe - s->op);
	size_t len = (control >> 5) + 2;
	size_t dist = 0;

	if (len == LONG_MATCH)
		BFS_TRY(read_extension(s, room, &len));
	BFS_TRY(read_distance(s, control, &dist));
	BFS_NEED(len <= room);
	BFS_NEED(dist <= (size_t)(s->op - s->dst));
	copy_exact(s->op, dist, len);
	s->op += len;
	return BFS_OK;
}

/* One token, with every check; there is at least one byte of input. */
static enum bfs_err step(struct lz *s)
{
	unsigned control = *s->ip++;

	if (control < MAX_LITERALS)
		return step_literals(s, control + 1);
	return step_match(s, control);
}

/* Copies a match with WIDE bytes to spare behind it. */
static inline void copy_match(uint8_t *op, size_t dist, size_t len,
			      repeat_fn *repeat)
{
	uint8_t *const end = op + len;

	if (dist < WIDE) {
		repeat(op, dist, len);
		return;
	}
	do {
		copy_32(op, op - dist);
		op += WIDE;
	} while (op < end);
}

/*
 * Plain tokens far from both ends, until there is one that is neither; that
 * one is left to step(), and may be wrong. The longest token is a literal run
 * (1 + 32 bytes), so one check of the input serves each token whole; the same
 * goes for the output and all tokens but long matches.
 */
static inline __attribute__((always_inline)) void
run_fast(struct lz *s, repeat_fn *repeat)
{
	const uint8_t *const dst = s->dst, *const ie = s->ie;
	uint8_t *const oe = s->oe;
	const uint8_t *ip = s->ip;
	uint8_t *op = s->op;

	while (ie - ip > MAX_LITERALS && oe - op >= WIDE) {
		unsigned control = *ip;
		const uint8_t *next = ip + 1;
		size_t len = (control >> 5) + 2, dist;

		if (control < MAX_LITERALS) {
			copy_32(op, next);
			op += control + 1;
			ip = next + control + 1;
			prefetch_ahead(ip);
			continue;
		}
		if (len == LONG_MATCH) {
			len += *next;
			if (BFS_UNLIKELY(*next++ == 255 ||
					 (size_t)(oe - op) < len + WIDE))
				break;
		}
		dist = ((size_t)(control & 31) << 8 | *next++) + 1;
		if (BFS_UNLIKELY(dist == MAX_NEAR)) {
			dist += bfs_be16(next);
			next += 2;
		}
		if (BFS_UNLIKELY(dist > (size_t)(op - dst)))
			break;
		if (len < LONG_MATCH) {
			uint64_t x = spread_8(op, dist);

			memcpy(op, &x, 8);
		} else {
			copy_match(op, dist, len, repeat);
		}
		op += len;
		ip = next;
	}
	s->ip = ip;
	s->op = op;
}

static inline __attribute__((always_inline)) enum bfs_err
run(const struct bfs_codec_job *job, repeat_fn *repeat)
{
	struct lz s = {
		.ip = job->src,
		.ie = job->src + job->src_len,
		.dst = job->dst,
		.op = job->dst,
		.oe = job->dst + job->dst_len,
	};

	BFS_NEED(job->src_len > 0);
	/* The first control byte carries a mark in its top bits. */
	BFS_TRY(step_literals(&s, (*s.ip++ & 31u) + 1));
	while (s.ip < s.ie) {
		run_fast(&s, repeat);
		if (s.ip < s.ie)
			BFS_TRY(step(&s));
	}
	BFS_NEED(s.op == s.oe);
	return BFS_OK;
}

static enum bfs_err run_scalar(const struct bfs_codec_job *job)
{
	return run(job, repeat_scalar);
}

#ifdef BFS_X86
BFS_TARGET("avx2") static enum bfs_err
run_avx2(const struct bfs_codec_job *job)
{
	return run(job, repeat_avx2);
}
#endif

static enum bfs_err decode(const struct bfs_codec_job *job, void *state)
{
	(void)state;
#ifdef BFS_X86
	if (bfs_cpu_allows(bfs_cpu_level(), BFS_CPU_AVX2))
		return run_avx2(job);
#endif
	return run_scalar(job);
}

/* Literals, a match of short period with an extension byte, a short match. */
static const uint8_t sample_src[] = {
	0x23, 'b', 'l', 'u', 'e', 0xe0, 0x07, 0x03, 0x01, '-', '>',
	0x60, 0x15, 0x00, '.',
};
static const uint8_t sample_want[] = "blueblueblueblueblue->blueb.";

const struct bfs_codec bfs_codec_blosclz = {
	.name = "blosclz",
	.format = 0,
	.id = 0,
	.decode = decode,
	.sample = {
		.src = sample_src,
		.src_len = sizeof(sample_src),
		.want = sample_want,
		.want_len = sizeof(sample_want) - 1,
	},
};
