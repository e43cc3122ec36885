/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mutate.c - see mutate.h. Places are those of docs/formats/b2frame.md and
 * docs/formats/chunk.md; nothing of lib/ is used but loads, stores and sums, so
 * that a mistake there is none here.
 */
#include "mutate.h"

#include "mend.h"

#include "base/bytes.h"

#include <stdbool.h>
#include <string.h>

#define FRAME_MIN ((size_t)0x57)
#define CHUNK_MIN ((size_t)16)
#define CHUNK_LONG ((size_t)32)
#define MAX_CHUNKS 256

/* One number in a file. */
struct place {
	size_t at;
	unsigned width;
	bool big;
};

struct bytes {
	uint8_t *p;
	size_t len;
	uint64_t state;
};

static uint64_t draw(struct bytes *b)
{
	uint64_t z = b->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static size_t draw_below(struct bytes *b, size_t n)
{
	return n ? (size_t)(draw(b) % n) : 0;
}

static uint64_t get(const struct bytes *b, const struct place *place)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < place->width; i++) {
		unsigned k = place->big ? i : place->width - 1 - i;

		v = v << 8 | b->p[place->at + k];
	}
	return v;
}

static void put(struct bytes *b, const struct place *place, uint64_t v)
{
	if (place->at > b->len || place->width > b->len - place->at)
		return;
	for (unsigned i = 0; i < place->width; i++) {
		unsigned k = place->big ? place->width - 1 - i : i;

		b->p[place->at + k] = (uint8_t)(v >> 8 * i);
	}
}

/* Another value: near the old one, at an edge, a length that is there, a
 * special entry of an index, or anything. */
static uint64_t draw_value(struct bytes *b, uint64_t old)
{
	static const uint64_t edges[] = {
		0, 1, 2, 4, 15, 16, 31, 32, 127, 128, 255, 0x7fff, 0x10000,
		0x7fffffdf, 0x7fffffef, 0x7fffffff, 0x80000000, 0xffffffff,
		INT64_MAX, UINT64_C(1) << 63, UINT64_MAX,
		UINT64_C(0x81) << 56, UINT64_C(0x82) << 56,
		UINT64_C(0x84) << 56,
	};

	switch (draw_below(b, 7)) {
	case 0:
		return old + 1 + draw_below(b, 8);
	case 1:
		return old - 1 - draw_below(b, 8);
	case 2:
		return draw_below(b, b->len + 1);
	case 3:
		return old ^ UINT64_C(1) << draw_below(b, 64);
	case 4:
		return draw(b) >> draw_below(b, 64);
	case 5:
		return old << 1;
	default:
		return edges[draw_below(b, BFS_ARRAY_LEN(edges))];
	}
}

static void change(struct bytes *b, size_t at, unsigned width, bool big)
{
	struct place place = { at, width, big };

	if (at <= b->len && width <= b->len - at)
		put(b, &place, draw_value(b, get(b, &place)));
}

/* ---- chunks ---------------------------------------------------------- */

static bool is_chunk(const struct bytes *b, size_t at)
{
	uint32_t cbytes;

	if (at > b->len || b->len - at < CHUNK_MIN)
		return false;
	cbytes = bfs_le32(b->p + at + 12);
	return b->p[at] >= 1 && b->p[at] <= 6 && b->p[at + 1] <= 2 &&
	       cbytes >= CHUNK_MIN && cbytes <= b->len - at;
}

static size_t tables_of(const struct bytes *b, size_t at)
{
	return at + ((b->p[at + 2] & 5) == 5 ? CHUNK_LONG : CHUNK_MIN);
}

static size_t n_blocks_of(const struct bytes *b, size_t at)
{
	uint32_t nbytes = bfs_le32(b->p + at + 4);
	uint32_t blocksize = bfs_le32(b->p + at + 8);

	if (!blocksize || nbytes > INT32_MAX)
		return 0;
	return (size_t)bfs_min(nbytes / blocksize + !!(nbytes % blocksize),
			       bfs_le32(b->p + at + 12) / 4);
}

