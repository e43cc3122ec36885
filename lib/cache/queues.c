/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * queues.c - the eviction order of the cache: three first-in-first-out
 * queues and a memory of keys that left.
 */
#include "cache/queues.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <string.h>

#define N_TICKS 256		/* of the clock, to one budget inserted */
#define APART (N_TICKS / 32)	/* uses closer than that are one use */
#define MAX_USES 3
#define SMALL_PART 10		/* the small queue's tenth */
#define GHOST_WAYS 4
#define GHOST_AGE N_TICKS

static size_t choose_n_ghosts(uint64_t budget_len)
{
	uint64_t want = bfs_min(budget_len >> 14, 1 << 16);
	size_t n = 64;

	while (n < want)
		n *= 2;
	return n;
}

enum bfs_err bfs_queues_init(struct bfs_queues *queues, uint64_t budget_len)
{
	unsigned i;

	memset(queues, 0, sizeof(*queues));
	queues->budget_len = budget_len;
	for (i = 0; i < BFS_N_QUEUES; i++)
		bfs_link_init(&queues->queues[i].list);
	for (i = 0; i < BFS_N_GENS; i++)
		bfs_link_init(&queues->gens[i]);
	queues->n_ghosts = choose_n_ghosts(budget_len);
	queues->ghosts = bfs_zalloc(queues->n_ghosts, sizeof(*queues->ghosts));
	return queues->ghosts ? BFS_OK : BFS_ERR_NOMEM;
}

void bfs_queues_release(struct bfs_queues *queues)
{
	bfs_free(queues->ghosts);
}

struct bfs_link *bfs_queues_gen(struct bfs_queues *queues, uint64_t gen)
{
	return &queues->gens[gen * UINT64_C(0x9e3779b97f4a7c15) >> 56];
}

static uint32_t get_now(const struct bfs_queues *queues)
{
	return atomic_load_explicit(&queues->now, memory_order_relaxed);
}

static void advance(struct bfs_queues *queues, uint64_t len)
{
	uint64_t tick = bfs_max(queues->budget_len / N_TICKS, 1);

	/* The rest of a tick is kept as bytes: the budget, and with it the
	 * length of a tick, may change. */
	queues->since_tick += len;
	atomic_store_explicit(&queues->now, get_now(queues) +
			      (uint32_t)(queues->since_tick / tick),
			      memory_order_relaxed);
	queues->since_tick %= tick;
}

static uint32_t make_fingerprint(uint64_t hash)
{
	return (uint32_t)(hash >> 24) | 1;
}

/* The few places where a key may be remembered. */
static struct bfs_ghost *find_ways(const struct bfs_queues *queues,
				   uint64_t hash)
{
	size_t way = (size_t)hash & (queues->n_ghosts - 1);

	return &queues->ghosts[way & ~(size_t)(GHOST_WAYS - 1)];
}

static void remember(struct bfs_queues *queues, uint64_t hash)
{
	struct bfs_ghost *ways = find_ways(queues, hash), *oldest = ways;
	uint32_t now = get_now(queues);
	unsigned i;

	for (i = 0; i < GHOST_WAYS; i++) {
		if (!ways[i].fingerprint ||
		    ways[i].fingerprint == make_fingerprint(hash)) {
			oldest = &ways[i];
			break;
		}
		if (now - ways[i].stamp > now - oldest->stamp)
			oldest = &ways[i];
	}
	oldest->fingerprint = make_fingerprint(hash);
	oldest->stamp = now;
}

/* Whether the key left a short while ago; forgets it. */
static bool recall(struct bfs_queues *queues, uint64_t hash)
{
	struct bfs_ghost *ways = find_ways(queues, hash);
	unsigned i;

	for (i = 0; i < GHOST_WAYS; i++) {
		if (ways[i].fingerprint != make_fingerprint(hash))
			continue;
		ways[i].fingerprint = 0;
		return get_now(queues) - ways[i].stamp <= GHOST_AGE;
	}
	return false;
}

