/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * settle.c - whether a finding holds, or was made beside an error of the
 * moment: the thread's own errors, or the end of the call it works for.
 */
#include "base/moment.h"

#include "base/assert.h"
#include "base/call.h"

enum bfs_err bfs_moment_settle(uint64_t mark, enum bfs_err err,
			       struct bfs_diag *diag)
{
	enum bfs_err stopped = bfs_call_stopped(diag);
	uint64_t now = bfs_moment_mark();
	struct bfs_diag last;

	BFS_ASSERT(mark <= now);
	if (stopped != BFS_OK)
		return stopped;
	/* What the caller was told is closer to the place. */
	if (now == mark || bfs_err_passes(err))
		return err;
	bfs_moment_last(&last);
	if (diag)
		*diag = last;
	return last.err;
}
