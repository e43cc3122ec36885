/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack.c - for tests with programs of others: writes the frame whose content
 * is a given file.
 *
 * mount-pack lz4|zstd CHUNK_KIB PLAIN FRAME [DTYPE COLUMNS]
 *
 * Chunks of zeros become special chunks, and so holes of the mounted file.
 * With DTYPE (such as <f8) the frame is an array of rows of COLUMNS items;
 * rows are never cut, and the last chunk is padded.
 */
#include "support/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZEROS (UINT64_C(0x81) << 56)
#define BLOCK_LEN 65536

static _Noreturn void die(const char *why)
{
	fprintf(stderr, "mount-pack: %s\n", why);
	exit(2);
}

static FILE *open_or_die(const char *path, const char *mode)
{
	FILE *file = fopen(path, mode);

	if (!file)
		die("cannot open a file");
	return file;
}

static int64_t length_of(FILE *file)
{
	long len;

	if (fseek(file, 0, SEEK_END) != 0 || (len = ftell(file)) <= 0)
		die("PLAIN has no length");
	rewind(file);
	return len;
}

static int is_zero(const uint8_t *p, size_t len)
{
	return p[0] == 0 && memcmp(p, p + 1, len - 1) == 0;
}

/* Rows in blocks of about BLOCK_LEN, blocks in chunks of about *len. */
static void set_rows(struct build_frame *f, const char *dtype,
		     const char *columns, int64_t plain_len, size_t *len)
{
	int64_t row = strtol(columns, NULL, 10), rows, blocks;

	f->typesize = (uint32_t)strtoul(dtype + strcspn(dtype, "0123456789"),
					NULL, 10);
	f->dtype = dtype;
	f->ndim = 2;
	if (row < 1 || row > BLOCK_LEN || f->typesize < 1 ||
	    plain_len % (row * f->typesize) != 0)
		die("PLAIN is no whole number of rows");
	f->shape[0] = plain_len / (row * f->typesize);
	f->shape[1] = row;
	rows = BLOCK_LEN / (row * f->typesize);
	if (rows < 1)
		rows = 1;
	blocks = (int64_t)*len / (rows * row * f->typesize);
	if (blocks < 1)
		blocks = 1;
	f->blockshape[0] = (int32_t)rows;
	f->chunkshape[0] = (int32_t)(rows * blocks);
	f->blockshape[1] = f->chunkshape[1] = (int32_t)row;
	*len = (size_t)(rows * blocks * row * f->typesize);
}

static void pack(FILE *plain, struct build_frame *f, enum build_codec codec,
		 size_t len)
{
	uint8_t *data = malloc(len);
	size_t block = f->dtype ? (size_t)f->blockshape[0] *
				  (size_t)f->blockshape[1] * f->typesize :
				  BLOCK_LEN;
	size_t n;

	if (!data)
		die("no memory");
	while ((n = fread(data, 1, len, plain)) > 0) {
		struct build_chunk c = {
			.data = data, .len = n, .typesize = f->typesize,
			.codec = codec, .shuffle = f->typesize > 1,
		};

		if (f->dtype && n < len) {
			memset(data + n, 0, len - n);
			c.len = len;
		}
		c.blocksize = (uint32_t)(c.len < block ? c.len : block);
		if (is_zero(data, c.len))
			build_frame_special(f, ZEROS, c.len);
		else
			build_frame_chunk(f, &c);
	}
	free(data);
}

int main(int argc, char **argv)
{
	struct build_frame f = { .typesize = 1 };
	struct build out = { 0 };
	FILE *plain, *file;
	size_t len;

	if (argc != 5 && argc != 7)
		die("usage: mount-pack lz4|zstd CHUNK_KIB PLAIN FRAME "
		    "[DTYPE COLUMNS]");
	len = strtoul(argv[2], NULL, 10) * 1024;
	if (len < 1024 || len > 64 << 20)
		die("CHUNK_KIB is out of range");
	plain = open_or_die(argv[3], "rb");
	if (argc == 7)
		set_rows(&f, argv[5], argv[6], length_of(plain), &len);
	f.chunksize = (int64_t)len;
	pack(plain, &f, strcmp(argv[1], "zstd") == 0 ? BUILD_ZSTD : BUILD_LZ4,
	     len);
	build_frame_finish(&f, &out);
	file = open_or_die(argv[4], "wb");
	if (fwrite(out.p, 1, out.len, file) != out.len || fclose(file) != 0)
		die("cannot write");
	fclose(plain);
	free(out.p);
	return 0;
}
