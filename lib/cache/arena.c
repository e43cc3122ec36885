/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arena.c - extents and slots of the cache.
 *
 * Short blocks share an extent; longer ones have one each, so that what one
 * class of size gives up another can have to the byte. Classes are eight to
 * an octave: at most an eighth of a slot is not used. The extents of a class
 * grow with what it holds already, so that a class used once costs little.
 */
#include "cache/arena.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/mem_turn.h"

#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#endif

/* Lets the address sanitizer see a use of a block that was given back. */
#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, len) __asan_poison_memory_region(p, len)
#define UNPOISON(p, len) __asan_unpoison_memory_region(p, len)
#else
#define POISON(p, len) ((void)(p), (void)(len))
#define UNPOISON(p, len) ((void)(p), (void)(len))
#endif

#define MIN_SLOT 64
#define N_EVEN 8		/* classes in steps of 64 bytes: up to 512 */
#define MAX_SLOT_BITS 40
#define MIN_SLAB_PAGES 4
#define MAX_SLAB ((uint64_t)2 << 20)
#define SLOTS_PER_SLAB 8	/* at least, else one extent each */

static uint64_t round_up(uint64_t len, uint64_t unit)
{
	return bfs_div_up(len, unit) * unit;
}

static unsigned floor_log2(uint64_t x)
{
	return 63 - (unsigned)__builtin_clzll(x);
}

/* A 256th of the budget up to 256 KiB; large budgets take longer slabs, or
 * they would need more mappings than a process may have. Where pages are
 * large, most blocks of a small budget must share some. */
static size_t choose_slab_len(uint64_t budget_len, size_t page_len)
{
	uint64_t least = (uint64_t)MIN_SLAB_PAGES * page_len;
	uint64_t most = bfs_min(bfs_max(budget_len / 4096, 256 << 10),
				MAX_SLAB);
	uint64_t len = bfs_min(bfs_max(budget_len / 256, least), most);

	return (size_t)1 << floor_log2(len);
}

void bfs_arena_init(struct bfs_arena *arena, uint64_t budget_len)
{
	unsigned i;

	memset(arena, 0, sizeof(*arena));
	arena->budget_len = budget_len;
	arena->page_len = bfs_page_len();
	arena->slab_len = choose_slab_len(budget_len, arena->page_len);
	bfs_link_init(&arena->idle);
	for (i = 0; i < BFS_N_CLASSES; i++)
		bfs_link_init(&arena->classes[i]);
}

static unsigned class_of(uint64_t len)
{
	unsigned bits;

	if (len <= N_EVEN * MIN_SLOT)
		return (unsigned)((bfs_max(len, 1) - 1) / MIN_SLOT);
	bits = floor_log2(len - 1);
	return N_EVEN + (bits - 9) * 8 +
	       (unsigned)(((len - 1) >> (bits - 3)) - 8);
}

static size_t class_len(unsigned cls)
{
	unsigned octave;

	if (cls < N_EVEN)
		return (size_t)(cls + 1) * MIN_SLOT;
	octave = (cls - N_EVEN) / 8;
	return (size_t)((cls - N_EVEN) % 8 + 9) << (octave + 6);
}

static bool shares_extent(const struct bfs_arena *arena, size_t slot_len)
{
	return slot_len <= arena->slab_len / SLOTS_PER_SLAB;
}

unsigned bfs_arena_class(const struct bfs_arena *arena, size_t len)
{
	unsigned cls;

	if (len > arena->budget_len || len > (uint64_t)1 << MAX_SLOT_BITS)
		return BFS_CLASS_ALONE;
	cls = class_of(len);
	if (!shares_extent(arena, class_len(cls)))
		cls = class_of(round_up(len, arena->page_len));
	BFS_ASSERT(class_len(cls) >= len);
	if (cls >= BFS_CLASS_ALONE ||
	    class_len(cls) > arena->budget_len)
		return BFS_CLASS_ALONE;
	return cls;
}

static void charge(struct bfs_arena *arena, uint64_t more, uint64_t less)
{
	uint64_t held = atomic_fetch_add_explicit(&arena->held_len, more - less,
						  memory_order_relaxed);

	BFS_ASSERT(held + more >= less);
	(void)held;
}

