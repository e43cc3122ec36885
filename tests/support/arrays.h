/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arrays.h - for tests of the array room: opened frames over bytes in memory.
 * Each aborts the test where it fails.
 */
#ifndef ARRAYS_H
#define ARRAYS_H

#include "array/array.h"
#include "support/build.h"

#define ARRAYS_CHUNK ((size_t)8 << 20)
#define ARRAYS_BLOCK ((size_t)128 << 10)

extern const struct bfs_stream arrays_data;

/* With a pool of three threads. */
struct bfs_engine *arrays_engine(uint64_t cache_len);
/* The bytes stay the caller's and must outlive the array. */
struct bfs_array *arrays_open(struct bfs_engine *engine, const void *p,
			      size_t len);
/* A frame of two chunks of 8 MiB in blocks of 128 KiB, typesize 4, shuffled;
 * returns what is in it, to be freed. */
uint8_t *arrays_make_big(struct build *out, enum build_codec codec, int delta);
bool arrays_have_block(struct bfs_array *array, uint64_t chunk,
		       uint64_t block);

#endif
