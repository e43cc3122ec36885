/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reference.c - c-blosc2 and c-blosc, opened at run time, so that this tree
 * needs neither to build. Only calls that take no structures of theirs are
 * used: those have kept their meaning through all releases.
 */
#include "bench.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void *open_library(const char *variable, const char *const *names)
{
	const char *path = getenv(variable);
	void *lib = NULL;

	if (path)
		return dlopen(path, RTLD_NOW | RTLD_LOCAL);
	for (; *names && !lib; names++)
		lib = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
	return lib;
}

static bool find(void *lib, const char *name, void *ret_call)
{
	void *symbol = dlsym(lib, name);

	memcpy(ret_call, &symbol, sizeof(symbol));
	return symbol;
}

/* ---- c-blosc2 -------------------------------------------------------- */

static struct {
	void *lib;
	void (*init)(void);
	int (*set_compressor)(const char *name);
	void (*set_delta)(int on);
	int16_t (*set_threads)(int16_t n);
	int (*compress)(int level, int shuffle, int32_t typesize,
			const void *src, int32_t len, void *dst, int32_t room);
	int (*decompress)(const void *src, int32_t len, void *dst,
			  int32_t room);
	void *(*open)(const char *path);
	int (*slice)(void *schunk, int64_t start, int64_t stop, void *dst);
	int (*chunk)(void *schunk, int64_t n, void *dst, int32_t room);
	int (*close)(void *schunk);
	int (*open_array)(const char *path, void **ret_array);
	int (*slice_array)(const void *array, const int64_t *start,
			   const int64_t *stop, void *dst,
			   const int64_t *shape, int64_t room);
	int (*close_array)(void *array);
} b2;

static bool load_blosc2(void)
{
	static const char *const names[] = {
		"libblosc2.so", "libblosc2.so.9", "libblosc2.so.8",
		"libblosc2.so.7", "libblosc2.so.6", "libblosc2.so.5",
		"libblosc2.so.4", "libblosc2.so.3", "libblosc2.so.2", NULL
	};
	static bool tried;

	if (tried)
		return b2.lib;
	tried = true;
	b2.lib = open_library("BLOSC2_LIBRARY", names);
	if (!b2.lib)
		return false;
	if (!find(b2.lib, "blosc2_init", &b2.init) ||
	    !find(b2.lib, "blosc1_set_compressor", &b2.set_compressor) ||
	    !find(b2.lib, "blosc2_set_delta", &b2.set_delta) ||
	    !find(b2.lib, "blosc2_set_nthreads", &b2.set_threads) ||
	    !find(b2.lib, "blosc2_compress", &b2.compress) ||
	    !find(b2.lib, "blosc2_decompress", &b2.decompress) ||
	    !find(b2.lib, "blosc2_schunk_open", &b2.open) ||
	    !find(b2.lib, "blosc2_schunk_get_slice_buffer", &b2.slice) ||
	    !find(b2.lib, "blosc2_schunk_decompress_chunk", &b2.chunk) ||
	    !find(b2.lib, "blosc2_schunk_free", &b2.close))
		bench_die("this libblosc2 lacks a call");
	if (!find(b2.lib, "b2nd_open", &b2.open_array) ||
	    !find(b2.lib, "b2nd_get_slice_cbuffer", &b2.slice_array) ||
	    !find(b2.lib, "b2nd_free", &b2.close_array))
		b2.open_array = NULL;
	b2.init();
	return true;
}

static size_t compress_blosc2(const char *codec, int filter, unsigned typesize,
			      const uint8_t *src, size_t len, uint8_t *dst,
			      size_t room)
{
	int n;

	if (b2.set_compressor(codec) < 0)
		return 0;
	b2.set_threads(1);
	b2.set_delta(filter == BENCH_DELTA);
	n = b2.compress(5, filter == BENCH_DELTA ? BENCH_SHUFFLE : filter,
			(int32_t)typesize, src, (int32_t)len, dst,
			(int32_t)room);
	b2.set_delta(0);
	return n > 0 ? (size_t)n : 0;
}

static size_t decompress_blosc2(const uint8_t *src, size_t len, uint8_t *dst,
				size_t room, int n_threads)
{
	static int had;
	int n;

	if (n_threads != had)
		b2.set_threads((int16_t)n_threads);
	had = n_threads;
	n = b2.decompress(src, (int32_t)len, dst, (int32_t)room);
	return n > 0 ? (size_t)n : 0;
}

