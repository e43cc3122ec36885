/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine.c - what all opened containers share: block cache, plans, working
 * memory and counters.
 */
#include "array/priv.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/moment.h"

#include <stdatomic.h>

/* Working memory of very large blocks is not kept. */
#define SCRATCH_KEEP (UINT64_C(4) << 20)
/* What the cache takes for 0. */
#define DEFAULT_CACHE (UINT64_C(256) << 20)
/* The cache gets at most that much of max_memory: decoding needs some, too. */
#define CACHE_PART(limit) ((limit) / 4 * 3)

static void free_scratch(struct bfs_engine *e)
{
	struct bfs_scratch **list;
	size_t n, i;

	pthread_mutex_lock(&e->scratch_lock);
	list = e->scratch;
	n = e->n_scratch;
	e->scratch = NULL;
	e->n_scratch = 0;
	e->scratch_cap = 0;
	pthread_mutex_unlock(&e->scratch_lock);
	for (i = 0; i < n; i++)
		bfs_scratch_free(list[i]);
	bfs_free(list);
}

/* Called while a turn waits for memory (mem_turn.h): idle scratch and plans
 * first, then blocks. */
static void give_back(void *arg, uint64_t len)
{
	struct bfs_engine *e = arg;
	uint64_t before = bfs_budget_used(e->budget), after;

	free_scratch(e);
	bfs_plans_drop(e, 0);
	after = bfs_budget_used(e->budget);
	if (after > before || before - after < len)
		bfs_cache_shed(e->cache, len);
}

static uint64_t choose_cache_len(uint64_t asked)
{
	uint64_t len = asked ? asked : DEFAULT_CACHE;
	uint64_t limit = bfs_budget_limit(bfs_budget_now());

	return limit ? bfs_min(len, bfs_max(1, CACHE_PART(limit))) : len;
}

enum bfs_err bfs_engine_new(const struct bfs_engine_options *options,
			    struct bfs_engine **ret_engine)
{
	struct bfs_engine *e = bfs_zalloc(1, sizeof(*e));
	enum bfs_err err;

	if (!e)
		return BFS_ERR_NOMEM;
	e->budget = bfs_budget_now();
	bfs_digest_prepare();
	e->budget_len = choose_cache_len(options->cache_len);
	err = bfs_cache_new(e->budget_len, &e->cache);
	if (err != BFS_OK) {
		bfs_free(e);
		return err;
	}
	err = bfs_pool_new(options->n_threads, &e->pool);
	if (err != BFS_OK) {
		bfs_cache_free(e->cache);
		bfs_free(e);
		return err;
	}
	e->n_threads = options->n_threads ? options->n_threads :
					    bfs_pool_cpus();
	pthread_mutex_init(&e->scratch_lock, NULL);
	bfs_plans_init(e);
	e->spare = (struct bfs_turn_spare){ give_back, e, NULL };
	bfs_turn_add_spare(e->budget, &e->spare);
	*ret_engine = e;
	return BFS_OK;
}

void bfs_engine_free(struct bfs_engine *e)
{
	if (!e)
		return;
	bfs_turn_remove_spare(e->budget, &e->spare);
	bfs_pool_free(e->pool);
	bfs_plans_release(e);
	free_scratch(e);
	pthread_mutex_destroy(&e->scratch_lock);
	bfs_cache_free(e->cache);
	bfs_free(e);
}

struct bfs_cache *bfs_engine_cache(const struct bfs_engine *e)
{
	return e->cache;
}

void bfs_engine_cancel(struct bfs_engine *e)
{
	atomic_store(&e->ending, true);
}

const atomic_bool *bfs_engine_ending(const struct bfs_engine *e)
{
	return &e->ending;
}

void bfs_engine_trim(struct bfs_engine *e)
{
	bfs_plans_drop(e, 0);
	free_scratch(e);
	bfs_cache_trim(e->cache);
}

void bfs_engine_settle(struct bfs_engine *e)
{
	free_scratch(e);
	bfs_cache_settle(e->cache);
}

void bfs_engine_get_stats(struct bfs_engine *e, struct bfs_engine_stats *ret)
{
	struct bfs_engine_stats s = { 0 };

	bfs_cache_get_stats(e->cache, &s.cache);
	s.decoded_len = atomic_load(&e->decoded_len);
	s.decode_ns = atomic_load(&e->decode_ns);
	s.source_len = atomic_load(&e->source_len);
	s.n_source_reads = atomic_load(&e->n_source_reads);
	s.n_plans = atomic_load(&e->n_plans);
	s.n_plan_hits = atomic_load(&e->n_plan_hits);
	s.n_threads = e->n_threads;
	*ret = s;
}

struct bfs_scratch *bfs_engine_take_scratch(struct bfs_engine *e)
{
	struct bfs_scratch *s = NULL;

	pthread_mutex_lock(&e->scratch_lock);
	if (e->n_scratch > 0)
		s = e->scratch[--e->n_scratch];
	pthread_mutex_unlock(&e->scratch_lock);
	if (!s) {
		BFS_CHARGE_TO(e->budget);

		s = bfs_scratch_new();
	}
	return s;
}

/* With the lock held: room for one more in the free list. */
static bool grow_list(struct bfs_engine *e)
{
	size_t cap = e->scratch_cap ? 2 * e->scratch_cap : 8;
	struct bfs_scratch **list;

	BFS_ASSERT_HELD(&e->scratch_lock);
	BFS_ASSERT(e->n_scratch <= e->scratch_cap);
	if (e->n_scratch < e->scratch_cap)
		return true;
	list = bfs_realloc(e->scratch, cap * sizeof(struct bfs_scratch *));
	if (!list)
		return false;
	e->scratch = list;
	e->scratch_cap = cap;
	return true;
}

void bfs_engine_give_scratch(struct bfs_engine *e, struct bfs_scratch *s)
{
	uint64_t mark = bfs_moment_mark();
	bool kept = false;

	if (!s)
		return;
	if (s->buf_len <= SCRATCH_KEEP && s->in_len <= SCRATCH_KEEP) {
		pthread_mutex_lock(&e->scratch_lock);
		kept = grow_list(e);
		if (kept)
			e->scratch[e->n_scratch++] = s;
		pthread_mutex_unlock(&e->scratch_lock);
	}
	bfs_moment_forget(mark);
	if (!kept)
		bfs_scratch_free(s);
}
