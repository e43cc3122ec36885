/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slot.h - what the parts of the cache share: a slot (one block's
 * buffer and all that is known of it), an extent (a mapping cut into slots
 * of one size), and circular lists.
 *
 * A slot lives as long as its extent, so a victim's slot is the newcomer's.
 * Fields belong to the cache's lock unless said otherwise.
 */
#ifndef BFS_CACHE_SLOT_H
#define BFS_CACHE_SLOT_H

#include "cache/cache.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A node, or the head of a circular list. Alone it points to itself. */
struct bfs_link {
	struct bfs_link *prev;
	struct bfs_link *next;
};

#define BFS_LINK_OWNER(link, type, member) \
	((type *)(void *)((char *)(link) - offsetof(type, member)))

static inline void bfs_link_init(struct bfs_link *link)
{
	link->prev = link;
	link->next = link;
}

static inline bool bfs_link_alone(const struct bfs_link *link)
{
	return link->next == link;
}

static inline void bfs_link_remove(struct bfs_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	bfs_link_init(link);
}

/* Puts a lone link before `at`: at a head, that is the list's end. */
static inline void bfs_link_before(struct bfs_link *link, struct bfs_link *at)
{
	link->prev = at->prev;
	link->next = at;
	at->prev->next = link;
	at->prev = link;
}

enum bfs_slot_state {
	BFS_SLOT_FILLING,
	BFS_SLOT_AWAITED,	/* filling, and somebody sleeps on it */
	BFS_SLOT_READY,
	BFS_SLOT_FAILED,
};

enum bfs_slot_queue {
	BFS_QUEUE_DRAINED,	/* consumed: leaves first */
	BFS_QUEUE_SMALL,	/* seen once */
	BFS_QUEUE_MAIN,		/* seen again */
	BFS_N_QUEUES
};

struct bfs_extent;

/*
 * refs counts pins, the claim and waiters, and one more while the table
 * holds the slot. It is raised only under the shard's lock, or by one who
 * holds a reference; a slot that the table alone holds may be evicted. Whoever
 * takes it to 0 gives the slot back. A slot is in a queue as long as it is in
 * the table.
 */
struct bfs_slot {
	struct bfs_cache_key key;
	uint64_t hash;
	struct bfs_slot *hash_next;	/* under the shard's lock */
	struct bfs_link queued;		/* free: in the extent's free list */
	struct bfs_link of_gen;
	struct bfs_extent *extent;	/* constant */
	uint8_t *data;			/* constant */
	size_t len;
	struct bfs_diag *diag;		/* set before FAILED is; may be NULL */
	_Atomic uint32_t state;		/* enum bfs_slot_state; a futex */
	_Atomic uint32_t refs;
	_Atomic uint32_t stamp;		/* when a use last counted */
	_Atomic uint8_t uses;		/* that were counted, up to 3 */
	_Atomic bool drained;		/* consumed and not asked for since */
	uint8_t queue;			/* enum bfs_slot_queue */
	uint8_t err;			/* enum bfs_err; set before FAILED is */
};

/* One mapping. With several slots this header lies behind their data in the
 * mapping, else it is allocated apart to keep the data in whole pages. */
struct bfs_extent {
	struct bfs_link of_class;	/* linked while a slot is free */
	struct bfs_link idle;		/* linked while all are */
	struct bfs_link free;		/* slots, by `queued` */
	uint8_t *base;
	struct bfs_budget *budget;	/* that it was charged to */
	size_t map_len;
	size_t charge_len;		/* with the header */
	size_t slot_len;
	unsigned cls;
	uint32_t n_slots;
	uint32_t n_used;
	struct bfs_slot slots[];
};

#endif
