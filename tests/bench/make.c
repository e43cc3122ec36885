/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * make.c - writes the frame that mount.py reads, and the same bytes plain.
 *
 * bench-make lz4|zstd MIB CHUNK_KIB FRAME [PLAIN]
 *
 * An int32 walk as an array of rows of 1024 items (4 KiB), in chunks of whole
 * rows and blocks of at most 256 KiB, byte-shuffled. Rows are never cut, so
 * the frame's bytes are in the array's order. PLAIN is for images of other
 * filesystems.
 */
#include "bench.h"

#include "support/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW 1024
#define ROW_LEN (ROW * 4)
#define MAX_BLOCK_ROWS 64

static FILE *create(const char *path)
{
	FILE *file = fopen(path, "wb");

	if (!file)
		bench_die("cannot create a file");
	return file;
}

static void put(FILE *file, const void *p, size_t len)
{
	if (file && fwrite(p, 1, len, file) != len)
		bench_die("cannot write");
}

static long number(const char *text, long step, long most)
{
	long v = strtol(text, NULL, 10);

	if (v < step || v > most || v % step)
		bench_die("a number is out of range");
	return v;
}

int main(int argc, char **argv)
{
	long rows = argc > 4 ? number(argv[2], 4, 4096) * 256 : 0;
	long chunk_rows = argc > 4 ? number(argv[3], 4, 4096) / 4 : 0;
	long block_rows = chunk_rows < MAX_BLOCK_ROWS ? chunk_rows :
							MAX_BLOCK_ROWS;
	size_t len = (size_t)chunk_rows * ROW_LEN;
	struct build_frame frame = {
		.chunksize = (int64_t)len, .typesize = 4, .ndim = 2,
		.shape = { rows, ROW },
		.chunkshape = { (int32_t)chunk_rows, ROW },
		.blockshape = { (int32_t)block_rows, ROW },
		.dtype = "<i4",
	};
	struct build out = { 0 };
	FILE *plain, *file;
	uint8_t *data;

	if (argc < 5 || argc > 6 || rows % chunk_rows)
		bench_die("usage: bench-make lz4|zstd MIB CHUNK_KIB FRAME "
			  "[PLAIN]; chunks must fill MIB, in steps of 4");
	data = bench_alloc(len);
	plain = argc == 6 ? create(argv[5]) : NULL;
	for (long i = 0; i < rows / chunk_rows; i++) {
		struct build_chunk c = {
			.data = data, .len = len, .typesize = 4, .shuffle = 1,
			.blocksize = (uint32_t)block_rows * ROW_LEN,
			.codec = strcmp(argv[1], "zstd") == 0 ? BUILD_ZSTD :
								BUILD_LZ4,
		};

		bench_contents[0].fill(data, len, (uint64_t)i);
		build_frame_chunk(&frame, &c);
		put(plain, data, len);
	}
	build_frame_finish(&frame, &out);
	file = create(argv[4]);
	put(file, out.p, out.len);
	if (fclose(file) != 0 || (plain && fclose(plain) != 0))
		bench_die("cannot write");
	free(out.p);
	free(data);
	return 0;
}
