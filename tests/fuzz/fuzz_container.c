/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_container.c - any bytes as a container, all of whose entries are walked
 * (entries.h).
 */
#include "entries.h"
#include "mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
			       unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
			       unsigned seed)
{
	return mutate_file(data, len, entries_prefix(data, len), max, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint64_t before = entries_begin();
	struct bfs_array *array = entries_open(data, len);

	if (array)
		entries_walk(array);
	entries_settle(before);
	return 0;
}
