/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * assert.c - see assert.h.
 */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void bfs_assert_failed(const char *cond, const char *file, int line)
{
	fprintf(stderr, "bloscfs: %s:%d: this should hold: %s\n", file, line,
		cond);
	abort();
}
