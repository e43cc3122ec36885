/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_png.c - pictures of all sizes as PNGs: what another reader makes of
 * them, and of what is not right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/build.h"
#include "support/strictpng.h"
#include "view/preview/png.h"

#include <stdlib.h>
#include <string.h>

static uint8_t palette[3 * BFS_PNG_COLOURS], alpha[BFS_PNG_COLOURS];

/* A picture of noise, to be freed, with a guard behind it. */
static uint8_t *draw(const struct bfs_png *png, uint8_t *pixels)
{
	size_t len = bfs_png_len(png);
	uint8_t *file = malloc(len + 8);

	assert_non_null(file);
	memset(file + len, 0x77, 8);
	build_fill(pixels, bfs_png_pixels(png), 5);
	build_fill(palette, sizeof(palette), 6);
	build_fill(alpha, sizeof(alpha), 7);
	bfs_png_write(png, pixels, palette, alpha, file);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(file[len + i], 0x77);
	return file;
}

static void pixels_are_read_back_from_pictures_of_all_sizes(void **state)
{
	/* Rows and all lines below, at, and beyond stored blocks of 65535. */
	static const unsigned sizes[][2] = {
		{ 1, 1 }, { 1, 512 }, { 512, 1 }, { 512, 512 }, { 254, 257 },
		{ 255, 256 }, { 256, 255 }, { 511, 128 }, { 509, 257 },
		{ 3, 5 }, { 170, 128 },
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(*sizes); i++) {
		struct bfs_png png = { sizes[i / 2][0], sizes[i / 2][1],
				       i % 2 == 1 };
		uint8_t *pixels = malloc(bfs_png_pixels(&png)), *got = NULL;
		uint8_t *file;
		const char *why;
		size_t len;

		assert_non_null(pixels);
		file = draw(&png, pixels);
		why = strict_png(file, bfs_png_len(&png), &got, &len);
		if (why)
			fail_msg("%u x %u: %s", png.width, png.height, why);
		assert_int_equal(len, bfs_png_pixels(&png));
		assert_int_equal(len, (size_t)png.width * png.height *
				      (png.is_rgb ? 3 : 1));
		assert_memory_equal(got, pixels, len);
		if (!png.is_rgb) {
			assert_memory_equal(file + 33 + 8, palette,
					    sizeof(palette));
			assert_memory_equal(file + 33 + 12 + 768 + 8, alpha,
					    sizeof(alpha));
		}
		free(got);
		free(file);
		free(pixels);
	}
}

/* What the tests of pictures rely on. */
static void each_wrong_byte_is_found(void **state)
{
	struct bfs_png png = { 5, 3, true };
	uint8_t pixels[45], *file = draw(&png, pixels);
	size_t len = bfs_png_len(&png);

	(void)state;
	assert_null(strict_png(file, len, NULL, NULL));
	for (size_t i = 0; i < len; i++) {
		file[i] ^= 0x10;
		assert_non_null(strict_png(file, len, NULL, NULL));
		file[i] ^= 0x10;
		assert_non_null(strict_png(file, i, NULL, NULL));
	}
	free(file);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(pixels_are_read_back_from_pictures_of_all_sizes),
		T(each_wrong_byte_is_found),
	};

	return cmocka_run_group_tests_name("png", tests, NULL, NULL);
}
