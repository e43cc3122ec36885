/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call.c - the public interface to calls: what one may cost, and the way out
 * of it (base/call).
 */
#include "api/priv.h"

#include "base/mem.h"

#include <string.h>

struct bloscfs_call *bloscfs_call_new(struct bloscfs *fs)
{
	struct bloscfs_call *call;

	if (!fs)
		return NULL;
	BFS_CHARGE_TO(fs->budget);
	call = bfs_zalloc(1, sizeof(*call));
	if (call) {
		bfs_call_init(&call->own);
		call->fs = fs;
	}
	return call;
}

void bloscfs_call_free(struct bloscfs_call *call)
{
	bfs_free(call);
}

void bloscfs_call_start(struct bloscfs_call *call,
			const struct bloscfs_call_limits *limits)
{
	struct bloscfs_call_limits taken = { 0 };

	if (!call)
		return;
	if (limits)
		memcpy(&taken, limits, limits->size < sizeof(taken) ?
		       limits->size : sizeof(taken));
	bfs_call_start(&call->own, taken.bytes, taken.cpu_ms, taken.wall_ms);
	call->own.patience = (enum bfs_patience)taken.patience;
	call->own.ends[0] = bfs_engine_ending(call->fs->engine);
	bfs_call_enter(&call->own);
}

void bloscfs_call_cancel(struct bloscfs_call *call)
{
	if (call)
		atomic_store(&call->own.cancelled, true);
}

enum bloscfs_err bloscfs_call_stopped(const struct bloscfs_call *call,
				      struct bloscfs_diag *diag)
{
	if (!call)
		return BLOSCFS_OK;
	if (call->own.why.err != BFS_OK)
		bfs_api_show(&call->own.why, diag);
	return (enum bloscfs_err)call->own.why.err;
}

enum bloscfs_err bloscfs_call_check(struct bloscfs_diag *diag)
{
	struct bfs_diag own = { .chunk = -1 };

	return bfs_api_answer(bfs_call_look(&own), &own, diag);
}

bool bloscfs_call_would_wait(const struct bloscfs_call *call)
{
	return call && call->own.would_wait;
}

void bloscfs_call_end(struct bloscfs_call *call)
{
	if (call)
		bfs_call_enter(NULL);
}

void bloscfs_cancel_all(struct bloscfs *fs)
{
	if (fs)
		bfs_engine_cancel(fs->engine);
}