struct bench_library bench_find_blosc2(void)
{
	struct bench_library found = {
		"c-blosc2", compress_blosc2, decompress_blosc2, true
	};

	if (!load_blosc2())
		found.name = NULL;
	return found;
}

double bench_open_blosc2(const char *path, uint8_t *first)
{
	double begin = bench_wall();
	void *schunk;

	if (!load_blosc2())
		return -1;
	schunk = b2.open(path);
	if (!schunk || b2.slice(schunk, 0, 1, first) < 0)
		bench_die("c-blosc2 cannot read the frame");
	b2.close(schunk);
	return bench_wall() - begin;
}

void *bench_frame_blosc2(const char *path)
{
	return load_blosc2() ? b2.open(path) : NULL;
}

bool bench_items_blosc2(void *schunk, int64_t start, int64_t stop,
			uint8_t *dst)
{
	return b2.slice(schunk, start, stop, dst) >= 0;
}

double bench_all_blosc2(const char *path, uint64_t len, uint64_t chunk_len)
{
	uint8_t *dst = malloc(chunk_len);
	void *schunk;
	double begin;

	b2.set_threads(1);
	schunk = b2.open(path);
	if (!schunk || !dst)
		bench_die("c-blosc2 cannot open the frame");
	memset(dst, 1, chunk_len);
	begin = bench_wall();
	for (uint64_t n = 0; n * chunk_len < len; n++)
		if (b2.chunk(schunk, (int64_t)n, dst, (int32_t)chunk_len) < 0)
			bench_die("c-blosc2 cannot read the frame");
	begin = bench_wall() - begin;
	b2.close(schunk);
	free(dst);
	return begin;
}

double bench_slice_blosc2(const char *path, const int64_t *start,
			  const int64_t *stop, uint8_t *dst, size_t len)
{
	static void *array;
	static const char *opened;
	int64_t shape[3];
	double begin;

	if (!load_blosc2() || !b2.open_array)
		return -1;
	if (!opened && b2.open_array(path, &array) < 0)
		bench_die("c-blosc2 cannot open the array");
	opened = path;
	for (int d = 0; d < 3; d++)
		shape[d] = stop[d] - start[d];
	begin = bench_wall();
	if (b2.slice_array(array, start, stop, dst, shape, (int64_t)len) < 0)
		bench_die("c-blosc2 cannot read the slice");
	return bench_wall() - begin;
}

/* ---- c-blosc --------------------------------------------------------- */

static struct {
	void *lib;
	void (*init)(void);
	int (*set_threads)(int n);
	int (*compress)(int level, int shuffle, size_t typesize, size_t len,
			const void *src, void *dst, size_t room,
			const char *codec, size_t blocksize, int n_threads);
	int (*decompress)(const void *src, void *dst, size_t room);
} b1;

static size_t compress_blosc1(const char *codec, int filter, unsigned typesize,
			      const uint8_t *src, size_t len, uint8_t *dst,
			      size_t room)
{
	int n = b1.compress(5, filter, typesize, len, src, dst, room, codec, 0,
			    1);

	return n > 0 ? (size_t)n : 0;
}

static size_t decompress_blosc1(const uint8_t *src, size_t len, uint8_t *dst,
				size_t room, int n_threads)
{
	static int had;
	int n;

	(void)len;
	if (n_threads != had)
		b1.set_threads(n_threads);
	had = n_threads;
	n = b1.decompress(src, dst, room);
	return n > 0 ? (size_t)n : 0;
}

struct bench_library bench_find_blosc1(void)
{
	static const char *const names[] = { "libblosc.so.1", NULL };
	struct bench_library found = {
		"c-blosc", compress_blosc1, decompress_blosc1, false
	};

	b1.lib = open_library("BLOSC_LIBRARY", names);
	if (!b1.lib || !find(b1.lib, "blosc_init", &b1.init) ||
	    !find(b1.lib, "blosc_set_nthreads", &b1.set_threads) ||
	    !find(b1.lib, "blosc_compress_ctx", &b1.compress) ||
	    !find(b1.lib, "blosc_decompress", &b1.decompress))
		found.name = NULL;
	else
		b1.init();
	return found;
}
