/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * png.h - a picture as a PNG whose size its pixels' number alone tells: they
 * are stored, not compressed. For view/preview/ alone.
 *
 * PNG (ISO/IEC 15948, W3C 2003), zlib's stream (RFC 1950) of stored blocks
 * (RFC 1951).
 */
#ifndef BFS_VIEW_PREVIEW_PNG_H
#define BFS_VIEW_PREVIEW_PNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BFS_PNG_COLOURS 256

/* How a picture's pixels are told. */
struct bfs_png {
	unsigned width, height;	/* pixels, 1 ... 512 */
	bool is_rgb;		/* three bytes a pixel; else a palette's one */
};

/* Bytes of its pixels: rows from the top, without gaps. */
size_t bfs_png_pixels(const struct bfs_png *png);
/* Bytes of the file. */
size_t bfs_png_len(const struct bfs_png *png);
/* Writes the file into buf, of bfs_png_len bytes. palette: BFS_PNG_COLOURS
 * times red, green, blue; alpha: as many bytes; both unused for RGB. */
void bfs_png_write(const struct bfs_png *png, const uint8_t *pixels,
		   const uint8_t *palette, const uint8_t *alpha,
		   uint8_t *buf);

#endif
