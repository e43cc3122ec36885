/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * budget.c - the budget of an instance: its own max_memory, or what the other
 * ones leave. What a caller holds for its files is charged to it, too.
 */
#include "api/priv.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/cgroup.h"

#include <pthread.h>

/* As the engine has it; and what may be taken besides by default. */
#define DEFAULT_CACHE (UINT64_C(256) << 20)
#define BESIDES_CACHE (UINT64_C(1) << 30)
/* Of its own budget an instance's cache is this much at most. */
#define CACHE_PART(limit) ((limit) / 4 * 3)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bloscfs *living;		/* guarded by it, and their links */

/* What the process may use, and of that what no living instance may: an eighth
 * of all at least. */
static uint64_t find_left(void)
{
	uint64_t all = bfs_cgroup_memory("/proc/self/cgroup",
					 "/sys/fs/cgroup");
	uint64_t left = all, limit;

	BFS_ASSERT_HELD(&lock);
	for (struct bloscfs *fs = living; fs; fs = fs->next) {
		limit = bfs_budget_limit(fs->budget);
		left -= bfs_min(left, limit);
	}
	return bfs_max(left, all / 8);
}

/* What the caller leaves open: half of what is left, and not more than decoding
 * needs besides the cache. */
static uint64_t choose(uint64_t cache)
{
	return bfs_max(1, bfs_min(find_left() / 2,
				  cache > UINT64_MAX - BESIDES_CACHE ?
				  UINT64_MAX : cache + BESIDES_CACHE));
}

enum bfs_err bfs_api_set_budget(struct bloscfs *fs,
				const struct bloscfs_options *options,
				uint64_t *ret_cache_len)
{
	uint64_t cache = options->cache_size, limit = options->max_memory;

	fs->budget = bfs_budget_new();
	if (!fs->budget)
		return BFS_ERR_NOMEM;
	if (cache == BLOSCFS_NO_CACHE)
		cache = 0;
	else if (!cache)
		cache = DEFAULT_CACHE;
	pthread_mutex_lock(&lock);
	if (!limit)
		limit = choose(cache);
	else if (limit == BLOSCFS_NO_LIMIT)
		limit = 0;
	bfs_budget_set_limit(fs->budget, limit);
	fs->next = living;
	living = fs;
	pthread_mutex_unlock(&lock);
	*ret_cache_len = bfs_max(1, limit ? bfs_min(cache, CACHE_PART(limit)) :
				 cache);
	return BFS_OK;
}

void bfs_api_end_budget(struct bloscfs *fs)
{
	struct bloscfs **at = &living;

	pthread_mutex_lock(&lock);
	while (*at != fs)
		at = &(*at)->next;
	*at = fs->next;
	pthread_mutex_unlock(&lock);
	bfs_budget_retire(fs->budget);
}

/* ---- what a caller holds --------------------------------------------- */

bool bloscfs_charge(struct bloscfs *fs, uint64_t bytes)
{
	return fs && bfs_budget_charge_extra(fs->budget, bytes);
}

void bloscfs_give_back(struct bloscfs *fs, uint64_t bytes)
{
	if (fs)
		bfs_budget_give_back(fs->budget, bytes);
}

bool bloscfs_is_tight(struct bloscfs *fs)
{
	return fs && bfs_budget_is_tight(fs->budget);
}

void bloscfs_on_want(struct bloscfs *fs,
		     void (*want)(void *arg, uint64_t bytes), void *arg)
{
	if (!fs)
		return;
	fs->budget->want = want;
	fs->budget->want_arg = arg;
}
