/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sweep.c - see sweep.h.
 *
 * A read that begins where a window ends, or a little behind, continues it: the
 * window that takes its place is twice as long. Large reads are passed on and
 * not kept.
 */
#include "source/sweep.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"

#define N_WINDOWS 3
#define FIRST_LEN 512u
#define MAX_LEN (16u << 10)

struct window {
	uint64_t off;
	size_t len;
	uint64_t used;		/* when last; 0: never */
	uint8_t *buf;		/* MAX_LEN bytes */
};

struct sweep {
	struct bfs_source base;
	struct bfs_source *parent;
	bool ended;
	uint64_t clock;
	struct window windows[N_WINDOWS];
	uint8_t *buf;
};

static bool has(const struct window *w, uint64_t off, size_t len)
{
	return off >= w->off && off - w->off <= w->len &&
	       len <= w->len - (size_t)(off - w->off);
}

/* Whether a read goes on where the window ends, or not far from there. */
static bool goes_on(const struct window *w, uint64_t off)
{
	return w->used && off >= w->off && off - w->off <= 2 * w->len;
}

/* The window to be read anew, and how much is worth it. */
static struct window *choose(struct sweep *s, uint64_t off, size_t *ret_len)
{
	struct window *oldest = &s->windows[0];

	*ret_len = FIRST_LEN;
	for (unsigned i = 0; i < N_WINDOWS; i++) {
		struct window *w = &s->windows[i];

		if (goes_on(w, off)) {
			*ret_len = (size_t)bfs_min(2 * w->len, MAX_LEN);
			return w;
		}
		if (w->used < oldest->used)
			oldest = w;
	}
	return oldest;
}

static enum bfs_err fill(struct sweep *s, uint64_t off, size_t len,
			 struct window **ret_window, struct bfs_diag *diag)
{
	struct window *w;
	size_t part;

	w = choose(s, off, &part);
	part = (size_t)bfs_min(bfs_max(part, len), s->base.len - off);
	BFS_CHECK(part <= MAX_LEN);
	w->len = 0;
	BFS_TRY(bfs_source_read(s->parent, off, w->buf, part, diag));
	w->off = off;
	w->len = part;
	*ret_window = w;
	return BFS_OK;
}

static enum bfs_err read_sweep(struct bfs_source *source, uint64_t off,
			       void *buf, size_t len, struct bfs_diag *diag)
{
	struct sweep *s = (struct sweep *)source;
	struct window *w = NULL;

	if (s->ended || len > MAX_LEN / 4)
		return bfs_source_read(s->parent, off, buf, len, diag);
	for (unsigned i = 0; i < N_WINDOWS && !w; i++)
		if (has(&s->windows[i], off, len))
			w = &s->windows[i];
	if (!w)
		BFS_TRY(fill(s, off, len, &w, diag));
	w->used = ++s->clock;
	BFS_ASSERT(has(w, off, len));
	memcpy(buf, w->buf + (off - w->off), len);
	return BFS_OK;
}

static enum bfs_err check_sweep(struct bfs_source *s, struct bfs_diag *diag)
{
	return bfs_source_check(((struct sweep *)s)->parent, diag);
}

static void will_need_sweep(struct bfs_source *s, uint64_t off, uint64_t len)
{
	bfs_source_will_need(((struct sweep *)s)->parent, off, len);
}

void bfs_source_sweep_end(struct bfs_source *source)
{
	struct sweep *s = (struct sweep *)source;

	s->ended = true;
	bfs_free(s->buf);
	s->buf = NULL;
}

static void close_sweep(struct bfs_source *source)
{
	bfs_source_sweep_end(source);
	bfs_source_unref(((struct sweep *)source)->parent);
	bfs_free(source);
}

static const struct bfs_source_ops sweep_ops = {
	.read = read_sweep,
	.check = check_sweep,
	.will_need = will_need_sweep,
	.close = close_sweep,
};

enum bfs_err bfs_source_sweep(struct bfs_source *parent,
			      struct bfs_source **ret_source,
			      struct bfs_diag *diag)
{
	struct sweep *s = bfs_zalloc(1, sizeof(*s));
	uint8_t *buf = bfs_alloc((size_t)N_WINDOWS * MAX_LEN);

	if (!s || !buf) {
		bfs_free(s);
		bfs_free(buf);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	}
	s->buf = buf;
	for (unsigned i = 0; i < N_WINDOWS; i++)
		s->windows[i].buf = buf + (size_t)i * MAX_LEN;
	s->base.ops = &sweep_ops;
	s->base.len = parent->len;
	s->base.id = parent->id;
	s->base.decoded = parent->decoded;
	s->base.refs = 1;
	s->parent = bfs_source_ref(parent);
	*ret_source = &s->base;
	return BFS_OK;
}
