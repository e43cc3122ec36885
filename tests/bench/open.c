/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open.c - how long it takes to open a frame of very many chunks and to read
 * its first byte, next to c-blosc2 where that is found.
 *
 * bench-open [--short]
 *
 * The frames are made by the tests' own writer in a temporary file and are
 * in the page cache. One line of TSV for each number of chunks: microseconds
 * (medians), the ratio of theirs to ours, and the read calls and bytes that one
 * opening took.
 */
#include "bench.h"

#include "bloscfs.h"
#include "support/build.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK 4096

static void write_frame(const char *path, unsigned n)
{
	struct build_frame frame = { .chunksize = CHUNK, .typesize = 4 };
	struct build out = { 0 };
	uint8_t data[CHUNK];
	FILE *file = fopen(path, "wb");

	for (unsigned i = 0; i < n; i++) {
		struct build_chunk c = {
			.data = data, .len = CHUNK, .typesize = 4,
			.blocksize = CHUNK, .codec = BUILD_LZ4, .shuffle = 1,
		};

		build_fill(data, CHUNK, i);
		build_frame_chunk(&frame, &c);
	}
	build_frame_finish(&frame, &out);
	if (!file || fwrite(out.p, 1, out.len, file) != out.len ||
	    fclose(file) != 0)
		bench_die("cannot write the frame");
	free(out.p);
}

/* Read calls and their bytes of this process so far. */
struct asked {
	unsigned long long calls, bytes;
};

static struct asked ask(void)
{
	struct asked now = { 0, 0 };
	FILE *file = fopen("/proc/self/io", "r");

	if (file && fscanf(file, "rchar: %llu wchar: %*u syscr: %llu",
			   &now.bytes, &now.calls) != 2)
		bench_die("/proc/self/io has changed");
	if (file)
		fclose(file);
	return now;
}

/* Seconds. */
static double open_ours(struct bloscfs *fs, const char *path, uint8_t *first)
{
	double begin = bench_wall();
	struct bloscfs_node root = bloscfs_root(), node;
	struct bloscfs_file *file;
	size_t n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 ||
	    bloscfs_open(fs, fd, NULL, 0, 0, &file, NULL) != BLOSCFS_OK ||
	    !bloscfs_lookup(file, &root, "data.bin", &node) ||
	    bloscfs_read(file, &node, 0, first, 1, &n, NULL) != BLOSCFS_OK ||
	    n != 1)
		bench_die("cannot read the frame");
	bloscfs_close(file);
	return bench_wall() - begin;
}

static void run(struct bloscfs *fs, const char *path, unsigned n, int rounds)
{
	double ours[BENCH_MAX_ROUNDS], theirs[BENCH_MAX_ROUNDS];
	struct bloscfs_stats stats = { .size = sizeof(stats) };
	struct asked before, after, idle;
	uint8_t first = 0, items[CHUNK];

	write_frame(path, n);
	for (int r = 0; r < rounds; r++) {
		ours[r] = open_ours(fs, path, &first);
		theirs[r] = bench_open_blosc2(path, items);
		if (theirs[r] >= 0 && first != items[0])
			bench_die("wrong bytes");
	}
	idle = ask();
	before = ask();
	open_ours(fs, path, &first);
	after = ask();
	bloscfs_stats_get(fs, &stats);
	if (stats.cache_misses < (uint64_t)rounds)
		bench_die("the first byte was not decoded each time");
	printf("%u\t%.1f", n, bench_median(ours, rounds) * 1e6);
	if (theirs[0] >= 0)
		printf("\t%.1f\t%.3f", bench_median(theirs, rounds) * 1e6,
		       bench_ratio(theirs, ours, rounds));
	else
		printf("\t-\t-");
	/* Less what asking itself reads. */
	printf("\t%llu\t%llu\n",
	       after.calls - before.calls - (before.calls - idle.calls),
	       after.bytes - before.bytes - (before.bytes - idle.bytes));
}

int main(int argc, char **argv)
{
	bool brief = argc > 1 && strcmp(argv[1], "--short") == 0;
	char path[] = "/tmp/bench-open.XXXXXX.b2frame";
	int fd = mkstemps(path, 8);
	struct bloscfs *fs;

	if (fd < 0 || bloscfs_new(NULL, &fs, NULL) != BLOSCFS_OK)
		bench_die("cannot begin");
	close(fd);
	printf("chunks\tours_us\ttheirs_us\tours/theirs\treads\tbytes\n");
	if (brief) {
		run(fs, path, 1000, 3);
	} else {
		run(fs, path, 10000, 31);
		run(fs, path, 100000, 31);
	}
	bloscfs_free(fs);
	unlink(path);
	return 0;
}
