/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decode.c - how fast this library decodes chunks, next to the library that
 * wrote them, to the codec alone, and to copying the same bytes.
 *
 * bench-decode [--short] [-r ROUNDS] [-m MIB] [-c KIB] [CODEC...]
 *
 * Chunks are made by c-blosc2 and c-blosc where those are found, else by the
 * tests' own writer. One line of TSV for each writer, content, codec and
 * filter: GB/s of uncompressed bytes, by the thread's CPU time for one thread
 * and by the clock for two; ratios are medians of the rounds'. Decoded bytes
 * are checked before anything is timed. Lines that begin with # sum up: the
 * medians over the contents, least and most, and geometric means.
 *
 *   copy    memcpy of the decoded bytes
 *   codec   each stream through its codec's row into one buffer, no filter
 *   theirs  the writer's own decoder
 *   ours    block by block, as a mount decodes
 *   theirs2 the writer's decoder with its two threads
 *   ours2   two threads with a chunk each
 */
#include "bench.h"

#include "base/bytes.h"
#include "chunk/plan.h"
#include "support/build.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CHUNKS 64
#define N_SIDES 6
#define MAX_ROWS 256

enum { COPY, CODEC, THEIRS, OURS, THEIRS2, OURS2 };

static const char *const codecs[] = { "blosclz", "lz4", "lz4hc", "zlib",
				      "zstd" };
static const char *const filters[] = { "none", "shuffle", "bitshuffle",
				       "delta+shuffle", "shuffle+bytedelta" };

static struct {
	int rounds, mib, kib;
	bool brief;
} opt = { 7, 16, 4096, false };

struct chunk_bytes {
	uint8_t *p;
	size_t len;
};

static struct {
	struct chunk_bytes chunks[MAX_CHUNKS];
	size_t n, each;		/* decoded bytes of a chunk */
	uint8_t *plain, *out;
	struct bfs_scratch *scratch[2];
	struct bench_library lib;
} set;

/* ---- Sides ----------------------------------------------------------- */

static void must(bool good, const char *what)
{
	if (!good)
		bench_die(what);
}

static struct bfs_chunk *open_chunk(const struct chunk_bytes *c,
				    struct bfs_source **ret_source)
{
	const struct bfs_codec_env env = { 0 };
	struct bfs_chunk *chunk = NULL;

	must(bfs_source_memory(c->p, c->len, false, ret_source, NULL) ==
	     BFS_OK, "no memory");
	must(bfs_chunk_open(*ret_source, 0, c->len, UINT32_MAX, &env, &chunk,
			    NULL) == BFS_OK, "a chunk does not open");
	return chunk;
}

static void decode_ours(size_t i, struct bfs_scratch *scratch)
{
	uint8_t *dst = set.out + i * set.each;
	struct bfs_source *source;
	struct bfs_chunk *c = open_chunk(&set.chunks[i], &source);

	for (uint32_t k = 0; k < c->head.n_blocks; k++) {
		uint32_t off, len;

		bfs_chunk_block_span(c, k, &off, &len);
		must(bfs_scratch_fit(scratch, c,
				     bfs_chunk_block_len(c, k)) == BFS_OK &&
		     bfs_chunk_decode(c, k, set.chunks[i].p + off, len, dst,
				      dst + bfs_chunk_block_off(c, k), scratch,
				      NULL) == BFS_OK,
		     "a block does not decode");
	}
	bfs_chunk_unref(c);
	bfs_source_unref(source);
}

static void decode_theirs(size_t i, int n_threads)
{
	must(set.lib.decompress(set.chunks[i].p, set.chunks[i].len,
				set.out + i * set.each, set.each,
				n_threads) == set.each,
	     "the writer cannot read its chunk");
}

