/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * readers.c - who reads an array, recognised by where the reads begin:
 * in order, or in equal steps as a slice of an array does.
 *
 * A reader is known by its stream and the place where its next read should
 * begin; requests of one reader arrive out of order, within a window. One that
 * steps is known by its step; the first two steps are guessed from the read
 * before. All of it with the lock of `ahead` held.
 */
#include "array/priv.h"

#include "base/assert.h"

/* How far reads of one reader may be out of order. */
#define WINDOW (UINT64_C(2) << 20)
/* In a row before a reader counts as sequential, or as stepping. */
#define RUN 3

static bool same_stream(const struct bfs_stream *a, const struct bfs_stream *b)
{
	return a->kind == b->kind && a->index == b->index;
}

static bool is_near(const struct bfs_reader *r, uint64_t off)
{
	return off + WINDOW >= r->next && off <= r->next + WINDOW;
}

/* The reader whose next read this may be, or the slot that was not used for
 * longest. *ret_last is the stream's last reader, if it had one. */
static struct bfs_reader *find_reader(struct bfs_ahead *ahead,
				      const struct bfs_stream *stream,
				      uint64_t off, bool *ret_known,
				      struct bfs_reader **ret_last)
{
	struct bfs_reader *oldest = &ahead->readers[0];
	unsigned i;

	*ret_known = false;
	*ret_last = NULL;
	for (i = 0; i < BFS_READERS; i++) {
		struct bfs_reader *r = &ahead->readers[i];

		if (r->used && same_stream(&r->stream, stream)) {
			if (is_near(r, off) ||
			    (r->n_steps > 0 && off == r->last + r->step)) {
				*ret_known = true;
				return r;
			}
			if (!*ret_last || r->used > (*ret_last)->used)
				*ret_last = r;
		}
		if (r->used < oldest->used)
			oldest = r;
	}
	return oldest;
}

/* Only steps forward that leave something out are of interest. */
static void note_step(struct bfs_reader *r, uint64_t last, uint64_t off)
{
	uint64_t step = off - last;

	if (off <= last) {
		r->n_steps = 0;
	} else if (r->n_steps > 0 && step == r->step) {
		r->n_steps++;
	} else {
		r->step = step;
		r->n_steps = 1;
		if (r->run < RUN)
			r->ahead = 0;
	}
}

struct bfs_reader *bfs_reader_note(struct bfs_ahead *ahead,
				   const struct bfs_stream *stream,
				   uint64_t off, size_t len)
{
	struct bfs_reader *last, *r;
	bool known;

	BFS_ASSERT_HELD(&ahead->lock);
	r = find_reader(ahead, stream, off, &known, &last);
	if (!known) {
		uint64_t before = last ? last->last : off;

		*r = (struct bfs_reader){ .stream = *stream, .next = off,
					  .number = ahead->clock + 1 };
		note_step(r, before, off);
	} else {
		note_step(r, r->last, off);
	}
	r->used = ++ahead->clock;
	r->last = off;
	r->len = len;
	/* Reads that only fill gaps before `next` do not count. */
	if (off + len > r->next) {
		r->run = off <= r->next ? r->run + 1 : r->run / 2;
		r->next = off + len;
	}
	return r;
}

bool bfs_reader_is_sequential(const struct bfs_reader *r)
{
	return r->run >= RUN;
}

bool bfs_reader_is_stepping(const struct bfs_reader *r)
{
	return r->run < RUN && r->n_steps >= RUN && r->step > r->len;
}