static void enqueue(struct bfs_queues *queues, struct bfs_slot *slot,
		    enum bfs_slot_queue queue)
{
	slot->queue = (uint8_t)queue;
	bfs_link_before(&slot->queued, &queues->queues[queue].list);
	queues->queues[queue].held_len += slot->extent->slot_len;
	queues->queues[queue].n++;
}

static void dequeue(struct bfs_queues *queues, struct bfs_slot *slot)
{
	BFS_ASSERT(queues->queues[slot->queue].n > 0);
	BFS_ASSERT(queues->queues[slot->queue].held_len >=
		   slot->extent->slot_len);
	bfs_link_remove(&slot->queued);
	queues->queues[slot->queue].held_len -= slot->extent->slot_len;
	queues->queues[slot->queue].n--;
}

static void requeue(struct bfs_queues *queues, struct bfs_slot *slot,
		    enum bfs_slot_queue queue)
{
	dequeue(queues, slot);
	enqueue(queues, slot, queue);
}

void bfs_queues_add(struct bfs_queues *queues, struct bfs_slot *slot)
{
	bool came_back = recall(queues, slot->hash);

	BFS_ASSERT(!bfs_queues_has(slot));
	advance(queues, slot->extent->slot_len);
	atomic_store_explicit(&slot->stamp, get_now(queues),
			      memory_order_relaxed);
	atomic_store_explicit(&slot->uses, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->drained, false, memory_order_relaxed);
	bfs_link_before(&slot->of_gen, bfs_queues_gen(queues, slot->key.gen));
	enqueue(queues, slot, came_back && !queues->by_age ?
		BFS_QUEUE_MAIN : BFS_QUEUE_SMALL);
}

void bfs_queues_remove(struct bfs_queues *queues, struct bfs_slot *slot)
{
	BFS_CHECK(bfs_queues_has(slot));
	dequeue(queues, slot);
	bfs_link_remove(&slot->of_gen);
}

static unsigned get_uses(const struct bfs_slot *slot)
{
	return atomic_load_explicit(&slot->uses, memory_order_relaxed);
}

static void set_uses(struct bfs_slot *slot, unsigned uses)
{
	atomic_store_explicit(&slot->uses, (uint8_t)uses,
			      memory_order_relaxed);
}

/* Racing touches may lose one use, which does not matter; in the common case
 * nothing is written. */
void bfs_queues_touch(const struct bfs_queues *queues, struct bfs_slot *slot)
{
	uint32_t now = get_now(queues);
	unsigned uses;

	BFS_ASSERT(atomic_load_explicit(&slot->refs, memory_order_relaxed) > 0);
	if (atomic_load_explicit(&slot->drained, memory_order_relaxed))
		atomic_store_explicit(&slot->drained, false,
				      memory_order_relaxed);
	if (now - atomic_load_explicit(&slot->stamp, memory_order_relaxed) <
	    APART)
		return;
	atomic_store_explicit(&slot->stamp, now, memory_order_relaxed);
	uses = get_uses(slot);
	if (uses < MAX_USES)
		set_uses(slot, uses + 1);
}

/* A block that others use again and again stays, also when one reader has had
 * all of it. */
void bfs_queues_drain(struct bfs_queues *queues, struct bfs_slot *slot)
{
	if (!bfs_queues_has(slot) ||
	    (slot->queue == BFS_QUEUE_MAIN && get_uses(slot)))
		return;
	atomic_store_explicit(&slot->drained, true, memory_order_relaxed);
	if (slot->queue != BFS_QUEUE_DRAINED)
		requeue(queues, slot, BFS_QUEUE_DRAINED);
}

static struct bfs_slot *first_of(const struct bfs_queues *queues,
				 enum bfs_slot_queue queue)
{
	const struct bfs_link *list = &queues->queues[queue].list;

