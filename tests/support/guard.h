/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * guard.h - memory between two inaccessible pages: one byte too many, read
 * or written on either side, ends the test.
 */
#ifndef BFS_GUARD_H
#define BFS_GUARD_H

#include <stddef.h>
#include <stdint.h>

struct guard {
	uint8_t *map;
	size_t map_len;
	uint8_t *first;		/* right behind the page before */
	uint8_t *limit;		/* right at the page behind */
};

/* Memory for up to len bytes, which may be 0; its bytes are 0. Ends the
 * program if there is none. */
void guard_open(struct guard *g, size_t len);
void guard_close(struct guard *g);

/* len bytes that begin right behind the page before. */
uint8_t *guard_head(const struct guard *g, size_t len);
/* len bytes that end right at the page behind. */
uint8_t *guard_tail(const struct guard *g, size_t len);

#endif
