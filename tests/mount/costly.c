/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * costly.c - for tests: writes small containers that are dear to read.
 *
 * mount-costly thin ROWS COLUMNS FRAME
 *	an array (1, COLUMNS) of bytes in chunks of (ROWS, 1), all the same one
 * mount-costly blocks COUNT MIB FRAME
 *	COUNT chunks of one block of MIB MiB each, all different
 * mount-costly bare COUNT FILE
 *	COUNT bare chunks of one byte behind each other
 */
#include "support/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void die(const char *why)
{
	fprintf(stderr, "mount-costly: %s\n", why);
	exit(2);
}

static uint8_t *zeros(size_t len)
{
	uint8_t *data = calloc(1, len);

	if (!data)
		die("no memory");
	return data;
}

static void add_chunk(struct build_frame *f, uint8_t *data, size_t len,
		      uint8_t first)
{
	struct build_chunk c = { data, len, 1, (uint32_t)len, BUILD_LZ4,
				 0, 0, 0 };

	data[0] = first;
	build_frame_chunk(f, &c);
}

static void make_thin(size_t rows, size_t columns, struct build *out)
{
	struct build_frame f = {
		.chunksize = (int64_t)rows, .typesize = 1, .ndim = 2,
		.shape = { 1, (int64_t)columns },
		.chunkshape = { (int32_t)rows, 1 },
		.blockshape = { (int32_t)rows, 1 }, .dtype = "|u1",
	};
	uint8_t *data = zeros(rows);

	add_chunk(&f, data, rows, 7);
	for (size_t i = 1; i < columns; i++)
		build_frame_special(&f, 0, rows);
	build_frame_finish(&f, out);
	free(data);
}

static void make_blocks(size_t count, size_t mib, struct build *out)
{
	size_t len = mib << 20;
	struct build_frame f = { .chunksize = (int64_t)len, .typesize = 1 };
	uint8_t *data = zeros(len);

	for (size_t i = 0; i < count; i++)
		add_chunk(&f, data, len, (uint8_t)(i + 1));
	build_frame_finish(&f, out);
	free(data);
}

static void make_bare(size_t count, struct build *out)
{
	for (size_t i = 0; i < count; i++) {
		uint8_t data = (uint8_t)i;
		struct build_chunk c = { &data, 1, 1, 1, BUILD_RAW, 0, 0, 0 };

		build_chunk(out, &c);
	}
}

int main(int argc, char **argv)
{
	struct build out = { 0 };
	FILE *file;

	if (argc == 5 && !strcmp(argv[1], "thin"))
		make_thin(strtoul(argv[2], NULL, 10),
			  strtoul(argv[3], NULL, 10), &out);
	else if (argc == 5 && !strcmp(argv[1], "blocks"))
		make_blocks(strtoul(argv[2], NULL, 10),
			    strtoul(argv[3], NULL, 10), &out);
	else if (argc == 4 && !strcmp(argv[1], "bare"))
		make_bare(strtoul(argv[2], NULL, 10), &out);
	else
		die("usage: mount-costly thin ROWS COLUMNS FRAME | blocks "
		    "COUNT MIB FRAME | bare COUNT FILE");
	file = fopen(argv[argc - 1], "wb");
	if (!file || fwrite(out.p, 1, out.len, file) != out.len ||
	    fclose(file) != 0)
		die("cannot write");
	free(out.p);
	return 0;
}
