/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.c - clocks, medians and content of the measuring programs.
 */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bench_cpu(void)
{
	return seconds(CLOCK_THREAD_CPUTIME_ID);
}

double bench_wall(void)
{
	return seconds(CLOCK_MONOTONIC);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double bench_median(const double *v, int n)
{
	double sorted[BENCH_MAX_ROUNDS];

	memcpy(sorted, v, (size_t)n * sizeof(*v));
	qsort(sorted, (size_t)n, sizeof(*v), compare);
	return n % 2 ? sorted[n / 2] :
		       (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double bench_ratio(const double *a, const double *b, int n)
{
	double ratios[BENCH_MAX_ROUNDS];

	for (int i = 0; i < n; i++)
		ratios[i] = a[i] / b[i];
	return bench_median(ratios, n);
}

void bench_die(const char *why)
{
	fprintf(stderr, "bench: %s\n", why);
	exit(1);
}

void *bench_alloc(size_t len)
{
	void *p = aligned_alloc(4096, (len + 4095) / 4096 * 4096 + 4096);

	if (!p)
		bench_die("no memory");
	/* Pages that are there cost nobody anything later. */
	memset(p, 1, len);
	return p;
}

static uint32_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* int32: a walk of small steps that stands still half of the time. */
static void fill_walk(uint8_t *p, size_t len, uint64_t seed)
{
	int32_t at = (int32_t)(seed * 1000);

	for (size_t i = 0; i + 4 <= len; i += 4) {
		uint32_t r = draw(&seed);

		if (r & 1)
			at += (int32_t)(r >> 1 & 15) - 7;
		memcpy(p + i, &at, 4);
	}
}

/* float: smooth, with noise below a thousandth. */
static void fill_wave(uint8_t *p, size_t len, uint64_t seed)
{
	for (size_t i = 0; i + 4 <= len; i += 4) {
		float noise = (float)(draw(&seed) & 1023) * 1e-6f;
		float v = 20.0f + sinf((float)i * 1e-4f) * 5.0f + noise;

		memcpy(p + i, &v, 4);
	}
}

/* double: a clock's steady ticks. */
static void fill_ticks(uint8_t *p, size_t len, uint64_t seed)
{
	double t = (double)seed;

	for (size_t i = 0; i + 8 <= len; i += 8, t += 0.25)
		memcpy(p + i, &t, 8);
}

/* uint16: a detector of 12 bits, bright in the middle of each line. */
static void fill_picture(uint8_t *p, size_t len, uint64_t seed)
{
	for (size_t i = 0; i + 2 <= len; i += 2) {
		unsigned x = (unsigned)(i / 2 % 1024);
		unsigned light = (x < 512 ? x : 1023 - x) / 4;
		uint16_t v = (uint16_t)(light + (draw(&seed) & 15) + 100);

		memcpy(p + i, &v, 2);
	}
}

/* Lines of a log. */
static void fill_text(uint8_t *p, size_t len, uint64_t seed)
{
	static const char *const words[] = {
		"the", "run", "began", "beam", "current", "mA", "dump",
		"sample", "moved", "to", "stage", "at", "error", "none",
	};
	size_t i = 0;

	while (i < len) {
		uint32_t r = draw(&seed);
		char word[32];
		int n = snprintf(word, sizeof(word), "%s %u%c",
				 words[r % 14], r >> 8 & 255,
				 r >> 16 & 7 ? ' ' : '\n');

		for (int k = 0; k < n && i < len; k++)
			p[i++] = (uint8_t)word[k];
	}
}

const struct bench_content bench_contents[] = {
	{ "walk-i4", 4, fill_walk },
	{ "wave-f4", 4, fill_wave },
	{ "ticks-f8", 8, fill_ticks },
	{ "picture-u2", 2, fill_picture },
	{ "text-u1", 1, fill_text },
};
const size_t bench_n_contents =
	sizeof(bench_contents) / sizeof(bench_contents[0]);
