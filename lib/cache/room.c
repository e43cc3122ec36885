/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * room.c - room for a block in the cache: a free slot, memory for a new one, or
 * the place of what leaves. All of it with the cache locked.
 */
#include "cache/priv.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"

#define GAP_PART 16		/* of the budget may be free slots */
#define N_NEAR 2		/* classes: up to a quarter longer */
#define DRAINED_PART 4		/* of the budget may be consumed blocks */
#define N_READERS 16		/* whose blocks stay in a budget of nothing */
#define READERS_LEN ((uint64_t)8 << 20)	/* and together at most */

/* The slot of an evicted or abandoned block is free again. */
void bfs_room_free_slot(struct bfs_cache *cache, struct bfs_slot *slot)
{
	BFS_ASSERT_HELD(&cache->lock);
	BFS_CHECK(!bfs_queues_has(slot));
	bfs_free(slot->diag);
	slot->diag = NULL;
	bfs_arena_give(&cache->arena, slot);
}

/* Evicts what shares an extent, so that its memory can go elsewhere. */
static void evict_extent(struct bfs_cache *cache, struct bfs_extent *extent)
{
	uint32_t i;

	for (i = 0; i < extent->n_slots; i++) {
		struct bfs_slot *slot = &extent->slots[i];

		if (!bfs_queues_has(slot) ||
		    !bfs_table_evict(&cache->table, slot))
			continue;
		bfs_queues_remove(&cache->queues, slot);
		bfs_room_free_slot(cache, slot);
		cache->n_evictions++;
	}
}

/* Evicts one block; false if all are pinned. The freed slot may be of another
 * class than cls and serves blocks of its own class only. Where there are many
 * such free slots, the other blocks of its extent are evicted too, so that the
 * extent can be given up. */
static bool evict_for(struct bfs_cache *cache, unsigned cls)
{
	struct bfs_slot *slot = bfs_queues_evict(&cache->queues,
						 &cache->table);
	struct bfs_extent *extent;

	if (!slot)
		return false;
	extent = slot->extent;
	bfs_room_free_slot(cache, slot);
	cache->n_evictions++;
	if (extent->cls != cls && cache->arena.slack_len >
	    cache->arena.budget_len / GAP_PART)
		evict_extent(cache, extent);
	return true;
}

/* A reader takes a block in many pieces. So the block that was decoded last
 * stays, and a few of other readers, even where one block is longer than the
 * budget. A block that fits the budget brings the room back to the budget. */
void bfs_room_set(struct bfs_cache *cache, size_t len)
{
	uint64_t budget = cache->arena.budget_len, room = budget;
	uint64_t one = bfs_arena_alone_len(&cache->arena, len);

	if (one > budget)
		room += bfs_max(one, bfs_min(N_READERS * one, READERS_LEN));
	cache->queues.budget_len = room;
	cache->queues.by_age = one > budget;
	atomic_store_explicit(&cache->room_len, room, memory_order_relaxed);
}

static bool evict_drained(struct bfs_cache *cache)
{
	struct bfs_slot *slot = bfs_queues_evict_first(&cache->queues,
						       &cache->table,
						       BFS_QUEUE_DRAINED);

	if (!slot)
		return false;
	bfs_room_free_slot(cache, slot);
	cache->n_evictions++;
	return true;
}

/* Brings the cache back inside its room as far as pins allow, and inside its
 * budget as far as readers have passed. */
void bfs_room_shrink(struct bfs_cache *cache, struct bfs_link *out)
{
	struct bfs_arena *arena = &cache->arena;

	do {
		bfs_arena_release(arena, bfs_room_len(cache), out);
	} while (bfs_arena_held(arena) > bfs_room_len(cache) &&
		 evict_for(cache, BFS_CLASS_ALONE));
	while (bfs_arena_held(arena) > arena->budget_len &&
	       evict_drained(cache))
		bfs_arena_release(arena, arena->budget_len, out);
}

/* Charges a new extent if the budget has room. */
static bool plan_inside(struct bfs_cache *cache, unsigned cls, size_t len,
			struct bfs_growth *ret_growth)
{
	struct bfs_arena *arena = &cache->arena;
	uint64_t held = bfs_arena_held(arena), room = bfs_room_len(cache);

	return held < room &&
	       bfs_arena_plan(arena, cls, len, room - held, ret_growth);
}

/* The same in place of idle extents, which go to `out`. */
static bool plan_instead(struct bfs_cache *cache, unsigned cls, size_t len,
			 struct bfs_link *out, struct bfs_growth *ret_growth)
{
	struct bfs_arena *arena = &cache->arena;
	uint64_t fixed = bfs_arena_held(arena) - arena->idle_len;
	uint64_t room = bfs_room_len(cache);

	if (fixed >= room || !arena->idle_len ||
	    !bfs_arena_plan(arena, cls, len, room - fixed, ret_growth))
		return false;
	bfs_arena_release(arena, room, out);
	return true;
}

/* Some free slots of other classes are worth keeping: where blocks of several
 * sizes come and go, the next one may want just these. */
static bool has_many_gaps(const struct bfs_cache *cache)
{
	return cache->arena.idle_len + cache->arena.slack_len >
	       cache->arena.budget_len / GAP_PART;
}

/* A free slot of the class. Where many slots are free a somewhat longer one
 * will do: else blocks of always new sizes would need a mapping each. */
static struct bfs_slot *take_slot(struct bfs_cache *cache, unsigned cls,
				  size_t len)
{
	unsigned last = cls;
	struct bfs_slot *slot;

	if (cls < BFS_CLASS_ALONE - N_NEAR && has_many_gaps(cache))
		last += N_NEAR;
	do {
		slot = bfs_arena_take(&cache->arena, cls, len);
	} while (!slot && cls++ < last);
	return slot;
}

struct bfs_slot *bfs_room_find_slot(struct bfs_cache *cache, unsigned cls,
				    size_t len, bool poor,
				    struct bfs_link *out,
				    struct bfs_growth *ret_growth)
{
	struct bfs_slot *slot;

	BFS_ASSERT_HELD(&cache->lock);
	/* The kernel's page cache has the bytes of consumed blocks. Where there
	 * are more than a few of these, one of them goes before memory is taken
	 * for a new block. */
	if (bfs_queues_drained_len(&cache->queues) >
	    cache->arena.budget_len / DRAINED_PART)
		(void)!evict_for(cache, cls);
	do {
		slot = take_slot(cache, cls, len);
		if (slot)
			return slot;
		if (!poor && (plan_inside(cache, cls, len, ret_growth) ||
			      (has_many_gaps(cache) &&
			       plan_instead(cache, cls, len, out,
					    ret_growth))))
			return NULL;
	} while (evict_for(cache, cls));
	if (!poor && plan_instead(cache, cls, len, out, ret_growth))
		return NULL;
	bfs_arena_release(&cache->arena, 0, out);
	if (!bfs_arena_plan(&cache->arena, cls, len, 0, ret_growth))
		ret_growth->n_slots = 0;
	return NULL;
}

void bfs_room_shrink_now(struct bfs_cache *cache)
{
	struct bfs_link out;

	bfs_link_init(&out);
	pthread_mutex_lock(&cache->lock);
	bfs_room_shrink(cache, &out);
	pthread_mutex_unlock(&cache->lock);
	bfs_arena_unmap(&out);
}

uint32_t bfs_room_disown(struct bfs_cache *cache, struct bfs_slot *slot)
{
	bfs_queues_remove(&cache->queues, slot);
	return bfs_table_unlink(&cache->table, slot);
}
