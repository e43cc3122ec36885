/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source.c - what all sources share: counting, bounds, windows, memory.
 */
#include "source/source.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

struct window {
	struct bfs_source base;
	struct bfs_source *parent;
	uint64_t off;
};

struct memory {
	struct bfs_source base;
	const uint8_t *buf;
	bool own;
};

static enum bfs_err read_window(struct bfs_source *s, uint64_t off, void *buf,
				size_t len, struct bfs_diag *diag)
{
	struct window *w = (struct window *)s;
	enum bfs_err err;

	/* No sum of offsets overflows inside the parent. */
	BFS_ASSERT(bfs_inside(w->off, s->len, w->parent->len));
	err = bfs_source_read(w->parent, w->off + off, buf, len, diag);
	if (err != BFS_OK && diag && diag->off >= w->off)
		diag->off -= w->off;
	return err;
}

static enum bfs_err check_window(struct bfs_source *s, struct bfs_diag *diag)
{
	return bfs_source_check(((struct window *)s)->parent, diag);
}

static void will_need_window(struct bfs_source *s, uint64_t off, uint64_t len)
{
	struct window *w = (struct window *)s;

	bfs_source_will_need(w->parent, w->off + off, len);
}

static void rest_window(struct bfs_source *s)
{
	bfs_source_rest(((struct window *)s)->parent);
}

static void will_read_window(struct bfs_source *s,
			     const struct bfs_range *ranges, size_t n)
{
	struct window *w = (struct window *)s;
	struct bfs_range moved[64];
	size_t i, k;

	for (; n > 0; n -= k, ranges += k) {
		k = (size_t)bfs_min(n, BFS_ARRAY_LEN(moved));
		for (i = 0; i < k; i++)
			moved[i] = (struct bfs_range){ w->off + ranges[i].off,
						       ranges[i].len };
		w->parent->ops->will_read(w->parent, moved, k);
	}
}

static bool is_near_window(struct bfs_source *s, uint64_t off, uint64_t len)
{
	struct window *w = (struct window *)s;

	return bfs_source_is_near(w->parent, w->off + off, len);
}

static void close_window(struct bfs_source *s)
{
	bfs_source_unref(((struct window *)s)->parent);
	bfs_free(s);
}

static const struct bfs_source_ops window_ops = {
	.read = read_window,
	.check = check_window,
	.will_need = will_need_window,
	.will_read = will_read_window,
	.is_near = is_near_window,
	.rest = rest_window,
	.close = close_window,
};

enum bfs_err bfs_source_window(struct bfs_source *parent, uint64_t off,
			       uint64_t len, struct bfs_source **ret_source,
			       struct bfs_diag *diag)
{
	struct window *w;

	if (!bfs_inside(off, len, parent->len))
		return bfs_fail(diag, BFS_ERR_RANGE, off,
				"a range of %" PRIu64 " bytes ends beyond the "
				"%" PRIu64 " that are there", len, parent->len);
	w = bfs_zalloc(1, sizeof(*w));
	if (!w)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	w->base.ops = &window_ops;
	w->base.len = len;
	w->base.id = parent->id;
	w->base.decoded = parent->decoded;
	w->base.is_told = parent->is_told;
	w->base.wait_cost = parent->wait_cost;
	w->base.refs = 1;
	w->parent = bfs_source_ref(parent);
	w->off = off;
	*ret_source = &w->base;
	return BFS_OK;
}

static enum bfs_err read_memory(struct bfs_source *s, uint64_t off, void *buf,
				size_t len, struct bfs_diag *diag)
{
	(void)diag;
	BFS_CHECK(bfs_inside(off, len, s->len));
	memcpy(buf, ((struct memory *)s)->buf + off, len);
	return BFS_OK;
}

static enum bfs_err check_memory(struct bfs_source *s, struct bfs_diag *diag)
{
	(void)s;
	(void)diag;
	return BFS_OK;
}

static void close_memory(struct bfs_source *s)
{
	struct memory *m = (struct memory *)s;

	if (m->own)
		bfs_free((void *)(uintptr_t)m->buf);
	bfs_free(m);
}

static const struct bfs_source_ops memory_ops = {
	.read = read_memory,
	.check = check_memory,
	.close = close_memory,
};

enum bfs_err bfs_source_memory(const void *buf, size_t len, bool own,
			       struct bfs_source **ret_source,
			       struct bfs_diag *diag)
{
	struct memory *m = bfs_zalloc(1, sizeof(*m));

	if (!m)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	m->base.ops = &memory_ops;
	m->base.len = len;
	m->base.refs = 1;
	m->buf = buf;
	m->own = own;
	*ret_source = &m->base;
	return BFS_OK;
}

struct bfs_source *bfs_source_ref(struct bfs_source *s)
{
	uint32_t refs = atomic_fetch_add_explicit(&s->refs, 1,
						  memory_order_relaxed);

	BFS_CHECK(refs > 0);
	return s;
}

void bfs_source_unref(struct bfs_source *s)
{
	uint32_t refs;

	if (!s)
		return;
	refs = atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel);
	BFS_CHECK(refs > 0);
	if (refs == 1)
		s->ops->close(s);
}

enum bfs_err bfs_source_read(struct bfs_source *s, uint64_t off, void *buf,
			     size_t len, struct bfs_diag *diag)
{
	if (!bfs_inside(off, len, s->len))
		return bfs_fail(diag, BFS_ERR_TRUNCATED, off,
				"%zu bytes wanted where the source ends at "
				"%" PRIu64, len, s->len);
	if (len == 0)
		return BFS_OK;
	BFS_ASSERT(atomic_load_explicit(&s->refs, memory_order_relaxed) > 0);
	atomic_fetch_add_explicit(&s->n_reads, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->read_len, len, memory_order_relaxed);
	return s->ops->read(s, off, buf, len, diag);
}

enum bfs_err bfs_source_check(struct bfs_source *s, struct bfs_diag *diag)
{
	return s->ops->check(s, diag);
}

void bfs_source_will_need(struct bfs_source *s, uint64_t off, uint64_t len)
{
	if (s->ops->will_need)
		s->ops->will_need(s, off, len);
}

void bfs_source_rest(struct bfs_source *s)
{
	if (s->ops->rest)
		s->ops->rest(s);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct bfs_range *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

bool bfs_source_is_near(struct bfs_source *s, uint64_t off, uint64_t len)
{
	return s->ops->is_near && s->ops->is_near(s, off, len);
}

void bfs_source_will_read(struct bfs_source *s, struct bfs_range *ranges,
			  size_t n)
{
	size_t last = 0, i;

	if (!s->is_told || n == 0)
		return;
	qsort(ranges, n, sizeof(*ranges), compare_ranges);
	for (i = 1; i < n; i++) {
		uint64_t end = ranges[last].off + ranges[last].len;

		if (ranges[i].off > end)
			ranges[++last] = ranges[i];
		else if (ranges[i].off + ranges[i].len > end)
			ranges[last].len = ranges[i].off + ranges[i].len -
					   ranges[last].off;
	}
	s->ops->will_read(s, ranges, last + 1);
}
