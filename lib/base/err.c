/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * err.c - error names and errno.
 */
#include "base/err.h"

#include <errno.h>

static const struct {
	const char *name;
	int error;
} table[BFS_N_ERRS] = {
	[BFS_OK] = { "ok", 0 },
	[BFS_ERR_NOMEM] = { "no memory", ENOMEM },
	[BFS_ERR_IO] = { "read error", EIO },
	[BFS_ERR_NOT_FORMAT] = { "not this format", EIO },
	[BFS_ERR_TRUNCATED] = { "truncated", EIO },
	[BFS_ERR_CORRUPT] = { "corrupt", EIO },
	[BFS_ERR_UNSUPPORTED] = { "unsupported", EOPNOTSUPP },
	[BFS_ERR_LIMIT] = { "over a limit", EIO },
	[BFS_ERR_RANGE] = { "out of range", EINVAL },
	[BFS_ERR_CHANGED] = { "changed", ESTALE },
	[BFS_ERR_INVALID] = { "invalid argument", EINVAL },
	[BFS_ERR_CANCELLED] = { "cancelled", EINTR },
	[BFS_ERR_TOO_MUCH] = { "too much work", EIO },
	[BFS_ERR_NO_FILES] = { "no descriptors", EMFILE },
	[BFS_ERR_ACCESS] = { "no access", EACCES },
};

const char *bfs_err_name(enum bfs_err err)
{
	if ((unsigned)err >= BFS_N_ERRS)
		return "unknown error";
	return table[err].name;
}

int bfs_err_errno(enum bfs_err err)
{
	if ((unsigned)err >= BFS_N_ERRS)
		return EIO;
	return table[err].error;
}
