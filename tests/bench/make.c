/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * make.c - writes the frames that the other programs read.
 *
 * bench-make [--content NAME] [--block KIB] CODEC MIB CHUNK_KIB FRAME [PLAIN]
 * bench-make --cube CODEC MIB FRAME
 *
 * CODEC is lz4 or zstd.
 *
 * The first is an array of rows of 4 KiB, in chunks of whole rows and blocks
 * of at most 256 KiB, byte-shuffled: an int32 walk if no other content is
 * named. Rows are never cut, so the frame's bytes are in the array's order.
 * PLAIN gets the same bytes, for images of other filesystems.
 *
 * The second is an int32 array of MIB / 2 x 512 x 1024 items in chunks of
 * 32 x 64 x 256 and blocks of 8 x 32 x 256, filled block by block.
 */
#include "bench.h"

#include "support/build.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW_LEN 4096
#define CUBE_CHUNK ((size_t)2 << 20)
#define CUBE_BLOCK (256 << 10)

struct what {
	const struct bench_content *content;
	enum build_codec codec;
	long mib, chunk_rows, block_rows;
	bool cube;
	const char *frame, *plain;
};

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

static const struct bench_content *find_content(const char *name)
{
	for (size_t i = 0; i < bench_n_contents; i++)
		if (strcmp(bench_contents[i].name, name) == 0)
			return &bench_contents[i];
	bench_die("no such content");
}

static const char *dtype_of(const struct bench_content *content)
{
	switch (content->name[strlen(content->name) - 2]) {
	case 'i':
		return "<i4";
	case 'f':
		return content->typesize == 4 ? "<f4" : "<f8";
	default:
		return content->typesize == 1 ? "|u1" : "<u2";
	}
}

static struct build_frame shape_rows(const struct what *w)
{
	int32_t items = ROW_LEN / (int32_t)w->content->typesize;

	return (struct build_frame){
		.chunksize = w->chunk_rows * ROW_LEN,
		.typesize = w->content->typesize, .ndim = 2,
		.shape = { w->mib * 256, items },
		.chunkshape = { (int32_t)w->chunk_rows, items },
		.blockshape = { (int32_t)w->block_rows, items },
		.dtype = dtype_of(w->content),
	};
}

static struct build_frame shape_cube(const struct what *w)
{
	return (struct build_frame){
		.chunksize = CUBE_CHUNK, .typesize = 4, .ndim = 3,
		.shape = { w->mib / 2, 512, 1024 },
		.chunkshape = { 32, 64, 256 },
		.blockshape = { 8, 32, 256 },
		.dtype = "<i4",
	};
}

static void make(const struct what *w)
{
	struct build_frame frame = w->cube ? shape_cube(w) : shape_rows(w);
	size_t len = (size_t)frame.chunksize;
	long n = (long)(((uint64_t)w->mib << 20) / len);
	FILE *plain = w->plain ? create(w->plain) : NULL;
	struct build out = { 0 };
	uint8_t *data = bench_alloc(len);
	FILE *file;

	for (long i = 0; i < n; i++) {
		struct build_chunk c = {
			.data = data, .len = len,
			.typesize = w->content->typesize,
			.shuffle = w->content->typesize > 1,
			.blocksize = w->cube ? CUBE_BLOCK :
				     (uint32_t)w->block_rows * ROW_LEN,
			.codec = w->codec,
		};

		w->content->fill(data, len, (uint64_t)i);
		build_frame_chunk(&frame, &c);
		put(plain, data, len);
	}
	build_frame_finish(&frame, &out);
	file = create(w->frame);
	put(file, out.p, out.len);
	if (fclose(file) != 0 || (plain && fclose(plain) != 0))
		bench_die("cannot write");
	free(out.p);
	free(data);
}

_Noreturn static void explain(void)
{
	bench_die("usage: bench-make [--content NAME] [--block KIB] lz4|zstd "
		  "MIB CHUNK_KIB FRAME [PLAIN]\n"
		  "       bench-make --cube lz4|zstd MIB FRAME\n"
		  "chunks must fill MIB, in steps of 4 KiB; a cube's MIB in "
		  "steps of 64");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "content", required_argument, NULL, 'c' },
		{ "block", required_argument, NULL, 'b' },
		{ "cube", no_argument, NULL, 'u' },
		{ 0 }
	};
	struct what w = { .content = &bench_contents[0], .block_rows = 64 };
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'c')
			w.content = find_content(optarg);
		else if (c == 'b')
			w.block_rows = number(optarg, 4, 4096) / 4;
		else if (c == 'u')
			w.cube = true;
		else
			explain();
	}
	argv += optind;
	argc -= optind;
	if (argc < 3 || argc > (w.cube ? 3 : 5) || (!w.cube && argc < 4))
		explain();
	w.codec = strcmp(argv[0], "zstd") == 0 ? BUILD_ZSTD : BUILD_LZ4;
	w.mib = number(argv[1], w.cube ? 64 : 4, 4096);
	w.chunk_rows = w.cube ? 1 : number(argv[2], 4, 4096) / 4;
	if (w.mib * 256 % w.chunk_rows)
		explain();
	if (w.block_rows > w.chunk_rows)
		w.block_rows = w.chunk_rows;
	w.frame = argv[w.cube ? 2 : 3];
	w.plain = argc == 5 ? argv[4] : NULL;
	make(&w);
	return 0;
}