/* The streams of one block, each at the same place. */
static void decode_streams(const struct bfs_chunk *c, const uint8_t *in,
			   uint8_t *dst, size_t len, uint32_t n_streams)
{
	struct bfs_scratch *scratch = set.scratch[0];
	struct bfs_codec_job job = {
		.dst = dst, .dst_len = len / n_streams,
		.meta = c->head.codec_meta, .env = &c->env,
	};

	for (uint32_t i = 0; i < n_streams; i++) {
		int32_t csize = (int32_t)bfs_le32(in);

		in += 4;
		job.src = in;
		job.src_len = (size_t)(csize > 0 ? csize : 0);
		if (csize <= 0)
			memset(job.dst, -csize, job.dst_len);
		else if (job.src_len == job.dst_len)
			memcpy(job.dst, in, job.dst_len);
		else
			must(bfs_codec_decode(c->codec, &job,
					      scratch->codecs) == BFS_OK,
			     "a stream does not decode");
		in += csize > 0 ? csize : csize < 0;
	}
}

/* To one place, which stays in the CPU's caches. */
static void decode_codec(size_t i)
{
	uint8_t *dst = set.out;
	struct bfs_source *source;
	struct bfs_chunk *c = open_chunk(&set.chunks[i], &source);

	for (uint32_t k = 0; k < c->head.n_blocks; k++) {
		uint32_t off, in_len, len = bfs_chunk_block_len(c, k);
		bool split = !(c->head.flags & 0x10) &&
			     len == c->head.blocksize;

		bfs_chunk_block_span(c, k, &off, &in_len);
		if (c->head.kind == BFS_CHUNK_BLOCKS)
			decode_streams(c, set.chunks[i].p + off, dst, len,
				       split ? c->head.typesize : 1);
		else
			memcpy(dst, set.chunks[i].p + off, in_len);
	}
	bfs_chunk_unref(c);
	bfs_source_unref(source);
}

/* The second thread waits for its start, so that starting it is not timed. */
static struct {
	_Atomic bool go;
	pthread_barrier_t ready;
} pair;

static void *second_half(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&pair.ready);
	while (!pair.go)
		;
	for (size_t i = 1; i < set.n; i += 2)
		decode_ours(i, set.scratch[1]);
	return NULL;
}

static double time_two_threads(void)
{
	pthread_t other;
	double begin;

	pair.go = false;
	must(pthread_create(&other, NULL, second_half, NULL) == 0,
	     "no second thread");
	pthread_barrier_wait(&pair.ready);
	begin = bench_wall();
	pair.go = true;
	for (size_t i = 0; i < set.n; i += 2)
		decode_ours(i, set.scratch[0]);
	pthread_join(other, NULL);
	return bench_wall() - begin;
}

static bool applies(int side)
{
	if (side == THEIRS || side == THEIRS2)
		return set.lib.decompress;
	return side != OURS2 || set.n > 1;
}

static double time_side(int side)
{
	bool wall = side == THEIRS2;
	double begin = wall ? bench_wall() : bench_cpu();

	if (side == OURS2)
		return time_two_threads();
	for (size_t i = 0; i < set.n; i++)
		switch (side) {
		case COPY:
			memcpy(set.out + i * set.each, set.plain +
			       i * set.each, set.each);
			break;
		case CODEC:
			decode_codec(i);
			break;
		case OURS:
			decode_ours(i, set.scratch[0]);
			break;
		default:
			decode_theirs(i, side == THEIRS2 ? 2 : 1);
		}
	return (wall ? bench_wall() : bench_cpu()) - begin;
}

/* ---- Summary --------------------------------------------------------- */

/* The ratios of every row, to be summed up at the end. */
static struct {
	double one[MAX_ROWS], two[MAX_ROWS];	/* < 0: none */
	uint8_t codec[MAX_ROWS], filter[MAX_ROWS];
	size_t n;
} rows;

static void keep_row(size_t codec, int filter, double one, double two)
{
	if (rows.n == MAX_ROWS)
		return;
	rows.one[rows.n] = one;
	rows.two[rows.n] = two;
	rows.codec[rows.n] = (uint8_t)codec;
	rows.filter[rows.n++] = (uint8_t)filter;
}

static void print_means(const char *name, const double *v)
{
	double sum = 0, n = 0;

	for (size_t i = 0; i < rows.n; i++) {
		if (v[i] <= 0)
			continue;
		sum += log(v[i]);
		n++;
	}
	if (n > 0)
		printf("# geometric mean of %.0f cells, %s: %.2f\n", n, name,
		       exp(sum / n));
}

