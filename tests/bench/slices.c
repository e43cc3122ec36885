/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slices.c - parts of a 3-d array read from data.npy, by pread or by mmap, as a
 * program would that knows nothing of Blosc, next to c-blosc2's own slices.
 *
 * bench-slices FRAME DATA_NPY [ROUNDS]
 *
 * FRAME is the array that is mounted where DATA_NPY lies. A row is one plane
 * [i, :, :], a column [:, j, :], a cube 64 items a side; one of each kind is
 * read in each round, at random, by both sides, and the bytes are compared.
 * Cold: the kernel's pages of DATA_NPY are dropped before (the daemon's own
 * cache should be smaller than the array); warm: the same slice once more.
 * c-blosc2 opens the array once and keeps no decoded blocks; ratios are its
 * time to ours.
 */
#include "bench.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIDE 64

struct npy {
	int fd;
	const uint8_t *map;	/* NULL: by pread */
	size_t len;
	off_t data;
	int64_t shape[3];
	unsigned item;		/* bytes */
};

struct box {
	int64_t start[3], stop[3];
};

static struct npy open_npy(const char *path)
{
	struct npy npy = { .fd = open(path, O_RDONLY | O_CLOEXEC) };
	char head[257] = { 0 };
	const char *shape, *descr;
	unsigned len;

	if (npy.fd < 0 || pread(npy.fd, head, 256, 0) != 256 ||
	    memcmp(head, "\x93NUMPY", 6) != 0)
		bench_die("no .npy file");
	memcpy(&len, head + 8, 2);
	npy.data = 10 + (len & 0xffff);
	shape = strstr(head + 10, "'shape': (");
	descr = strstr(head + 10, "'descr': '");
	if (!shape || !descr ||
	    sscanf(shape, "'shape': (%" SCNd64 ", %" SCNd64 ", %" SCNd64 ")",
		   &npy.shape[0], &npy.shape[1], &npy.shape[2]) != 3 ||
	    sscanf(descr, "'descr': '%*c%*c%u'", &npy.item) != 1)
		bench_die("no 3-d array of plain items");
	npy.len = (size_t)npy.data + (size_t)(npy.shape[0] * npy.shape[1] *
					      npy.shape[2]) * npy.item;
	return npy;
}

static int64_t volume(const struct box *b)
{
	int64_t n = 1;

	for (int d = 0; d < 3; d++)
		n *= b->stop[d] - b->start[d];
	return n;
}

static struct box choose(const struct npy *npy, int kind)
{
	struct box b = { .stop = { npy->shape[0], npy->shape[1],
				   npy->shape[2] } };

	for (int d = 0; d < 3; d++) {
		int64_t side = kind == 2 ? SIDE : d == kind ? 1 :
			       npy->shape[d];

		if (side > npy->shape[d])
			side = npy->shape[d];
		b.start[d] = random() % (npy->shape[d] - side + 1);
		b.stop[d] = b.start[d] + side;
	}
	return b;
}

static void read_all(int fd, uint8_t *dst, size_t len, off_t off)
{
	while (len > 0) {
		ssize_t n = pread(fd, dst, len, off);

		if (n <= 0)
			bench_die("cannot read");
		dst += n;
		off += n;
		len -= (size_t)n;
	}
}

static void copy_run(const struct npy *npy, uint8_t *dst, size_t len,
		     int64_t item)
{
	off_t off = npy->data + item * npy->item;

	if (npy->map)
		memcpy(dst, npy->map + off, len);
	else
		read_all(npy->fd, dst, len, off);
}

/* By the longest runs that are contiguous in the file. */
static double read_ours(const struct npy *npy, const struct box *b,
			uint8_t *dst)
{
	double begin = bench_wall();
	int64_t width = b->stop[2] - b->start[2];
	int64_t lines = b->stop[1] - b->start[1];
	int64_t at_once = width == npy->shape[2] ? lines : 1;
	size_t len = (size_t)(width * at_once) * npy->item;

	for (int64_t i = b->start[0]; i < b->stop[0]; i++) {
		for (int64_t j = b->start[1]; j < b->stop[1]; j += at_once) {
			int64_t item = (i * npy->shape[1] + j) *
				       npy->shape[2] + b->start[2];

			copy_run(npy, dst, len, item);
			dst += len;
		}
	}
	return bench_wall() - begin;
}

static void report(const char *name, const char *how, const char *heat,
		   const double *ours, const double *theirs, int n)
{
	printf("%s\t%s\t%s\t%.2f", name, how, heat,
	       bench_median(ours, n) * 1e3);
	if (theirs[0] >= 0)
		printf("\t%.2f\t%.2f\n", bench_median(theirs, n) * 1e3,
		       bench_ratio(theirs, ours, n));
	else
		printf("\t-\t-\n");
	fflush(stdout);
}

/* Mapped anew each time, as pages that are mapped cannot be dropped. */
static void map(struct npy *npy)
{
	void *p = mmap(NULL, npy->len, PROT_READ, MAP_SHARED, npy->fd, 0);

	if (p == MAP_FAILED)
		bench_die("cannot map the file");
	npy->map = p;
}

static void unmap(struct npy *npy)
{
	munmap((void *)(uintptr_t)npy->map, npy->len);
	npy->map = NULL;
}

static void run(struct npy *npy, const char *frame, int kind, bool mapped,
		int rounds)
{
	const char *how = mapped ? "mmap" : "pread";
	static const char *const names[] = { "row", "column", "cube" };
	double cold[BENCH_MAX_ROUNDS], warm[BENCH_MAX_ROUNDS];
	double theirs[BENCH_MAX_ROUNDS];
	struct box most = choose(npy, kind);
	size_t len = (size_t)volume(&most) * npy->item;
	uint8_t *a = bench_alloc(len), *b = bench_alloc(len);

	for (int r = 0; r < rounds; r++) {
		struct box box = choose(npy, kind);

		posix_fadvise(npy->fd, 0, 0, POSIX_FADV_DONTNEED);
		if (mapped)
			map(npy);
		cold[r] = read_ours(npy, &box, a);
		warm[r] = read_ours(npy, &box, a);
		if (mapped)
			unmap(npy);
		theirs[r] = bench_slice_blosc2(frame, box.start, box.stop, b,
					       len);
		if (theirs[r] >= 0 && memcmp(a, b, len) != 0)
			bench_die("the two sides read different bytes");
	}
	report(names[kind], how, "cold", cold, theirs, rounds);
	report(names[kind], how, "warm", warm, theirs, rounds);
	free(a);
	free(b);
}

int main(int argc, char **argv)
{
	int rounds = argc > 3 ? atoi(argv[3]) : 15;
	struct npy npy;

	if (argc < 3 || rounds < 1 || rounds > BENCH_MAX_ROUNDS)
		bench_die("usage: bench-slices FRAME DATA_NPY [ROUNDS]");
	npy = open_npy(argv[2]);
	printf("slice\tby\tpages\tours_ms\ttheirs_ms\ttheirs/ours\n");
	for (int kind = 0; kind < 3; kind++)
		for (int mapped = 0; mapped < 2; mapped++)
			run(&npy, argv[1], kind, mapped, rounds);
	close(npy.fd);
	return 0;
}
