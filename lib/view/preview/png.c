/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * png.c - a PNG of stored pixels.
 */
#include "view/preview/png.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <string.h>
#include <zlib.h>

#define AROUND 12		/* bytes of a chunk around its data */
#define HEAD_LEN 13		/* bytes of the data of IHDR */
#define STORED_MAX 65535	/* bytes of a stored block */
#define STORED_HEAD 5

static const uint8_t magic[8] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a,
				  '\n' };

static size_t row_len(const struct bfs_png *png)
{
	return (size_t)png->width * (png->is_rgb ? 3 : 1);
}

size_t bfs_png_pixels(const struct bfs_png *png)
{
	return row_len(png) * png->height;
}

/* Each row begins with a byte for its filter, which is 0: none. */
static size_t lines_len(const struct bfs_png *png)
{
	return bfs_png_pixels(png) + png->height;
}

/* Of zlib's stream: its head, blocks, checksum. */
static size_t stream_len(const struct bfs_png *png)
{
	size_t len = lines_len(png);

	return 2 + bfs_div_up(len, STORED_MAX) * STORED_HEAD + len + 4;
}

size_t bfs_png_len(const struct bfs_png *png)
{
	size_t len = sizeof(magic) + AROUND + HEAD_LEN;

	if (!png->is_rgb)
		len += AROUND + 3 * BFS_PNG_COLOURS + AROUND + BFS_PNG_COLOURS;
	return len + AROUND + stream_len(png) + AROUND;
}

static uint8_t *put_u32(uint8_t *at, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(v >> (24 - 8 * i));
	return at + 4;
}

/* Begins a chunk; its data follow. */
static uint8_t *begin(uint8_t *at, const char *type, size_t len)
{
	at = put_u32(at, (uint32_t)len);
	memcpy(at, type, 4);
	return at + 4;
}

/* Ends the chunk of len bytes whose data end at `at`. */
static uint8_t *end(uint8_t *at, size_t len)
{
	uint32_t sum = (uint32_t)crc32_z(crc32_z(0, NULL, 0), at - len - 4,
					 len + 4);

	return put_u32(at, sum);
}

static uint8_t *put_chunk(uint8_t *at, const char *type, const uint8_t *data,
			  size_t len)
{
	at = begin(at, type, len);
	if (len)
		memcpy(at, data, len);
	return end(at + len, len);
}

/* A stored block's head, before `left` bytes of which it takes the first. */
static uint8_t *put_stored(uint8_t *at, size_t left)
{
	uint16_t n = (uint16_t)bfs_min(left, STORED_MAX);

	*at++ = left <= STORED_MAX;	/* the last one */
	*at++ = (uint8_t)n;
	*at++ = (uint8_t)(n >> 8);
	*at++ = (uint8_t)~n;
	*at++ = (uint8_t)(~n >> 8);
	return at;
}

/* Lines are gathered into blocks, which end where they like. */
static uint8_t *put_stream(uint8_t *at, const struct bfs_png *png,
			   const uint8_t *pixels)
{
	size_t left = lines_len(png), room = 0, row = row_len(png);
	uint32_t sum = (uint32_t)adler32_z(0, NULL, 0);

	*at++ = 0x78;
	*at++ = 0x01;
	for (size_t y = 0; y < png->height; y++) {
		for (size_t x = 0; x <= row; x++) {
			if (!room) {
				at = put_stored(at, left);
				room = bfs_min(left, STORED_MAX);
			}
			*at = x ? pixels[y * row + x - 1] : 0;
			sum = (uint32_t)adler32_z(sum, at++, 1);
			room--;
			left--;
		}
	}
	return put_u32(at, sum);
}

void bfs_png_write(const struct bfs_png *png, const uint8_t *pixels,
		   const uint8_t *palette, const uint8_t *alpha, uint8_t *buf)
{
	uint8_t head[HEAD_LEN] = { 0 };
	uint8_t *at = buf;

	memcpy(at, magic, sizeof(magic));
	put_u32(head, png->width);
	put_u32(head + 4, png->height);
	head[8] = 8;			/* bits */
	head[9] = png->is_rgb ? 2 : 3;	/* of three colours, or a palette's */
	at = put_chunk(at + sizeof(magic), "IHDR", head, sizeof(head));
	if (!png->is_rgb) {
		at = put_chunk(at, "PLTE", palette, 3 * BFS_PNG_COLOURS);
		at = put_chunk(at, "tRNS", alpha, BFS_PNG_COLOURS);
	}
	at = put_stream(begin(at, "IDAT", stream_len(png)), png, pixels);
	at = put_chunk(end(at, stream_len(png)), "IEND", NULL, 0);
	BFS_CHECK((size_t)(at - buf) == bfs_png_len(png));
}
