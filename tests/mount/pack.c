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

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ZEROS (UINT64_C(0x81) << 56)
#define BLOCK_LEN 65536

static _Noreturn void die(const char *why)
{
	fprintf(stderr, "mount-pack: %s\n", why);
	exit(2);
}

static int64_t length_of(int fd)
{
	off_t len = lseek(fd, 0, SEEK_END);

	if (len <= 0)
		die("PLAIN has no length");
	return len;
}

/* Holes of PLAIN are not read. */
static int is_hole(int fd, int64_t at, size_t len)
{
	off_t data = lseek(fd, at, SEEK_DATA);

	return data < 0 ? errno == ENXIO : data - at >= (off_t)len;
}

static void read_at(int fd, int64_t at, uint8_t *p, size_t len)
{
	while (len > 0) {
		ssize_t n = pread(fd, p, len, at);

		if (n <= 0)
			die("cannot read PLAIN");
		p += n;
		at += n;
		len -= (size_t)n;
	}
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

static void pack_chunk(struct build_frame *f, enum build_codec codec,
		       const uint8_t *data, size_t len)
{
	size_t block = f->dtype ? (size_t)f->blockshape[0] *
				  (size_t)f->blockshape[1] * f->typesize :
				  BLOCK_LEN;
	struct build_chunk c = {
		.data = data, .len = len, .typesize = f->typesize,
		.blocksize = (uint32_t)(len < block ? len : block),
		.codec = codec, .shuffle = f->typesize > 1,
	};

	if (is_zero(data, len))
		build_frame_special(f, ZEROS, len);
	else
		build_frame_chunk(f, &c);
}

static void pack(int fd, int64_t total, struct build_frame *f,
		 enum build_codec codec, size_t len)
{
	uint8_t *data = calloc(1, len);

	if (!data)
		die("no memory");
	for (int64_t at = 0; at < total; at += (int64_t)len) {
		int64_t left = total - at;
		size_t n = left < (int64_t)len ? (size_t)left : len;
		size_t padded = f->dtype ? len : n;

		if (is_hole(fd, at, n)) {
			build_frame_special(f, ZEROS, padded);
			continue;
		}
		read_at(fd, at, data, n);
		memset(data + n, 0, len - n);
		pack_chunk(f, codec, data, padded);
	}
	free(data);
}

int main(int argc, char **argv)
{
	struct build_frame f = { .typesize = 1 };
	struct build out = { 0 };
	int64_t total;
	FILE *file;
	size_t len;
	int fd;

	if (argc != 5 && argc != 7)
		die("usage: mount-pack lz4|zstd CHUNK_KIB PLAIN FRAME "
		    "[DTYPE COLUMNS]");
	len = strtoul(argv[2], NULL, 10) * 1024;
	if (len < 1024 || len > 64 << 20)
		die("CHUNK_KIB is out of range");
	fd = open(argv[3], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die("cannot open PLAIN");
	total = length_of(fd);
	if (argc == 7)
		set_rows(&f, argv[5], argv[6], total, &len);
	f.chunksize = (int64_t)len;
	pack(fd, total, &f,
	     strcmp(argv[1], "zstd") == 0 ? BUILD_ZSTD : BUILD_LZ4, len);
	close(fd);
	build_frame_finish(&f, &out);
	file = fopen(argv[4], "wb");
	if (!file || fwrite(out.p, 1, out.len, file) != out.len ||
	    fclose(file) != 0)
		die("cannot write");
	free(out.p);
	return 0;
}
