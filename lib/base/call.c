/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call.c - see call.h.
 */
#include "base/call.h"

#include <inttypes.h>
#include <time.h>

/* The clocks are looked at after so many bytes; a step takes time even where
 * it is for few of them. */
#define CLOCK_STEP (UINT64_C(256) << 10)
#define LEAST_STEP (UINT64_C(4) << 10)

_Thread_local struct bfs_call *bfs_call_now;

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void bfs_call_init(struct bfs_call *call)
{
	*call = (struct bfs_call){ .limit = 0 };
	call->why.chunk = -1;
}

void bfs_call_start(struct bfs_call *call, uint64_t limit, uint64_t cpu_ms,
		    uint64_t wall_ms)
{
	atomic_store_explicit(&call->cancelled, false, memory_order_relaxed);
	call->ends[0] = call->ends[1] = NULL;
	call->limit = limit;
	call->cpu_limit_ns = cpu_ms * 1000000;
	call->deadline_ns = wall_ms ? read_clock(CLOCK_MONOTONIC) +
				      wall_ms * 1000000 : 0;
	call->patience = BFS_WAITS;
	call->spent = call->blind = 0;
	call->cpu_start_ns = 0;
	call->why.err = BFS_OK;
	call->would_wait = false;
}

struct bfs_call *bfs_call_enter(struct bfs_call *call)
{
	struct bfs_call *before = bfs_call_now;

	bfs_call_now = call;
	return before;
}

void bfs_call_leave(struct bfs_call *before)
{
	bfs_call_now = before;
}

enum bfs_err bfs_call_stopped(struct bfs_diag *diag)
{
	const struct bfs_call *call = bfs_call_now;

	if (BFS_LIKELY(!call || call->why.err == BFS_OK))
		return BFS_OK;
	if (diag)
		*diag = call->why;
	return call->why.err;
}

/* Tells why the call was stopped. */
static enum bfs_err tell(const struct bfs_call *call, struct bfs_diag *diag)
{
	if (diag)
		*diag = call->why;
	return call->why.err;
}

static void check_clocks(struct bfs_call *call)
{
	call->blind = 0;
	if (call->cpu_limit_ns && read_clock(CLOCK_THREAD_CPUTIME_ID) -
				  call->cpu_start_ns > call->cpu_limit_ns)
		bfs_fail(&call->why, BFS_ERR_TOO_MUCH, 0,
			 "one request takes over %" PRIu64 " ms of computing",
			 call->cpu_limit_ns / 1000000);
	else if (call->deadline_ns &&
		 read_clock(CLOCK_MONOTONIC) > call->deadline_ns)
		bfs_fail(&call->why, BFS_ERR_TOO_MUCH, 0,
			 "one request takes too long");
}

/* A step of len bytes. */
static void pass_time(struct bfs_call *call, uint64_t len)
{
	if (call->cpu_limit_ns && call->cpu_start_ns == 0)
		call->cpu_start_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
	call->blind += len > LEAST_STEP ? len : LEAST_STEP;
	if (call->blind >= CLOCK_STEP)
		check_clocks(call);
}

static bool has_clock(const struct bfs_call *call)
{
	return call->cpu_limit_ns || call->deadline_ns;
}

/* Whether it was cancelled, or stopped before. */
static enum bfs_err check_flags(struct bfs_call *call, struct bfs_diag *diag)
{
	if (BFS_UNLIKELY(call->why.err != BFS_OK))
		return tell(call, diag);
	if (BFS_UNLIKELY(call->cancel_at) && --call->cancel_at == 0)
		atomic_store(&call->cancelled, true);
	if (BFS_LIKELY(!bfs_call_is_cancelled(call)))
		return BFS_OK;
	bfs_fail(&call->why, BFS_ERR_CANCELLED, 0, "the call was cancelled");
	return tell(call, diag);
}

enum bfs_err bfs_call_check_now(struct bfs_diag *diag)
{
	struct bfs_call *call = bfs_call_now;

	BFS_TRY(check_flags(call, diag));
	if (BFS_LIKELY(!has_clock(call)))
		return BFS_OK;
	pass_time(call, 0);
	return call->why.err == BFS_OK ? BFS_OK : tell(call, diag);
}

enum bfs_err bfs_call_look(struct bfs_diag *diag)
{
	struct bfs_call *call = bfs_call_now;

	if (!call)
		return BFS_OK;
	BFS_TRY(bfs_call_check_now(diag));
	check_clocks(call);
	return call->why.err == BFS_OK ? BFS_OK : tell(call, diag);
}

enum bfs_err bfs_call_may_wait(bool little, struct bfs_diag *diag)
{
	struct bfs_call *call = bfs_call_now;

	BFS_TRY(bfs_call_check(diag));
	if (!call || call->patience == BFS_WAITS ||
	    (little && call->patience == BFS_WAITS_FOR_LITTLE))
		return BFS_OK;
	call->would_wait = true;
	bfs_fail(&call->why, BFS_ERR_TOO_MUCH, 0,
		 "one request would wait for memory");
	return tell(call, diag);
}

enum bfs_err bfs_call_spend_now(uint64_t len, const char *deed,
				struct bfs_diag *diag)
{
	struct bfs_call *call = bfs_call_now;

	BFS_TRY(check_flags(call, diag));
	if (call->limit && (call->spent > call->limit ||
			    len > call->limit - call->spent)) {
		bfs_fail(&call->why, BFS_ERR_TOO_MUCH, 0,
			 "one request may read and decode %" PRIu64 " bytes "
			 "(max_request); after %" PRIu64 ", %s takes %" PRIu64
			 " more", call->limit, call->spent, deed, len);
		return tell(call, diag);
	}
	call->spent += len;
	if (has_clock(call))
		pass_time(call, len);
	return call->why.err == BFS_OK ? BFS_OK : tell(call, diag);
}
