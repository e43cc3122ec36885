/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_dtype.c - any bytes as a dtype's text; what is taken is written as a
 * descr, which must be a dtype of the same size.
 */
#include "text/dtype.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_again(struct bfs_dtype *type)
{
	struct bfs_dtype again;
	char *text = NULL;
	bool wide;

	if (bfs_dtype_descr(type, &text, &wide) != BFS_OK)
		return;
	if (bfs_dtype_parse(text, strlen(text), &again, NULL) != BFS_OK ||
	    again.itemsize != type->unit_size)
		abort();
	bfs_dtype_release(&again);
	bfs_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint64_t shape[] = { 5, 7 };
	const char *text = (const char *)data;
	struct bfs_dtype type;
	uint64_t itemsize = 4;
	uint8_t *header = NULL;
	size_t len = 0;

	if (bfs_dtype_parse(text, size, &type, NULL) == BFS_OK) {
		itemsize = type.itemsize;
		write_again(&type);
		bfs_dtype_release(&type);
	}
	if (bfs_npy_header(text, size, itemsize, 2, shape, false, &header,
			   &len, NULL) == BFS_OK) {
		if (len % 64 || header[len - 1] != '\n')
			abort();
		bfs_free(header);
	}
	return 0;
}