	return bfs_link_alone(list) ? NULL :
	       BFS_LINK_OWNER(list->next, struct bfs_slot, queued);
}

static bool evict(struct bfs_queues *queues, struct bfs_table *table,
		  struct bfs_slot *slot)
{
	if (!bfs_table_evict(table, slot))
		return false;
	bfs_queues_remove(queues, slot);
	return true;
}

struct bfs_slot *bfs_queues_evict_first(struct bfs_queues *queues,
					struct bfs_table *table,
					enum bfs_slot_queue queue)
{
	struct bfs_slot *slot = first_of(queues, queue);

	if (!slot)
		return NULL;
	if (evict(queues, table, slot))
		return slot;
	requeue(queues, slot, queue);
	return NULL;
}

/* Blocks that were consumed but asked for again go back to the small queue. */
static struct bfs_slot *evict_drained(struct bfs_queues *queues,
				      struct bfs_table *table)
{
	struct bfs_slot *slot;

	while ((slot = first_of(queues, BFS_QUEUE_DRAINED))) {
		if (atomic_load_explicit(&slot->drained,
					 memory_order_relaxed) &&
		    evict(queues, table, slot))
			return slot;
		requeue(queues, slot, BFS_QUEUE_SMALL);
	}
	return NULL;
}

static struct bfs_slot *evict_small(struct bfs_queues *queues,
				    struct bfs_table *table)
{
	size_t left = queues->queues[BFS_QUEUE_SMALL].n;
	struct bfs_slot *slot;

	for (; left; left--) {
		slot = first_of(queues, BFS_QUEUE_SMALL);
		if (get_uses(slot)) {
			set_uses(slot, 0);
			requeue(queues, slot, BFS_QUEUE_MAIN);
		} else if (evict(queues, table, slot)) {
			remember(queues, slot->hash);
			return slot;
		} else {
			requeue(queues, slot, BFS_QUEUE_SMALL);
		}
	}
	return NULL;
}

/* Each round takes one use away, so the loop ends; `left` goes down for each
 * block that only its pins keep here. */
static struct bfs_slot *evict_main(struct bfs_queues *queues,
				   struct bfs_table *table)
{
	size_t left = queues->queues[BFS_QUEUE_MAIN].n;
	struct bfs_slot *slot;

	while (left) {
		slot = first_of(queues, BFS_QUEUE_MAIN);
		if (get_uses(slot))
			set_uses(slot, get_uses(slot) - 1);
		else if (evict(queues, table, slot))
			return slot;
		else
			left--;
		requeue(queues, slot, BFS_QUEUE_MAIN);
	}
	return NULL;
}

/* The small queue keeps its tenth, and one block besides the newcomer even
 * where a block is more than that. */
static bool small_is_full(const struct bfs_queues *queues)
{
	return queues->queues[BFS_QUEUE_SMALL].n > 1 &&
	       queues->queues[BFS_QUEUE_SMALL].held_len >
	       queues->budget_len / SMALL_PART;
}

/* The oldest that is not pinned. */
static struct bfs_slot *evict_oldest(struct bfs_queues *queues,
				     struct bfs_table *table)
{
	size_t left = queues->queues[BFS_QUEUE_SMALL].n;
	struct bfs_slot *slot = NULL;

	while (left-- && !slot)
		slot = bfs_queues_evict_first(queues, table, BFS_QUEUE_SMALL);
	return slot;
}

struct bfs_slot *bfs_queues_evict(struct bfs_queues *queues,
				  struct bfs_table *table)
{
	struct bfs_slot *slot = evict_drained(queues, table);

	if (!slot && queues->by_age)
		slot = evict_oldest(queues, table);
	if (!slot && small_is_full(queues))
		slot = evict_small(queues, table);
	if (!slot)
		slot = evict_main(queues, table);
	if (!slot)
		slot = evict_small(queues, table);
	return slot;
}
