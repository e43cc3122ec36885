/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * behind.c - see behind.h.
 *
 * The page that a range ends in is kept until the range goes on or is given up:
 * its next bytes are read soon.
 */
#include "source/behind.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <pthread.h>

struct passed {
	uint64_t from, to;	/* to == 0: none */
	uint64_t used;		/* when it went on last */
};

struct bfs_behind {
	pthread_mutex_t lock;	/* guards all below */
	uint64_t clock;
	struct passed ranges[BFS_BEHIND_RANGES];
	uint64_t len;		/* of the file; constant */
	uint64_t page_len;	/* constant */
};

struct bfs_behind *bfs_behind_new(uint64_t len)
{
	struct bfs_behind *b = bfs_zalloc(1, sizeof(*b));

	if (!b)
		return NULL;
	pthread_mutex_init(&b->lock, NULL);
	b->len = len;
	b->page_len = bfs_page_len();
	return b;
}

void bfs_behind_free(struct bfs_behind *b)
{
	if (!b)
		return;
	pthread_mutex_destroy(&b->lock);
	bfs_free(b);
}

static uint64_t page_of(const struct bfs_behind *b, uint64_t off)
{
	return off & ~(b->page_len - 1);
}

static uint64_t page_behind(const struct bfs_behind *b, uint64_t off)
{
	return page_of(b, off + b->page_len - 1);
}

/* Forgets it. What was left of it is due, the pages of both ends too. */
static bool give_up(const struct bfs_behind *b, struct passed *p,
		    struct bfs_range *ret_due)
{
	bool some = p->to > p->from;

	if (some) {
		ret_due->off = page_of(b, p->from);
		ret_due->len = page_behind(b, p->to) - ret_due->off;
	}
	*p = (struct passed){ 0 };
	return some;
}

/* Whether a read goes on from it, or lies in its last page. */
static bool goes_on(const struct bfs_behind *b, const struct passed *p,
		    uint64_t off, uint64_t end)
{
	return p->to && off <= page_behind(b, p->to) && end >= p->from;
}

/* The range that a read goes on from; else the one used least lately. */
static struct passed *choose(struct bfs_behind *b, uint64_t off, uint64_t end)
{
	struct passed *oldest = &b->ranges[0];

	BFS_ASSERT_HELD(&b->lock);
	for (unsigned i = 0; i < BFS_BEHIND_RANGES; i++) {
		struct passed *p = &b->ranges[i];

		if (goes_on(b, p, off, end))
			return p;
		if (p->used < oldest->used)
			oldest = p;
	}
	return oldest;
}

/* After a range has grown: what of it is due. */
static bool cut(struct bfs_behind *b, struct passed *p,
		struct bfs_range *ret_due)
{
	if (p->to == b->len)
		return give_up(b, p, ret_due);
	if (p->to - p->from < BFS_BEHIND_LEN)
		return false;
	ret_due->off = page_of(b, p->from);
	ret_due->len = page_of(b, p->to) - ret_due->off;
	p->from = page_of(b, p->to);
	return true;
}

bool bfs_behind_note(struct bfs_behind *b, uint64_t off, uint64_t len,
		     struct bfs_range *ret_due)
{
	uint64_t end = off + len;
	struct passed *p;
	bool due;

	BFS_ASSERT(bfs_inside(off, len, b->len) && len > 0);
	pthread_mutex_lock(&b->lock);
	p = choose(b, off, end);
	if (goes_on(b, p, off, end)) {
		p->from = bfs_min(p->from, off);
		p->to = bfs_max(p->to, end);
		due = cut(b, p, ret_due);
	} else {
		due = give_up(b, p, ret_due);
		p->from = off;
		p->to = end;
		/* One due range a call: a new one waits for its next read. */
		due = due || cut(b, p, ret_due);
	}
	p->used = p->to ? ++b->clock : 0;
	pthread_mutex_unlock(&b->lock);
	return due;
}

bool bfs_behind_rest(struct bfs_behind *b, struct bfs_range *ret_due)
{
	bool found = false;

	pthread_mutex_lock(&b->lock);
	for (unsigned i = 0; i < BFS_BEHIND_RANGES && !found; i++)
		found = give_up(b, &b->ranges[i], ret_due);
	pthread_mutex_unlock(&b->lock);
	return found;
}
