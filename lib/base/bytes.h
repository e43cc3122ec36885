/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bytes.h - reading numbers that nobody has checked yet: unaligned loads, a
 * bounded cursor, and arithmetic that says when it overflows.
 *
 * Nothing in a Blosc file is aligned, so all loads go through memcpy.
 */
#ifndef BFS_BASE_BYTES_H
#define BFS_BASE_BYTES_H

#include "base/assert.h"
#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t bfs_le16(const void *p)
{
	const uint8_t *b = p;

	return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t bfs_le32(const void *p)
{
	const uint8_t *b = p;

	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
	       (uint32_t)b[3] << 24;
}

static inline uint64_t bfs_le64(const void *p)
{
	const uint8_t *b = p;

	return (uint64_t)bfs_le32(b) | (uint64_t)bfs_le32(b + 4) << 32;
}

static inline uint16_t bfs_be16(const void *p)
{
	const uint8_t *b = p;

	return (uint16_t)(b[0] << 8 | b[1]);
}

static inline uint32_t bfs_be32(const void *p)
{
	const uint8_t *b = p;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 |
	       (uint32_t)b[2] << 8 | (uint32_t)b[3];
}

static inline uint64_t bfs_be64(const void *p)
{
	const uint8_t *b = p;

	return (uint64_t)bfs_be32(b) << 32 | bfs_be32(b + 4);
}

/* Each sets *ret and returns true, or returns false on overflow. */
static inline BFS_MUST_CHECK bool bfs_add(uint64_t a, uint64_t b, uint64_t *ret)
{
	return !__builtin_add_overflow(a, b, ret);
}

static inline BFS_MUST_CHECK bool bfs_mul(uint64_t a, uint64_t b, uint64_t *ret)
{
	return !__builtin_mul_overflow(a, b, ret);
}

/* Whether [off, off + len) lies inside [0, size). */
static inline bool bfs_inside(uint64_t off, uint64_t len, uint64_t size)
{
	return off <= size && len <= size - off;
}

static inline uint64_t bfs_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t bfs_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* a / b rounded up; b must not be 0. */
static inline uint64_t bfs_div_up(uint64_t a, uint64_t b)
{
	BFS_ASSERT(b != 0);
	return a / b + (a % b != 0);
}

/*
 * A cursor over bytes that are already in memory. Every read is bounded; the
 * first one that does not fit sets `failed`, and from then on all reads give
 * zeros, so that a parser may check once at the end of a group.
 */
struct bfs_cursor {
	const uint8_t *base;
	size_t len;
	size_t pos;
	bool failed;
};

static inline struct bfs_cursor bfs_cursor_init(const void *base, size_t len)
{
	struct bfs_cursor c = { (const uint8_t *)base, len, 0, false };

	return c;
}

static inline size_t bfs_cursor_left(const struct bfs_cursor *c)
{
	return c->failed ? 0 : c->len - c->pos;
}

/* The next n bytes, or NULL. */
static inline const uint8_t *bfs_cursor_take(struct bfs_cursor *c, uint64_t n)
{
	const uint8_t *p;

	BFS_ASSERT(c->pos <= c->len);
	if (c->failed || n > c->len - c->pos) {
		c->failed = true;
		return NULL;
	}
	p = c->base + c->pos;
	c->pos += (size_t)n;
	return p;
}

static inline uint8_t bfs_cursor_u8(struct bfs_cursor *c)
{
	const uint8_t *p = bfs_cursor_take(c, 1);

	return p ? *p : 0;
}

static inline uint16_t bfs_cursor_be16(struct bfs_cursor *c)
{
	const uint8_t *p = bfs_cursor_take(c, 2);

	return p ? bfs_be16(p) : 0;
}

static inline uint32_t bfs_cursor_be32(struct bfs_cursor *c)
{
	const uint8_t *p = bfs_cursor_take(c, 4);

	return p ? bfs_be32(p) : 0;
}

static inline uint64_t bfs_cursor_be64(struct bfs_cursor *c)
{
	const uint8_t *p = bfs_cursor_take(c, 8);

	return p ? bfs_be64(p) : 0;
}

static inline uint32_t bfs_cursor_le32(struct bfs_cursor *c)
{
	const uint8_t *p = bfs_cursor_take(c, 4);

	return p ? bfs_le32(p) : 0;
}

/* Takes one byte and fails unless it is `want`. */
static inline void bfs_cursor_expect(struct bfs_cursor *c, uint8_t want)
{
	if (bfs_cursor_u8(c) != want)
		c->failed = true;
}

/* Every bit of x reaches every bit of the result; for hashes of numbers. */
static inline uint64_t bfs_mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* For comparing bytes with what they were; not collision-resistant. */
static inline uint64_t bfs_hash(const void *p, size_t len, uint64_t seed)
{
	const uint8_t *at = p;
	uint64_t h = seed ^ len;

	for (; len >= 8; at += 8, len -= 8)
		h = (h ^ bfs_le64(at) ^ h >> 29) *
		    UINT64_C(0x9e3779b97f4a7c15);
	for (; len > 0; at++, len--)
		h = (h ^ *at) * UINT64_C(0x100000001b3);
	return h ^ h >> 32;
}

#endif
