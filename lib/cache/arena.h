/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arena.h - the cache's memory: slots in classes of size, cut from
 * extents that are mapped and touched once and then used again and again.
 *
 * Everything held is charged: data, rounding, headers. Calls need the
 * cache's lock except where said; mapping and unmapping happen outside it.
 */
#ifndef BFS_CACHE_ARENA_H
#define BFS_CACHE_ARENA_H

#include "cache/slot.h"

#define BFS_N_CLASSES 257
/* For blocks that are beyond the budget or the largest class: their extent
 * fits them alone and is not used again. */
#define BFS_CLASS_ALONE (BFS_N_CLASSES - 1)

struct bfs_arena {
	_Atomic uint64_t held_len;	/* written under the lock */
	uint64_t budget_len;
	uint64_t idle_len;		/* charge of wholly free extents */
	uint64_t slack_len;		/* free slots in the others */
	size_t slab_len;		/* the largest extent of several */
	size_t page_len;
	struct bfs_link idle;		/* such extents, oldest first */
	struct bfs_link classes[BFS_N_CLASSES];	/* extents with a free slot */
	size_t n_slots[BFS_N_CLASSES];
};

/* An extent to be mapped. */
struct bfs_growth {
	unsigned cls;
	uint32_t n_slots;
	size_t slot_len;
	size_t map_len;
	size_t charge_len;
};

void bfs_arena_init(struct bfs_arena *arena, uint64_t budget_len);

/* The class for blocks of len bytes. No lock. */
unsigned bfs_arena_class(const struct bfs_arena *arena, size_t len);
/* What a block of len bytes is charged with, by itself. No lock. */
uint64_t bfs_arena_alone_len(const struct bfs_arena *arena, size_t len);

/* A free slot, or NULL; and its return. */
struct bfs_slot *bfs_arena_take(struct bfs_arena *arena, unsigned cls,
				size_t len) BFS_MUST_CHECK;
void bfs_arena_give(struct bfs_arena *arena, struct bfs_slot *slot);

/* Plans and charges an extent of at most max_len (0: of one slot, however
 * long). False if none is that small. */
bool bfs_arena_plan(struct bfs_arena *arena, unsigned cls, size_t len,
		    uint64_t max_len, struct bfs_growth *ret_growth)
	BFS_MUST_CHECK;
/* Maps it (no lock needed), then adds it; or takes the charge back. */
struct bfs_extent *bfs_arena_map(const struct bfs_growth *growth)
	BFS_MUST_CHECK;
void bfs_arena_add(struct bfs_arena *arena, struct bfs_extent *extent);
void bfs_arena_cancel(struct bfs_arena *arena, const struct bfs_growth *growth);

/* Moves idle extents to `out` until max_len bytes or less are held, then
 * bfs_arena_unmap (no lock needed) gives those to the system. */
void bfs_arena_release(struct bfs_arena *arena, uint64_t max_len,
		       struct bfs_link *out);
void bfs_arena_unmap(struct bfs_link *out);

static inline uint64_t bfs_arena_held(const struct bfs_arena *arena)
{
	return atomic_load_explicit(&arena->held_len, memory_order_relaxed);
}

#endif
