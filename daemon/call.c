/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call.c - see call.h.
 */
#include "call.h"

static _Thread_local struct bloscfs_call *mine;
static _Thread_local bool may_wait, must_wait;

void call_use(struct bloscfs_call *call)
{
	mine = call;
}

bool call_is_void(void)
{
	return mine && bloscfs_call_stopped(mine, NULL) != BLOSCFS_OK;
}

bool call_may_wait(void)
{
	if (!mine || may_wait)
		return true;
	must_wait = true;
	bloscfs_call_cancel(mine);
	/* It is stopped from the moment that it hears of it. */
	return bloscfs_call_check(NULL) == BLOSCFS_OK;
}

void call_let_wait(bool may)
{
	may_wait = may;
	must_wait = false;
}

bool call_must_wait(void)
{
	return must_wait;
}