static void print_cell(size_t codec, int filter)
{
	double v[MAX_ROWS], least = HUGE_VAL, most = 0;
	int n = 0;

	for (size_t i = 0; i < rows.n; i++) {
		if (rows.codec[i] != codec || rows.filter[i] != filter ||
		    rows.one[i] <= 0)
			continue;
		v[n++] = rows.one[i];
		least = fmin(least, rows.one[i]);
		most = fmax(most, rows.one[i]);
	}
	if (n > 0)
		printf("# %s %s: %.2f (%.2f - %.2f)\n", codecs[codec],
		       filters[filter], bench_median(v, n), least, most);
}

/* Medians over the contents, and means over all. */
static void print_summary(const char *library)
{
	printf("# %s, its time to ours\n", library);
	for (size_t k = 0; k < BFS_ARRAY_LEN(codecs); k++)
		for (int f = 0; f < (int)BFS_ARRAY_LEN(filters); f++)
			print_cell(k, f);
	print_means("one thread", rows.one);
	print_means("two threads", rows.two);
	rows.n = 0;
}

/* ---- Rows ------------------------------------------------------------ */

static double print_ratio(const double *a, const double *b, bool there)
{
	double ratio = there ? bench_ratio(a, b, opt.rounds) : -1;

	if (there)
		printf("\t%.3f", ratio);
	else
		printf("\t-");
	return ratio;
}

static void measure(const char *label, size_t compressed, size_t codec,
		    int filter)
{
	static double t[N_SIDES][BENCH_MAX_ROUNDS];
	size_t total = set.n * set.each;
	double one, two;

	for (int s = OURS; s < N_SIDES; s++) {
		memset(set.out, 0x5a, total);
		if (!applies(s))
			continue;
		time_side(s);
		must(memcmp(set.out, set.plain, total) == 0, "wrong bytes");
	}
	for (int r = 0; r < opt.rounds; r++)
		for (int s = 0; s < N_SIDES; s++)
			t[s][r] = applies(s) ? time_side(s) : 0;
	printf("%s\t%.2f", label, (double)total / (double)compressed);
	for (int s = 0; s < N_SIDES; s++)
		if (applies(s))
			printf("\t%.2f", (double)total /
			       bench_median(t[s], opt.rounds) / 1e9);
		else
			printf("\t-");
	one = print_ratio(t[THEIRS], t[OURS], applies(THEIRS));
	two = print_ratio(t[THEIRS2], t[OURS2],
			  applies(THEIRS2) && applies(OURS2));
	keep_row(codec, filter, one, two);
	print_ratio(t[CODEC], t[OURS], true);
	printf("\n");
	fflush(stdout);
}

/* The tests' own writer knows two codecs and four filters. */
static size_t compress_own(const char *codec, int filter, unsigned typesize,
			   const uint8_t *src, size_t len, uint8_t *dst,
			   size_t room)
{
	bool zstd = strcmp(codec, "zstd") == 0;
	struct build out = { 0 };
	struct build_chunk c = {
		.data = src, .len = len, .typesize = typesize,
		.blocksize = 262144, .codec = zstd ? BUILD_ZSTD : BUILD_LZ4,
		.shuffle = filter != BENCH_NONE,
		.delta = filter == BENCH_DELTA,
		.bytedelta = filter == BENCH_BYTEDELTA,
	};
	size_t n;

	if ((!zstd && strcmp(codec, "lz4")) || filter == BENCH_BITSHUFFLE)
		return 0;
	build_chunk(&out, &c);
	n = out.len <= room ? out.len : 0;
	memcpy(dst, out.p, n);
	free(out.p);
	return n;
}

