/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * entries.h - for fuzzing: what must be true of an opened container, whatever
 * bytes it was made of. What is not ends the program.
 */
#ifndef FUZZ_ENTRIES_H
#define FUZZ_ENTRIES_H

#include "array/array.h"
#include "view/view.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline void need_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
	abort();
}

#define need(holds) \
	((holds) ? (void)0 : need_failed(#holds, __FILE__, __LINE__))

/* The one that all inputs share: a small cache, and a limit of memory. */
struct bfs_engine *entries_engine(void);

/* How many bytes before a container only say under which name it comes: one
 * that is below 4, or none, so that files as they are do as seeds. */
size_t entries_prefix(const uint8_t *data, size_t len);
/* Opens what is behind them; NULL where it does not open. */
struct bfs_array *entries_open(const uint8_t *data, size_t len);

/* Lists all entries, looks them up again, and reads parts of all, twice. Takes
 * over array. */
void entries_walk(struct bfs_array *array);

/* The views of one container against one another: the chunks joined, data.bin,
 * the bytes of data.npy and the chunks of the Zarr store are the same items.
 * bytes (NULL: unknown): what the container was made of, for the oracle. Takes
 * over array. */
void entries_agree(struct bfs_array *array, const uint8_t *bytes, size_t len);

/* Lets go of what the last input left; returns the memory in use. */
uint64_t entries_begin(void);
/* Of what was opened since then nothing is left, but for scratch and an empty
 * cache. */
void entries_settle(uint64_t used_before);

#endif
