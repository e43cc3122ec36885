/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call.c - see call.h.
 */
#include "call.h"

static _Thread_local struct bloscfs_call *mine;
static _Thread_local bool may_wait, must_wait;
static _Thread_local uint64_t awaited;

void call_use(struct bloscfs_call *call)
{
	mine = call;
}

bool call_is_void(void)
{
	return mine && bloscfs_call_stopped(mine, NULL) != BLOSCFS_OK;
}

bool call_may_wait(uint64_t server)
{
	if (!mine || may_wait)
		return true;
	must_wait = true;
	awaited = server;
	bloscfs_call_cancel(mine);
	/* It is stopped from the moment that it hears of it. */
	return bloscfs_call_check(NULL) == BLOSCFS_OK;
}

void call_let_wait(bool may)
{
	may_wait = may;
	must_wait = false;
	awaited = 0;
}

bool call_must_wait(void)
{
	return must_wait;
}

uint64_t call_awaited(void)
{
	return awaited;
}
