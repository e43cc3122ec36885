/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mutate.h - changes of Blosc files that know where numbers stand, so that
 * more than the first check of a header is reached.
 */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* The engine's own changes, or the driver's. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t max);

/* Changes a frame or a chunk in place: fields of headers, entries of an index
 * and of bstarts, lengths of streams, metalayers and the trailer. Afterwards
 * mostly sets right what only says how long the whole is, and checksums
 * (mend.h). Whatever else the bytes are is left to the engine. Returns the new
 * length, at most max. The first `keep` bytes (<= max) are a target's own. */
size_t mutate_file(uint8_t *data, size_t len, size_t keep, size_t max,
		   unsigned seed);
/* The same of bytes that stay as many. */
void mutate_in_place(uint8_t *data, size_t len, unsigned seed);

#endif
