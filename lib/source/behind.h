/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * behind.h - which bytes of a file were read and are not wanted any more, so
 * that the kernel may have their pages back.
 *
 * Pure book-keeping: reads that go on from one another are one range, which is
 * due when it has BFS_BEHIND_LEN bytes, when it ends where the file ends, or
 * when too many others were begun since. So there is at most one due range for
 * each MiB that is read in order, and for each place that is read elsewhere.
 * Ranges are whole pages. All calls may run at once.
 */
#ifndef BFS_SOURCE_BEHIND_H
#define BFS_SOURCE_BEHIND_H

#include "source/source.h"

#include <stdbool.h>
#include <stdint.h>

#define BFS_BEHIND_LEN ((uint64_t)1 << 20)
#define BFS_BEHIND_RANGES 8	/* that are known at once */

struct bfs_behind;

/* For a file of len bytes; NULL on no memory. */
struct bfs_behind *bfs_behind_new(uint64_t len) BFS_MUST_CHECK;
/* NULL is fine. */
void bfs_behind_free(struct bfs_behind *b);

/* [off, off + len) was read. True: *ret_due is to be given back now. */
bool bfs_behind_note(struct bfs_behind *b, uint64_t off, uint64_t len,
		     struct bfs_range *ret_due) BFS_MUST_CHECK;
/* One of the ranges that are not due yet, which is forgotten; false when there
 * is none. For when nobody reads any more. */
bool bfs_behind_rest(struct bfs_behind *b,
		     struct bfs_range *ret_due) BFS_MUST_CHECK;

#endif
