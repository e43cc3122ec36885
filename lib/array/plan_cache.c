/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_cache.c - plans of recently touched chunks, bounded in bytes.
 *
 * Sharded by key; each shard is a small hash table with a list from newest
 * to oldest. A shard keeps at least the plan put last, however big.
 */
#include "array/priv.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/moment.h"

#include <stdatomic.h>

#define SHARD_LEN ((size_t)256 << 10)

struct bfs_plan_entry {
	uint64_t gen, id;
	struct bfs_plan plan;
	size_t mem_len;
	struct bfs_plan_entry *next;	/* in the bucket */
	struct bfs_plan_entry *newer, *older;
};

static uint64_t hash_key(uint64_t gen, uint64_t id)
{
	return bfs_mix(gen * UINT64_C(0x9e3779b97f4a7c15) ^ id);
}

static struct bfs_plan_shard *find_shard(struct bfs_engine *e, uint64_t hash)
{
	return &e->plans[hash % BFS_PLAN_SHARDS];
}

static struct bfs_plan_entry **find_bucket(struct bfs_plan_shard *s,
					   uint64_t hash)
{
	return &s->buckets[hash / BFS_PLAN_SHARDS % BFS_PLAN_BUCKETS];
}

static void unlink_age(struct bfs_plan_shard *s, struct bfs_plan_entry *p)
{
	*(p->newer ? &p->newer->older : &s->newest) = p->older;
	*(p->older ? &p->older->newer : &s->oldest) = p->newer;
}

static void link_newest(struct bfs_plan_shard *s, struct bfs_plan_entry *p)
{
	p->newer = NULL;
	p->older = s->newest;
	*(s->newest ? &s->newest->newer : &s->oldest) = p;
	s->newest = p;
}

/* Takes an entry out of its shard, whose lock is held; the caller frees it when
 * it has given up the lock. */
static void detach(struct bfs_plan_shard *s, struct bfs_plan_entry *p)
{
	struct bfs_plan_entry **at =
		find_bucket(s, hash_key(p->gen, p->id));

	BFS_ASSERT_HELD(&s->lock);
	while (*at != p) {
		BFS_ASSERT(*at);
		at = &(*at)->next;
	}
	*at = p->next;
	unlink_age(s, p);
	BFS_ASSERT(s->mem_len >= p->mem_len);
	s->mem_len -= p->mem_len;
}

static void free_chain(struct bfs_plan_entry *p)
{
	while (p) {
		struct bfs_plan_entry *next = p->next;

		bfs_chunk_unref(p->plan.chunk);
		bfs_free(p);
		p = next;
	}
}

static struct bfs_plan_entry *find(struct bfs_plan_shard *s, uint64_t hash,
				   uint64_t gen, uint64_t id)
{
	struct bfs_plan_entry *p = *find_bucket(s, hash);

	while (p && (p->gen != gen || p->id != id))
		p = p->next;
	return p;
}

bool bfs_plans_get(struct bfs_engine *e, uint64_t gen, uint64_t id,
		   struct bfs_plan *ret_plan)
{
	uint64_t hash = hash_key(gen, id);
	struct bfs_plan_shard *s = find_shard(e, hash);
	struct bfs_plan_entry *p;

	pthread_mutex_lock(&s->lock);
	p = find(s, hash, gen, id);
	if (p) {
		if (s->newest != p) {
			unlink_age(s, p);
			link_newest(s, p);
		}
		*ret_plan = p->plan;
		bfs_chunk_ref(p->plan.chunk);
	}
	pthread_mutex_unlock(&s->lock);
	if (p)
		atomic_fetch_add_explicit(&e->n_plan_hits, 1,
					  memory_order_relaxed);
	return p != NULL;
}

/* Adds an entry. Old ones for which there is no room now go to *gone. */
static void insert(struct bfs_plan_shard *s, struct bfs_plan_entry *p,
		   struct bfs_plan_entry **gone)
{
	struct bfs_plan_entry **bucket =
		find_bucket(s, hash_key(p->gen, p->id));

	p->next = *bucket;
	*bucket = p;
	link_newest(s, p);
	s->mem_len += p->mem_len;
	while (s->mem_len > SHARD_LEN && s->oldest != p) {
		struct bfs_plan_entry *old = s->oldest;

		detach(s, old);
		old->next = *gone;
		*gone = old;
	}
}

void bfs_plans_put(struct bfs_engine *e, uint64_t gen, uint64_t id,
		   const struct bfs_plan *plan)
{
	uint64_t hash = hash_key(gen, id), mark = bfs_moment_mark();
	struct bfs_plan_shard *s = find_shard(e, hash);
	struct bfs_plan_entry *p = bfs_zalloc(1, sizeof(*p));
	struct bfs_plan_entry *gone = NULL, *old;

	if (!p) {
		bfs_moment_forget(mark);
		return;
	}
	p->gen = gen;
	p->id = id;
	p->plan = *plan;
	p->mem_len = sizeof(*p) + plan->chunk->mem_len;
	bfs_chunk_ref(plan->chunk);
	pthread_mutex_lock(&s->lock);
	old = find(s, hash, gen, id);
	if (old && old->plan.opening != plan->opening) {
		detach(s, old);
		old->next = NULL;
		gone = old;
		old = NULL;
	}
	if (old) {
		gone = p;
		gone->next = NULL;
	} else {
		insert(s, p, &gone);
	}
	pthread_mutex_unlock(&s->lock);
	free_chain(gone);
}

void bfs_plans_drop(struct bfs_engine *e, uint64_t gen)
{
	struct bfs_plan_entry *gone = NULL;
	size_t i;

	for (i = 0; i < BFS_PLAN_SHARDS; i++) {
		struct bfs_plan_shard *s = &e->plans[i];
		struct bfs_plan_entry *p, *older;

		pthread_mutex_lock(&s->lock);
		for (p = s->newest; p; p = older) {
			older = p->older;
			if (gen != 0 && p->gen != gen)
				continue;
			detach(s, p);
			p->next = gone;
			gone = p;
		}
		pthread_mutex_unlock(&s->lock);
	}
	free_chain(gone);
}

void bfs_plans_init(struct bfs_engine *e)
{
	size_t i;

	for (i = 0; i < BFS_PLAN_SHARDS; i++)
		pthread_mutex_init(&e->plans[i].lock, NULL);
}

void bfs_plans_release(struct bfs_engine *e)
{
	size_t i;

	bfs_plans_drop(e, 0);
	for (i = 0; i < BFS_PLAN_SHARDS; i++)
		pthread_mutex_destroy(&e->plans[i].lock);
}
