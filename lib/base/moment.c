/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * moment.c - see moment.h.
 */
#include "base/moment.h"

#include "base/assert.h"

struct moment {
	uint64_t n;
	struct bfs_diag why;		/* of the last one */
};

#ifdef __GNUC__
__attribute__((tls_model("initial-exec")))
#endif
static _Thread_local struct moment met;

uint64_t bfs_moment_mark(void)
{
	return met.n;
}

void bfs_moment_last(struct bfs_diag *ret_why)
{
	*ret_why = met.why;
}

void bfs_moment_forget(uint64_t mark)
{
	BFS_ASSERT(mark <= met.n);
	met.n = mark;
}

void bfs_moment_note(const struct bfs_diag *why)
{
	BFS_ASSERT(bfs_err_passes(why->err));
	met.n++;
	met.why = *why;
}
