/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trim.c - blocks that leave because somebody says so: those of a generation,
 * what is beyond the budget, or all.
 */
#include "cache/priv.h"

#include "base/assert.h"

#define BATCH 256		/* slots handled before others get the lock */

/* Up to BATCH slots of the generation; false when there are no more. */
static bool drop_some(struct bfs_cache *cache, uint64_t gen)
{
	struct bfs_link *list = bfs_queues_gen(&cache->queues, gen);
	struct bfs_link *link = list->next, *next;
	unsigned n = 0;

	for (; link != list && n < BATCH; link = next) {
		struct bfs_slot *slot =
			BFS_LINK_OWNER(link, struct bfs_slot, of_gen);

		next = link->next;
		if (slot->key.gen != gen)
			continue;
		if (!bfs_room_disown(cache, slot))
			bfs_room_free_slot(cache, slot);
		n++;
	}
	return n == BATCH;
}

void bfs_cache_drop(struct bfs_cache *cache, uint64_t gen)
{
	struct bfs_link out;
	bool more;

	do {
		bfs_link_init(&out);
		pthread_mutex_lock(&cache->lock);
		more = drop_some(cache, gen);
		bfs_room_shrink(cache, &out);
		pthread_mutex_unlock(&cache->lock);
		bfs_arena_unmap(&out);
	} while (more);
}

/* Tries as many of a queue as it has now, in batches, until max_len bytes
 * or less are held. */
static void trim_queue(struct bfs_cache *cache, enum bfs_slot_queue queue,
		       uint64_t max_len)
{
	size_t left = SIZE_MAX, i;
	struct bfs_link out;

	while (left && bfs_arena_held(&cache->arena) > max_len) {
		bfs_link_init(&out);
		pthread_mutex_lock(&cache->lock);
		if (left > cache->queues.queues[queue].n)
			left = cache->queues.queues[queue].n;
		for (i = 0; left && i < BATCH; i++, left--) {
			struct bfs_slot *slot =
				bfs_queues_evict_first(&cache->queues,
						       &cache->table, queue);

			if (!slot)
				continue;
			bfs_room_free_slot(cache, slot);
			cache->n_evictions++;
		}
		bfs_arena_release(&cache->arena, max_len, &out);
		pthread_mutex_unlock(&cache->lock);
		bfs_arena_unmap(&out);
	}
}

static void trim_to(struct bfs_cache *cache, uint64_t max_len)
{
	unsigned queue;

	for (queue = 0; queue < BFS_N_QUEUES; queue++)
		trim_queue(cache, (enum bfs_slot_queue)queue, max_len);
}

void bfs_cache_shed(struct bfs_cache *cache, uint64_t len)
{
	uint64_t held = bfs_arena_held(&cache->arena);

	trim_to(cache, held > len ? held - len : 0);
}

void bfs_cache_settle(struct bfs_cache *cache)
{
	atomic_store_explicit(&cache->room_len, cache->arena.budget_len,
			      memory_order_relaxed);
	if (bfs_arena_held(&cache->arena) > cache->arena.budget_len)
		bfs_room_shrink_now(cache);
}

void bfs_cache_trim(struct bfs_cache *cache)
{
	trim_to(cache, 0);
	bfs_table_shrink(&cache->table);
}
