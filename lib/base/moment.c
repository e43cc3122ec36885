/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * moment.c - see moment.h.
 */
#include "base/moment.h"

#include "base/assert.h"
#include "base/call.h"

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

enum bfs_err bfs_moment_settle(uint64_t mark, enum bfs_err err,
			       struct bfs_diag *diag)
{
	enum bfs_err stopped = bfs_call_stopped(diag);

	BFS_ASSERT(mark <= met.n);
	if (stopped != BFS_OK)
		return stopped;
	/* What the caller was told is closer to the place. */
	if (met.n == mark || bfs_err_passes(err))
		return err;
	if (diag)
		*diag = met.why;
	return met.why.err;
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