static void make_idle(struct bfs_arena *arena, struct bfs_extent *extent)
{
	bfs_link_before(&extent->idle, &arena->idle);
	arena->idle_len += extent->charge_len;
	arena->slack_len -= extent->n_slots * extent->slot_len;
	/* Last of its class: those in use fill up first. */
	bfs_link_remove(&extent->of_class);
	bfs_link_before(&extent->of_class, &arena->classes[extent->cls]);
}

static void unmake_idle(struct bfs_arena *arena, struct bfs_extent *extent)
{
	bfs_link_remove(&extent->idle);
	arena->idle_len -= extent->charge_len;
	arena->slack_len += extent->n_slots * extent->slot_len;
}

/* The first one, except in the class ALONE, whose slots differ in length. */
static struct bfs_extent *find_extent(struct bfs_link *list, size_t len)
{
	struct bfs_link *link;

	for (link = list->next; link != list; link = link->next) {
		struct bfs_extent *extent =
			BFS_LINK_OWNER(link, struct bfs_extent, of_class);

		if (len <= extent->slot_len)
			return extent;
	}
	return NULL;
}

struct bfs_slot *bfs_arena_take(struct bfs_arena *arena, unsigned cls,
				size_t len)
{
	struct bfs_extent *extent = find_extent(&arena->classes[cls], len);
	struct bfs_slot *slot;

	if (!extent)
		return NULL;
	BFS_CHECK(!bfs_link_alone(&extent->free) &&
		  extent->n_used < extent->n_slots);
	slot = BFS_LINK_OWNER(extent->free.next, struct bfs_slot, queued);
	bfs_link_remove(&slot->queued);
	if (!extent->n_used++)
		unmake_idle(arena, extent);
	if (extent->n_used == extent->n_slots)
		bfs_link_remove(&extent->of_class);
	arena->slack_len -= extent->slot_len;
	UNPOISON(slot->data, len);
	return slot;
}

void bfs_arena_give(struct bfs_arena *arena, struct bfs_slot *slot)
{
	struct bfs_extent *extent = slot->extent;

	/* Whoever takes refs to 0 gives the slot back. */
	BFS_CHECK(extent->n_used > 0 &&
		  !atomic_load_explicit(&slot->refs, memory_order_relaxed));
	POISON(slot->data, extent->slot_len);
	if (extent->n_used == extent->n_slots)
		bfs_link_before(&extent->of_class,
				arena->classes[extent->cls].next);
	bfs_link_before(&slot->queued, extent->free.next);
	arena->slack_len += extent->slot_len;
	if (!--extent->n_used)
		make_idle(arena, extent);
}

static size_t header_len(uint32_t n_slots)
{
	return sizeof(struct bfs_extent) + n_slots * sizeof(struct bfs_slot);
}

uint64_t bfs_arena_alone_len(const struct bfs_arena *arena, size_t len)
{
	if (len > PTRDIFF_MAX - 2 * MAX_SLAB)
		return UINT64_MAX >> 8;
	return round_up(len, arena->page_len) + header_len(1);
}

/* An extent of about n_slots, rounded to what its pages hold. */
static struct bfs_growth shape(const struct bfs_arena *arena, unsigned cls,
			       size_t slot_len, size_t n_slots)
{
	struct bfs_growth g = { .cls = cls, .slot_len = slot_len };

	/* Slots of a class keep each other, and the header behind them,
	 * aligned; others have any length. */
	if (cls == BFS_CLASS_ALONE || !shares_extent(arena, slot_len)) {
		g.n_slots = 1;
		g.map_len = (size_t)round_up(slot_len, arena->page_len);
		g.charge_len = g.map_len + header_len(1);
		return g;
	}
	g.map_len = (size_t)round_up(n_slots * slot_len +
				     header_len((uint32_t)n_slots),
				     arena->page_len);
	g.n_slots = (uint32_t)((g.map_len - header_len(0)) /
			       (slot_len + sizeof(struct bfs_slot)));
	g.charge_len = g.map_len;
	return g;
}

