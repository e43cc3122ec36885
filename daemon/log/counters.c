/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counters.c - one shard per worker, written by that worker alone.
 */
#include "log/counters.h"

#include <linux/fuse.h>
#include <stdatomic.h>

#define MAX_SHARDS 257
#define SHARED (MAX_SHARDS - 1)		/* of those that found none */

struct shard {
	_Alignas(64) _Atomic uint64_t requests[N_REQUEST_KINDS];
	_Atomic uint64_t served[N_SERVED];
};

static struct shard shards[MAX_SHARDS];
static atomic_uint n_taken;
static _Thread_local struct shard *own;

static const char *const request_names[N_REQUEST_KINDS] = {
	[REQUEST_LOOKUP] = "lookup",
	[REQUEST_FORGET] = "forget",
	[REQUEST_GETATTR] = "getattr",
	[REQUEST_READLINK] = "readlink",
	[REQUEST_OPEN] = "open",
	[REQUEST_READ] = "read",
	[REQUEST_LSEEK] = "lseek",
	[REQUEST_RELEASE] = "release",
	[REQUEST_OPENDIR] = "opendir",
	[REQUEST_READDIR] = "readdir",
	[REQUEST_RELEASEDIR] = "releasedir",
	[REQUEST_XATTR] = "xattr",
	[REQUEST_STATFS] = "statfs",
	[REQUEST_OTHER] = "other",
};

static enum request_kind kind_of(uint32_t opcode)
{
	switch (opcode) {
	case FUSE_LOOKUP:
		return REQUEST_LOOKUP;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		return REQUEST_FORGET;
	case FUSE_GETATTR:
		return REQUEST_GETATTR;
	case FUSE_READLINK:
		return REQUEST_READLINK;
	case FUSE_OPEN:
		return REQUEST_OPEN;
	case FUSE_READ:
		return REQUEST_READ;
	case FUSE_LSEEK:
		return REQUEST_LSEEK;
	case FUSE_RELEASE:
		return REQUEST_RELEASE;
	case FUSE_OPENDIR:
		return REQUEST_OPENDIR;
	case FUSE_READDIR:
	case FUSE_READDIRPLUS:
		return REQUEST_READDIR;
	case FUSE_RELEASEDIR:
		return REQUEST_RELEASEDIR;
	case FUSE_GETXATTR:
	case FUSE_LISTXATTR:
		return REQUEST_XATTR;
	case FUSE_STATFS:
		return REQUEST_STATFS;
	default:
		return REQUEST_OTHER;
	}
}

void counters_thread_init(void)
{
	unsigned i = atomic_fetch_add(&n_taken, 1);

	own = i < SHARED ? &shards[i] : NULL;
}

/* Only the owner writes: no locked instruction is needed. */
static void add_own(_Atomic uint64_t *counter, uint64_t n)
{
	uint64_t old = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, old + n, memory_order_relaxed);
}

static void add_shared(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

void counters_request(uint32_t opcode)
{
	enum request_kind kind = kind_of(opcode);

	if (own)
		add_own(&own->requests[kind], 1);
	else
		add_shared(&shards[SHARED].requests[kind], 1);
}

void counters_served(enum served_from from, size_t len)
{
	if (own)
		add_own(&own->served[from], len);
	else
		add_shared(&shards[SHARED].served[from], len);
}

void counters_sum(struct counts *ret_counts)
{
	struct counts sum = { 0 };

	for (size_t i = 0; i < MAX_SHARDS; i++) {
		for (size_t k = 0; k < N_REQUEST_KINDS; k++)
			sum.requests[k] += atomic_load_explicit(
				&shards[i].requests[k], memory_order_relaxed);
		for (size_t k = 0; k < N_SERVED; k++)
			sum.served[k] += atomic_load_explicit(
				&shards[i].served[k], memory_order_relaxed);
	}
	*ret_counts = sum;
}

uint64_t counters_sum_requests(void)
{
	struct counts counts;
	uint64_t n = 0;

	counters_sum(&counts);
	for (size_t k = 0; k < N_REQUEST_KINDS; k++)
		n += counts.requests[k];
	return n;
}

const char *counters_request_name(enum request_kind kind)
{
	return request_names[kind];
}
