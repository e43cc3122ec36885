/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.h - what the measuring programs share: clocks, medians, content, and
 * other people's libraries as far as they are on this machine.
 *
 * Sides of a comparison are measured in rounds, one after the other in each,
 * so that a slow spell of the machine meets all of them; what counts is the
 * median of the rounds' ratios.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_MAX_ROUNDS 99

/* Seconds: of this thread's CPU, or of the clock on the wall. */
double bench_cpu(void);
double bench_wall(void);
double bench_median(const double *v, int n);
/* The median of a[i] / b[i]. */
double bench_ratio(const double *a, const double *b, int n);
/* Ends the program. */
_Noreturn void bench_die(const char *why);
void *bench_alloc(size_t len);

/* Content that is the same everywhere. */
struct bench_content {
	const char *name;
	unsigned typesize;
	void (*fill)(uint8_t *p, size_t len, uint64_t seed);
};
extern const struct bench_content bench_contents[];
extern const size_t bench_n_contents;

/* A library that writes and reads chunks. The files are looked for in an
 * environment variable (BLOSC2_LIBRARY, BLOSC_LIBRARY), then where the
 * dynamic linker finds them. */
struct bench_library {
	const char *name;	/* NULL: not there */
	/* All return the length, or 0 on failure. */
	size_t (*compress)(const char *codec, int filter, unsigned typesize,
			   const uint8_t *src, size_t len, uint8_t *dst,
			   size_t room);
	size_t (*decompress)(const uint8_t *src, size_t len, uint8_t *dst,
			     size_t room, int n_threads);
	bool with_delta;
};
enum { BENCH_NONE, BENCH_SHUFFLE, BENCH_BITSHUFFLE, BENCH_DELTA,
       BENCH_BYTEDELTA };

struct bench_library bench_find_blosc2(void);
struct bench_library bench_find_blosc1(void);

/* Opens a frame with c-blosc2 and reads its first item; seconds, or < 0
 * where that library is not there. */
double bench_open_blosc2(const char *path, uint8_t *first);
/* A frame kept open, or NULL where the library is not there; a range of its
 * items. */
void *bench_frame_blosc2(const char *path);
bool bench_items_blosc2(void *schunk, int64_t start, int64_t stop,
			uint8_t *dst);
/* Seconds for each chunk of a frame, one after the other in one thread. */
double bench_all_blosc2(const char *path, uint64_t len, uint64_t chunk_len);
/* Seconds for a box of a 3-d array of one path, opened at the first call;
 * < 0 where the library is not there. */
double bench_slice_blosc2(const char *path, const int64_t *start,
			  const int64_t *stop, uint8_t *dst, size_t len);

#endif
