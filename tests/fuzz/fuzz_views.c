/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_views.c - any bytes as a container, mostly frames and chunks of which
 * single numbers are changed: what its views show is the same, and what the
 * oracle says (entries.h).
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
	size_t skip = entries_prefix(data, len);
	uint64_t before = entries_begin();
	struct bfs_array *array = entries_open(data, len);

	if (array)
		entries_agree(array, data + skip, len - skip);
	entries_settle(before);
	return 0;
}