bool bfs_arena_plan(struct bfs_arena *arena, unsigned cls, size_t len,
		    uint64_t max_len, struct bfs_growth *ret_growth)
{
	size_t slot_len = cls == BFS_CLASS_ALONE ? len :
			  class_len(cls);
	size_t n = 1;
	struct bfs_growth g;

	if (slot_len > PTRDIFF_MAX - 2 * MAX_SLAB)
		return false;
	if (max_len && cls != BFS_CLASS_ALONE &&
	    shares_extent(arena, slot_len))
		n = (size_t)bfs_max(1, bfs_min(arena->n_slots[cls] / 2,
					       arena->slab_len / slot_len));
	for (;;) {
		g = shape(arena, cls, slot_len, n);
		if (!max_len || g.charge_len <= max_len)
			break;
		if (n == 1)
			return false;
		n /= 2;
	}
	charge(arena, g.charge_len, 0);
	*ret_growth = g;
	return true;
}

/* The extent's header: behind the slots' data, or apart. Its own length
 * bounds a small allocation. */
static struct bfs_extent *place_header(const struct bfs_growth *growth,
				       uint8_t *base)
{
	if (growth->charge_len != growth->map_len)
		return bfs_alloc(header_len(1));
	return (void *)(base + growth->n_slots * growth->slot_len);
}

static void init_slots(struct bfs_extent *extent)
{
	uint32_t i;

	for (i = 0; i < extent->n_slots; i++) {
		struct bfs_slot *slot = &extent->slots[i];

		slot->extent = extent;
		slot->data = extent->base + i * extent->slot_len;
		bfs_link_init(&slot->of_gen);
		bfs_link_before(&slot->queued, &extent->free);
		POISON(slot->data, extent->slot_len);
	}
}

struct bfs_extent *bfs_arena_map(const struct bfs_growth *growth)
{
	uint8_t *base = bfs_map(growth->map_len);
	struct bfs_extent *extent;

	BFS_ASSERT(growth->n_slots > 0 &&
		   growth->n_slots * growth->slot_len <= growth->map_len);
	if (!base)
		return NULL;
	extent = place_header(growth, base);
	if (!extent) {
		bfs_unmap(base, growth->map_len, bfs_budget_now());
		return NULL;
	}
	memset(extent, 0, header_len(growth->n_slots));
	extent->base = base;
	extent->budget = bfs_budget_now();
	extent->map_len = growth->map_len;
	extent->charge_len = growth->charge_len;
	extent->slot_len = growth->slot_len;
	extent->cls = growth->cls;
	extent->n_slots = growth->n_slots;
	bfs_link_init(&extent->of_class);
	bfs_link_init(&extent->idle);
	bfs_link_init(&extent->free);
	init_slots(extent);
	return extent;
}

void bfs_arena_add(struct bfs_arena *arena, struct bfs_extent *extent)
{
	arena->n_slots[extent->cls] += extent->n_slots;
	arena->slack_len += extent->n_slots * extent->slot_len;
	make_idle(arena, extent);
}

void bfs_arena_cancel(struct bfs_arena *arena, const struct bfs_growth *growth)
{
	charge(arena, 0, growth->charge_len);
}

void bfs_arena_release(struct bfs_arena *arena, uint64_t max_len,
		       struct bfs_link *out)
{
	while (!bfs_link_alone(&arena->idle) &&
	       bfs_arena_held(arena) > max_len) {
		struct bfs_extent *extent =
			BFS_LINK_OWNER(arena->idle.next, struct bfs_extent,
				       idle);

		BFS_CHECK(extent->n_used == 0);
		unmake_idle(arena, extent);
		bfs_link_remove(&extent->of_class);
		arena->n_slots[extent->cls] -= extent->n_slots;
		arena->slack_len -= extent->n_slots * extent->slot_len;
		charge(arena, 0, extent->charge_len);
		bfs_link_before(&extent->idle, out);
	}
}

void bfs_arena_unmap(struct bfs_link *out)
{
	while (!bfs_link_alone(out)) {
		struct bfs_extent *extent =
			BFS_LINK_OWNER(out->next, struct bfs_extent, idle);
		struct bfs_budget *budget = extent->budget;
		uint8_t *base = extent->base;
		size_t map_len = extent->map_len;

		bfs_link_remove(&extent->idle);
		UNPOISON(base, map_len);
		if (extent->charge_len != map_len)
			bfs_free(extent);
		bfs_unmap(base, map_len, budget);
	}
}