static void run_row(const struct bench_content *content, size_t codec,
		    int filter)
{
	size_t room = set.each + set.each / 8 + 65536, sum = 0;
	/* What the library's simple calls cannot write it can still read. */
	bool by_us = filter == BENCH_BYTEDELTA;
	size_t (*compress)(const char *codec, int filter, unsigned typesize,
			   const uint8_t *src, size_t len, uint8_t *dst,
			   size_t room) = by_us ? compress_own :
						  set.lib.compress;
	char label[128];

	for (size_t i = 0; i < set.n; i++) {
		struct chunk_bytes *c = &set.chunks[i];

		c->p = bench_alloc(room);
		c->len = compress(codecs[codec], filter, content->typesize,
					  set.plain + i * set.each, set.each,
					  c->p, room);
		sum += c->len;
	}
	snprintf(label, sizeof(label), "%s\t%s\t%s\t%s", set.lib.name,
		 content->name, codecs[codec], filters[filter]);
	if (set.chunks[0].len > 0)
		measure(label, sum, codec, filter);
	for (size_t i = 0; i < set.n; i++)
		free(set.chunks[i].p);
}

static bool wanted(const char *codec, char *const *list)
{
	if (!*list)
		return true;
	while (*list && strcmp(*list, codec) != 0)
		list++;
	return *list;
}

static void run_library(struct bench_library lib, char *const *list)
{
	set.lib = lib;
	for (size_t d = 0; d < bench_n_contents; d++) {
		const struct bench_content *content = &bench_contents[d];

		for (size_t i = 0; i < set.n; i++)
			content->fill(set.plain + i * set.each, set.each, i);
		for (size_t k = 0; k < BFS_ARRAY_LEN(codecs); k++)
			for (int f = 0; f < (int)BFS_ARRAY_LEN(filters); f++)
				if (wanted(codecs[k], list) &&
				    (f < BENCH_DELTA || lib.with_delta))
					run_row(content, k, f);
	}
	print_summary(lib.name);
}

static int number(const char *text, int least, int most)
{
	long v = text ? strtol(text, NULL, 10) : 0;

	if (v < least || v > most)
		bench_die("a number is out of range");
	return (int)v;
}

static char *const *parse(char **argv)
{
	for (argv++; *argv && **argv == '-'; argv++) {
		if (strcmp(*argv, "--short") == 0) {
			opt.brief = true;
			opt.rounds = 3;
			opt.mib = 2;
			opt.kib = 1024;
		} else if (strcmp(*argv, "-r") == 0) {
			opt.rounds = number(*++argv, 1, BENCH_MAX_ROUNDS);
		} else if (strcmp(*argv, "-m") == 0) {
			opt.mib = number(*++argv, 1, 1024);
		} else if (strcmp(*argv, "-c") == 0) {
			opt.kib = number(*++argv, 16, 65536);
		} else {
			bench_die("usage: bench-decode [--short] [-r ROUNDS] "
				  "[-m MIB] [-c KIB] [CODEC...]");
		}
	}
	return argv;
}

int main(int argc, char **argv)
{
	char lz4[] = "lz4", *const quick[] = { lz4, NULL };
	const struct bench_library own = { "own", compress_own, NULL, true };
	struct bench_library libs[] = { bench_find_blosc2(),
					bench_find_blosc1() };
	char *const *list = argc > 0 ? parse(argv) : NULL;
	bool found = false;

	set.each = (size_t)opt.kib * 1024;
	set.n = (size_t)bfs_min(MAX_CHUNKS, bfs_max(1,
				(uint64_t)opt.mib * 1024 / (uint64_t)opt.kib));
	set.plain = bench_alloc(set.n * set.each);
	set.out = bench_alloc(set.n * set.each);
	set.scratch[0] = bfs_scratch_new();
	set.scratch[1] = bfs_scratch_new();
	must(set.scratch[0] && set.scratch[1], "no memory");
	must(pthread_barrier_init(&pair.ready, NULL, 2) == 0, "no barrier");
	if (opt.brief && !*list)
		list = quick;
	printf("writer\tcontent\tcodec\tfilter\tratio\tcopy\tcodec\ttheirs\t"
	       "ours\ttheirs2\tours2\tours/theirs\tours2/theirs2\t"
	       "ours/codec\n");
	for (size_t i = 0; i < BFS_ARRAY_LEN(libs); i++)
		if (libs[i].name) {
			run_library(libs[i], list);
			found = true;
		}
	if (!found)
		run_library(own, list);
	bfs_scratch_free(set.scratch[0]);
	bfs_scratch_free(set.scratch[1]);
	free(set.plain);
	free(set.out);
	return 0;
}
