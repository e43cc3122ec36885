/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spill.h - text that waits to be printed: the beginning in memory, what is
 * long in a file that has no name.
 */
#ifndef BFS_DAEMON_CHECK_SPILL_H
#define BFS_DAEMON_CHECK_SPILL_H

#include <stdbool.h>
#include <stdio.h>

struct spill;

/* NULL: no memory. */
struct spill *spill_new(void);
/* To write with; the caller closes it before the next call. NULL: no memory. */
FILE *spill_open(struct spill *spill);
/* Writes all of it to out. 0, or -errno of what was not kept or read; what out
 * met is its own. */
int spill_copy(struct spill *spill, FILE *out);
void spill_free(struct spill *spill);	/* may be NULL */

#endif