static void change_header(struct bytes *b, size_t at)
{
	static const struct place fields[] = {
		{ 0, 1, false }, { 2, 1, false }, { 3, 1, false },
		{ 4, 4, false }, { 8, 4, false }, { 12, 4, false },
		{ 16, 1, false }, { 17, 1, false }, { 20, 1, false },
		{ 21, 1, false }, { 22, 1, false }, { 23, 1, false },
		{ 24, 1, false }, { 28, 1, false }, { 29, 1, false },
		{ 30, 1, false }, { 31, 1, false },
	};
	const struct place *f = &fields[draw_below(b, BFS_ARRAY_LEN(fields))];
	size_t place = at + f->at;

	if (f->at < 16 && draw(b) & 1) {
		change(b, place, f->width, false);
	} else if (f->at == 2 && place < b->len) {
		/* A codec and a kind that are there. */
		b->p[place] = (uint8_t)(draw_below(b, 7) << 5 |
					(draw(b) & 0x1f));
	} else if (f->at >= 16 && f->at < 22 && place < b->len) {
		b->p[place] = (uint8_t)draw_below(b, 8);
	} else {
		change(b, place, f->width, false);
	}
}

/* An entry of bstarts, two of them swapped, or the length of a stream. */
static void change_start(struct bytes *b, size_t at)
{
	size_t tables = tables_of(b, at), n = n_blocks_of(b, at);
	struct place one = { tables + 4 * draw_below(b, n), 4, false };
	struct place two = { tables + 4 * draw_below(b, n), 4, false };
	uint64_t v;

	if (!n || one.at + 4 > b->len || two.at + 4 > b->len)
		return;
	v = get(b, &one);
	switch (draw_below(b, 4)) {
	case 0:
		put(b, &one, get(b, &two));
		put(b, &two, v);
		break;
	case 1:
		put(b, &one, draw_value(b, v));
		break;
	default:
		if (v < b->len - at)
			change(b, at + (size_t)v, 4, false);
	}
}

/* Bytes behind the tables, as many as before. */
static void change_streams(struct bytes *b, size_t at)
{
	size_t begin = tables_of(b, at) + 4 * n_blocks_of(b, at), n;
	size_t end = at + (size_t)bfs_min(bfs_le32(b->p + at + 12),
					  b->len - at);

	if (begin >= end)
		return;
	begin += draw_below(b, end - begin);
	n = 1 + draw_below(b, (size_t)bfs_min(end - begin, 64));
	n = n > end - begin ? end - begin : n;
	if (draw(b) & 1)
		LLVMFuzzerMutate(b->p + begin, n, n);
	else
		change(b, begin, 1, false);
}

static void change_chunk(struct bytes *b, size_t at)
{
	if (!is_chunk(b, at))
		return;
	switch (draw_below(b, 4)) {
	case 0:
		change_header(b, at);
		break;
	case 1:
		change_start(b, at);
		break;
	default:
		change_streams(b, at);
	}
}

/* ---- frames ---------------------------------------------------------- */

static bool is_frame(const struct bytes *b)
{
	return b->len >= FRAME_MIN &&
	       memcmp(b->p + 1, "\xa8" "b2frame", 9) == 0;
}

static const struct place header_len = { 0x0b, 4, true };
static const struct place frame_len = { 0x10, 8, true };
static const struct place cbytes = { 0x27, 8, true };

static void change_frame_header(struct bytes *b)
{
	static const struct place fields[] = {
		{ 0x0b, 4, true }, { 0x10, 8, true }, { 0x19, 1, true },
		{ 0x1a, 1, true }, { 0x1b, 1, true }, { 0x1e, 8, true },
		{ 0x27, 8, true }, { 0x30, 4, true }, { 0x35, 4, true },
		{ 0x3a, 4, true }, { 0x44, 1, true }, { 0x46, 1, true },
		{ 0x47, 1, true }, { 0x4d, 1, true }, { 0x4e, 1, true },
		{ 0x55, 1, true },
	};
	const struct place *f = &fields[draw_below(b, BFS_ARRAY_LEN(fields))];

	change(b, f->at, f->width, f->big);
}

/* Metalayers: markers, lengths, places, and what they hold. */
static void change_metas(struct bytes *b, size_t begin, size_t end)
{
	static const unsigned widths[] = { 1, 1, 2, 4, 8 };
	size_t n;

	end = (size_t)bfs_min(end, b->len);
	if (begin >= end)
		return;
	begin += draw_below(b, end - begin);
	n = (size_t)bfs_min(end - begin, 32);
	if (draw_below(b, 3) == 0)
		LLVMFuzzerMutate(b->p + begin, n, n);
	else
		change(b, begin, widths[draw_below(b, 5)], true);
}

