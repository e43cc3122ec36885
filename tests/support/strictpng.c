/* SPDX-License-Identifier: BSD-3-Clause */
/* strictpng.c - see strictpng.h. */
#include "support/strictpng.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MOST_SIDE 65536

struct reading {
	const uint8_t *p;
	size_t left;
	const char *why;
};

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

/* The data of the next chunk, which must be of that type; NULL: it is not. */
static const uint8_t *take(struct reading *r, const char *type,
			   size_t *ret_len)
{
	const uint8_t *data;
	size_t len;

	r->why = "a chunk is cut off";
	if (r->left < 12)
		return NULL;
	data = r->p + 8;
	len = be32(r->p);
	if (len > r->left - 12)
		return NULL;
	r->why = "another chunk than was expected";
	if (memcmp(r->p + 4, type, 4) != 0)
		return NULL;
	r->why = "the CRC of a chunk";
	if (be32(data + len) != crc32(0, r->p + 4, (uInt)len + 4))
		return NULL;
	r->why = NULL;
	r->p += len + 12;
	r->left -= len + 12;
	*ret_len = len;
	return data;
}

/* Lines behind their filters, in place; what is wrong with them. */
static const char *take_lines(uint8_t *lines, size_t row, size_t height)
{
	for (size_t y = 0; y < height; y++) {
		if (lines[y * (row + 1)] != 0)
			return "a line's filter";
		memmove(lines + y * row, lines + y * (row + 1) + 1, row);
	}
	return NULL;
}

static const char *inflate_lines(const uint8_t *data, size_t len, size_t row,
				 size_t height, uint8_t **ret_lines)
{
	/* One byte more than there may be. */
	size_t want = height * (row + 1);
	uint8_t *lines = malloc(want + 1);
	uLongf got = want + 1;
	uLong used = len;
	const char *why = NULL;

	if (!lines)
		return "no memory";
	if (uncompress2(lines, &got, data, &used) != Z_OK)
		why = "the stream";
	else if (used != len || got != want)
		why = "the stream's length";
	else
		why = take_lines(lines, row, height);
	if (why)
		free(lines);
	else
		*ret_lines = lines;
	return why;
}

const char *strict_png(const uint8_t *bytes, size_t len, uint8_t **ret_pixels,
		       size_t *ret_len)
{
	struct reading r = { NULL, 0, NULL };
	const uint8_t *head, *data;
	size_t n, width, height;
	uint8_t *lines = NULL;
	bool is_rgb;

	if (len < 8 || memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) != 0)
		return "no PNG";
	r.p = bytes + 8;
	r.left = len - 8;
	head = take(&r, "IHDR", &n);
	if (!head || n != 13)
		return r.why ? r.why : "its head";
	width = be32(head);
	height = be32(head + 4);
	is_rgb = head[9] == 2;
	if (!width || !height || width > MOST_SIDE || height > MOST_SIDE ||
	    head[8] != 8 || (head[9] != 3 && !is_rgb) || head[10] || head[11] ||
	    head[12])
		return "its head";
	if (!is_rgb && (!take(&r, "PLTE", &n) || n != 768))
		return r.why ? r.why : "its palette";
	if (!is_rgb && (!take(&r, "tRNS", &n) || n != 256))
		return r.why ? r.why : "its palette";
	data = take(&r, "IDAT", &n);
	if (!data)
		return r.why;
	width *= is_rgb ? 3 : 1;
	r.why = inflate_lines(data, n, width, height, &lines);
	if (r.why)
		return r.why;
	if (!take(&r, "IEND", &n) || n || r.left) {
		free(lines);
		return "its end";
	}
	if (ret_pixels) {
		*ret_pixels = lines;
		*ret_len = width * height;
	} else {
		free(lines);
	}
	return NULL;
}
