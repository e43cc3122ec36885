/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * budget.c - what the living instances of a process may hold together: each
 * adds its own max_memory to one budget, and takes it along when it is freed.
 *
 * All memory of the library is counted at one place (base/mem.h), so one
 * instance may use what another one leaves.
 */
#include "api/priv.h"

#include "base/bytes.h"
#include "base/cgroup.h"
#include "base/mem.h"

#include <pthread.h>

/* As the engine has it; and what may be taken besides by default. */
#define DEFAULT_CACHE (UINT64_C(256) << 20)
#define BESIDES_CACHE (UINT64_C(1) << 30)
/* Of its own budget an instance's cache is this much at most. */
#define CACHE_PART(limit) ((limit) / 4 * 3)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bloscfs *living;		/* guarded by it, and their links */

/* Sums do not wrap. */
static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* With the lock held: sets the budget of those that live. Defaults together
 * are no more than one would have: half of what there is. */
static void set_budget(uint64_t half)
{
	uint64_t given = 0, chosen = 0;

	for (struct bloscfs *fs = living; fs; fs = fs->next) {
		if (!fs->max_memory) {
			bfs_mem_set_limit(0);
			return;
		}
		if (fs->chose_memory)
			chosen = add(chosen, fs->max_memory);
		else
			given = add(given, fs->max_memory);
	}
	bfs_mem_set_limit(add(given, bfs_min(chosen, half)));
}

static uint64_t half_of_memory(void)
{
	return bfs_cgroup_memory("/proc/self/cgroup", "/sys/fs/cgroup") / 2;
}

/* What the caller leaves open: half of what the process may use, and not more
 * than decoding needs besides the cache. */
static uint64_t choose(uint64_t cache, uint64_t half)
{
	if (cache == BLOSCFS_NO_CACHE)
		cache = 0;
	else if (!cache)
		cache = DEFAULT_CACHE;
	return bfs_min(half, add(cache, BESIDES_CACHE));
}

void bfs_budget_join(struct bloscfs *fs, const struct bloscfs_options *options,
		     uint64_t *ret_cache_len)
{
	uint64_t half = half_of_memory();
	uint64_t cache = options->cache_size;

	fs->chose_memory = !options->max_memory;
	fs->max_memory = options->max_memory == BLOSCFS_NO_LIMIT ? 0 :
			 options->max_memory ? options->max_memory :
			 bfs_max(1, choose(cache, half));
	pthread_mutex_lock(&lock);
	fs->next = living;
	living = fs;
	set_budget(half);
	pthread_mutex_unlock(&lock);
	if (cache == BLOSCFS_NO_CACHE)
		cache = 1;
	else if (!cache)
		cache = DEFAULT_CACHE;
	*ret_cache_len = fs->max_memory ? bfs_min(cache,
				bfs_max(1, CACHE_PART(fs->max_memory))) :
			 cache;
}

void bfs_budget_leave(struct bloscfs *fs)
{
	uint64_t half = half_of_memory();
	struct bloscfs **at = &living;

	pthread_mutex_lock(&lock);
	while (*at != fs)
		at = &(*at)->next;
	*at = fs->next;
	/* What is left of the last one's stays in force. */
	if (living)
		set_budget(half);
	pthread_mutex_unlock(&lock);
}
