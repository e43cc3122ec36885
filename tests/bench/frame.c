/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame.c - reading a frame through the library, next to c-blosc2 by file.
 *
 * bench-frame FRAME [ROUNDS]
 *
 * all: every chunk once on one CPU, GB/s by the clock, in a new process each
 * time, as a program meets it. rand: 4 KiB at random (whole items), reads a
 * second; ours with a cache that holds 8 MiB. cold:
 * the bytes that one such read takes from storage when the frame is not in the
 * page cache, which a frame in memory (tmpfs) cannot tell. asked: the calls
 * and bytes of one read that misses, chunk headers known. For the first two
 * ratios are our speed to theirs, for storage our bytes to theirs.
 */
#include "bench.h"

#include "bloscfs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define N_RANDOM 400
#define N_COLD 100

struct frame {
	const char *path;
	struct bloscfs *fs;
	struct bloscfs_file *file;
	struct bloscfs_node data;
	struct bloscfs_pieces *pieces;
	uint64_t len, chunk_len;
	unsigned item;
	uint8_t *buf, *theirs;
};

/* Of this process so far. */
struct asked {
	unsigned long long bytes, calls, storage;
};

static struct asked ask(void)
{
	struct asked now = { 0 };
	FILE *file = fopen("/proc/self/io", "r");

	if (file && fscanf(file, "rchar: %llu wchar: %*u syscr: %llu syscw: "
			   "%*u read_bytes: %llu", &now.bytes, &now.calls,
			   &now.storage) != 3)
		bench_die("/proc/self/io has changed");
	if (file)
		fclose(file);
	return now;
}

static void must(enum bloscfs_err err)
{
	if (err != BLOSCFS_OK)
		bench_die("cannot read the frame");
}

static uint64_t find_number(const char *info, const char *key)
{
	char quoted[32];
	const char *at;
	uint64_t v = 0;

	snprintf(quoted, sizeof(quoted), "\"%s\": ", key);
	at = strstr(info, quoted);
	if (!at || sscanf(at + strlen(quoted), "%" SCNu64, &v) != 1 || !v)
		bench_die("info.json does not tell a size");
	return v;
}

static void open_frame(struct frame *f)
{
	struct bloscfs_options options = {
		.size = sizeof(options), .cache_size = 8 << 20,
	};
	struct bloscfs_node root = bloscfs_root(), info;
	char text[PAGE] = { 0 };
	struct bloscfs_attr attr;
	size_t n;
	int fd = open(f->path, O_RDONLY | O_CLOEXEC);

	must(fd < 0 ? BLOSCFS_ERR_IO : BLOSCFS_OK);
	must(bloscfs_new(&options, &f->fs, NULL));
	must(bloscfs_open(f->fs, fd, NULL, 0, 0, &f->file, NULL));
	if (!bloscfs_lookup(f->file, &root, "data.bin", &f->data) ||
	    !bloscfs_lookup(f->file, &root, "info.json", &info))
		bench_die("not a frame");
	must(bloscfs_read(f->file, &info, 0, text, sizeof(text) - 1, &n,
			  NULL));
	f->item = (unsigned)find_number(text, "typesize");
	f->chunk_len = find_number(text, "chunksize");
	bloscfs_stat(f->file, &f->data, &attr);
	f->len = attr.size;
	f->pieces = bloscfs_pieces_new();
	if (!f->pieces || f->len < 64 * PAGE || PAGE % f->item)
		bench_die("too small a frame, or odd items");
}

static void close_frame(struct frame *f)
{
	bloscfs_pieces_free(f->pieces);
	bloscfs_close(f->file);
	bloscfs_free(f->fs);
}

static double all_ours(struct frame *f)
{
	const uint64_t step = 1 << 20;
	const struct iovec *iov;
	double begin;
	size_t n;

	open_frame(f);
	begin = bench_wall();
	for (uint64_t off = 0; off < f->len; off += step) {
		uint64_t len = f->len - off < step ? f->len - off : step;

		must(bloscfs_pin(f->file, &f->data, off, f->buf, len,
				 f->pieces, &iov, &n, NULL));
		bloscfs_unpin(f->file, f->pieces);
	}
	begin = bench_wall() - begin;
	close_frame(f);
	return begin;
}

static uint64_t choose(const struct frame *f)
{
	return (uint64_t)random() % (f->len / PAGE - 1) * PAGE;
}

/* Seconds for n reads; the last one's bytes stay in the buffer. */
static double random_ours(struct frame *f, unsigned seed, int n)
{
	double begin;
	size_t got;

	srandom(seed);
	begin = bench_wall();
	for (int i = 0; i < n; i++)
		must(bloscfs_read(f->file, &f->data, choose(f), f->buf, PAGE,
				  &got, NULL));
	return bench_wall() - begin;
}

static double random_theirs(struct frame *f, void *schunk, unsigned seed,
			    int n)
{
	double begin;

	srandom(seed);
	begin = bench_wall();
	for (int i = 0; i < n; i++) {
		int64_t at = (int64_t)(choose(f) / f->item);

		if (!bench_items_blosc2(schunk, at, at + PAGE / f->item,
					f->theirs))
			bench_die("c-blosc2 cannot read");
	}
	return bench_wall() - begin;
}

