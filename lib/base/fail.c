/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fail.c - filling a diagnosis (err.h), where errors of the moment are counted.
 */
#include "base/err.h"

#include "base/assert.h"
#include "base/moment.h"

#include <stdarg.h>
#include <stdio.h>

void bfs_fail_note(struct bfs_diag *diag, enum bfs_err err, uint64_t off,
		   const char *fmt, ...)
{
	bool passes = bfs_err_passes(err);
	struct bfs_diag own;
	va_list args;

	BFS_CHECK(err != BFS_OK);
	if (!diag && !passes)
		return;
	if (!diag)
		diag = &own;
	diag->err = err;
	diag->off = off;
	diag->chunk = -1;
	va_start(args, fmt);
	vsnprintf(diag->text, sizeof(diag->text), fmt, args);
	va_end(args);
	if (passes)
		bfs_moment_note(diag);
}