static size_t find_index(const struct bytes *b)
{
	uint64_t at = get(b, &header_len) + get(b, &cbytes);

	return at < b->len ? (size_t)at : b->len;
}

/* The index is mostly a chunk that stores its entries as they are, or could:
 * any of its bytes may be an entry's. */
static void change_index(struct bytes *b)
{
	size_t at = find_index(b), begin, n;

	if (!is_chunk(b, at))
		return;
	begin = tables_of(b, at);
	n = at + bfs_le32(b->p + at + 12);
	if (draw_below(b, 3) == 0 || begin >= n)
		change_chunk(b, at);
	else
		change(b, begin + draw_below(b, (n - begin) / 8 + 1) * 8, 8,
		       false);
}

/* One of the chunks, found as they follow one another. */
static void change_some_chunk(struct bytes *b)
{
	size_t starts[MAX_CHUNKS], n = 0, at, end = find_index(b);

	for (at = (size_t)bfs_min(get(b, &header_len), b->len);
	     at < end && n < MAX_CHUNKS;) {
		if (!is_chunk(b, at)) {
			at++;
			continue;
		}
		starts[n++] = at;
		at += bfs_le32(b->p + at + 12);
	}
	if (n)
		change_chunk(b, starts[draw_below(b, n)]);
}

static void change_trailer(struct bytes *b)
{
	struct place len = { b->len >= 22 ? b->len - 22 : 0, 4, true };
	size_t trailer = b->len > 23 ? (size_t)get(b, &len) : 0;

	if (draw_below(b, 4) == 0)
		change(b, len.at, 4, true);
	else if (trailer && trailer <= b->len)
		change_metas(b, b->len - trailer, b->len);
}

static void change_frame(struct bytes *b)
{
	switch (draw_below(b, 8)) {
	case 0:
		change_frame_header(b);
		break;
	case 1:
		change_metas(b, FRAME_MIN, (size_t)bfs_min(
				     get(b, &header_len), b->len));
		break;
	case 2:
		change_trailer(b);
		break;
	case 3:
	case 4:
		change_index(b);
		break;
	default:
		change_some_chunk(b);
	}
}

/* ---- whole files ----------------------------------------------------- */

static void change_any(struct bytes *b)
{
	static const unsigned widths[] = { 1, 2, 4, 8 };

	if (is_frame(b))
		change_frame(b);
	else if (is_chunk(b, 0))
		change_chunk(b, 0);
	else if (draw(b) & 1)
		LLVMFuzzerMutate(b->p, b->len, b->len);
	else
		change(b, draw_below(b, draw(b) & 1 ? b->len :
				     (size_t)bfs_min(b->len, 128)),
		       widths[draw_below(b, 4)], draw(b) & 1);
}

/* What only says how long the whole is. */
static void set_right(struct bytes *b)
{
	if (is_frame(b)) {
		b->p[0] = 0x9e;
		put(b, &frame_len, b->len);
	} else if (b->len >= CHUNK_MIN && is_chunk(b, 0)) {
		put(b, &(struct place){ 12, 4, false }, b->len);
	}
}

void mutate_in_place(uint8_t *data, size_t len, unsigned seed)
{
	struct bytes b = { data, len, seed };

	for (size_t n = 1 + draw_below(&b, 3); n > 0 && len; n--)
		change_any(&b);
}

size_t mutate_file(uint8_t *data, size_t len, size_t keep, size_t max,
		   unsigned seed)
{
	struct bytes b = { data + keep, len - keep, seed };

	if (len <= keep || draw_below(&b, 6) == 0) {
		len = LLVMFuzzerMutate(data, len, max);
		if (len <= keep)
			return len;
		b.len = len - keep;
	} else {
		for (size_t n = 1 + draw_below(&b, 3); n > 0; n--)
			change_any(&b);
	}
	if (draw_below(&b, 8)) {
		set_right(&b);
		mend_sums(b.p, b.len);
	}
	return keep + b.len;
}
