/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strictpng.h - a PNG of ours as a reader of others takes it.
 */
#ifndef TEST_STRICTPNG_H
#define TEST_STRICTPNG_H

#include <stddef.h>
#include <stdint.h>

/* What is wrong with a file; NULL: nothing. Its chunks must be IHDR, PLTE and
 * tRNS of 256 entries where pixels have a palette, one IDAT, IEND, each with
 * its CRC, and nothing else; the data, as zlib reads them, lines of filter 0
 * and no more. *ret_pixels (or NULL), to be freed: the lines without their
 * filters, *ret_len bytes. */
const char *strict_png(const uint8_t *bytes, size_t len, uint8_t **ret_pixels,
		       size_t *ret_len);

#endif