static void drop_pages(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fdatasync(fd) < 0 ||
	    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		bench_die("cannot drop the frame's pages");
	close(fd);
}

static void report(const char *what, double ours, double theirs, double ratio)
{
	printf("%s\t%.5g", what, ours);
	if (theirs > 0)
		printf("\t%.5g\t%.2f\n", theirs, ratio);
	else
		printf("\t-\t-\n");
	fflush(stdout);
}

static double all_theirs(struct frame *f)
{
	return bench_all_blosc2(f->path, f->len, f->chunk_len);
}

/* In a process that has read nothing yet. */
static double in_child(struct frame *f, double (*pass)(struct frame *f))
{
	double took = -1;
	cpu_set_t set;
	int ends[2];

	if (pipe(ends) < 0)
		bench_die("no pipe");
	switch (fork()) {
	case -1:
		bench_die("no process");
	case 0:
		CPU_ZERO(&set);
		CPU_SET(0, &set);
		sched_setaffinity(0, sizeof(set), &set);
		took = pass(f);
		_exit(write(ends[1], &took, sizeof(took)) != sizeof(took));
	}
	close(ends[1]);
	if (read(ends[0], &took, sizeof(took)) != sizeof(took))
		bench_die("a pass failed");
	close(ends[0]);
	wait(NULL);
	return took;
}

static void run_all(struct frame *f, void *schunk, int rounds)
{
	double ours[BENCH_MAX_ROUNDS], theirs[BENCH_MAX_ROUNDS];
	double gb = (double)f->len / 1e9;

	for (int r = 0; r < rounds; r++) {
		ours[r] = in_child(f, all_ours);
		theirs[r] = schunk ? in_child(f, all_theirs) : -1;
	}
	report("all_GB/s", gb / bench_median(ours, rounds),
	       gb / bench_median(theirs, rounds),
	       bench_ratio(theirs, ours, rounds));
}

static void run_random(struct frame *f, void *schunk, int rounds)
{
	double ours[BENCH_MAX_ROUNDS], theirs[BENCH_MAX_ROUNDS];

	for (int r = 0; r < rounds; r++) {
		ours[r] = random_ours(f, (unsigned)r, N_RANDOM);
		theirs[r] = -1;
		if (!schunk)
			continue;
		theirs[r] = random_theirs(f, schunk, (unsigned)r, N_RANDOM);
		if (memcmp(f->buf, f->theirs, PAGE) != 0)
			bench_die("the two sides read different bytes");
	}
	report("rand_/s", N_RANDOM / bench_median(ours, rounds),
	       N_RANDOM / bench_median(theirs, rounds),
	       bench_ratio(theirs, ours, rounds));
}

static void run_cold(struct frame *f, void *schunk, int rounds)
{
	double ours[BENCH_MAX_ROUNDS], theirs[BENCH_MAX_ROUNDS];
	struct asked before;

	for (int r = 0; r < rounds; r++) {
		close_frame(f);
		open_frame(f);
		drop_pages(f->path);
		before = ask();
		random_ours(f, (unsigned)r, N_COLD);
		ours[r] = (double)(ask().storage - before.storage) / N_COLD;
		theirs[r] = -1;
		if (!schunk)
			continue;
		drop_pages(f->path);
		before = ask();
		random_theirs(f, schunk, (unsigned)r, N_COLD);
		theirs[r] = (double)(ask().storage - before.storage) / N_COLD;
	}
	report("cold_storage_bytes", bench_median(ours, rounds),
	       bench_median(theirs, rounds),
	       bench_ratio(ours, theirs, rounds));
}

/* What missing reads ask for once all chunks' headers are known. */
static void run_asked(struct frame *f)
{
	struct bloscfs_stats a = { .size = sizeof(a) }, b = a;
	double misses;

	open_frame(f);
	for (uint64_t off = 0; off + PAGE < f->len; off += f->chunk_len) {
		size_t n;

		must(bloscfs_read(f->file, &f->data, off, f->buf, 1, &n,
				  NULL));
	}
	bloscfs_stats_get(f->fs, &a);
	random_ours(f, 77, N_RANDOM);
	bloscfs_stats_get(f->fs, &b);
	misses = (double)(b.cache_misses - a.cache_misses);
	report("asked_calls", (double)(b.source_reads - a.source_reads) /
	       misses, -1, 0);
	report("asked_bytes", (double)(b.source_bytes - a.source_bytes) /
	       misses, -1, 0);
	close_frame(f);
}

int main(int argc, char **argv)
{
	struct frame f = { .path = argc > 1 ? argv[1] : NULL };
	int rounds = argc > 2 ? atoi(argv[2]) : 9;
	void *schunk;

	if (!f.path || rounds < 1 || rounds > BENCH_MAX_ROUNDS)
		bench_die("usage: bench-frame FRAME [ROUNDS]");
	f.buf = bench_alloc(1 << 20);
	f.theirs = bench_alloc(PAGE);
	open_frame(&f);
	close_frame(&f);
	schunk = bench_frame_blosc2(f.path);
	printf("what\tours\ttheirs\tratio\n");
	run_all(&f, schunk, rounds);
	open_frame(&f);
	run_random(&f, schunk, rounds);
	run_cold(&f, schunk, rounds);
	close_frame(&f);
	run_asked(&f);
	free(f.theirs);
	free(f.buf);
	return 0;
}
