/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call.c - see call.h.
 */
#include "call.h"

static _Thread_local const struct bloscfs_call *mine;

void call_use(const struct bloscfs_call *call)
{
	mine = call;
}

bool call_is_void(void)
{
	return mine && bloscfs_call_stopped(mine, NULL) != BLOSCFS_OK;
}
