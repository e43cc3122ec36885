/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scratch.c - the buffers that decoding needs, kept from block to block.
 */
#include "chunk/plan.h"

#include "base/mem.h"
#include "base/mem_turn.h"

struct bfs_scratch *bfs_scratch_new(void)
{
	struct bfs_scratch *s = bfs_zalloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->budget = bfs_budget_now();
	s->codecs = bfs_codec_states_new();
	if (!s->codecs) {
		bfs_free(s);
		return NULL;
	}
	return s;
}

/* Up to this length buffers are plain memory: for one small chunk, mapping
 * and unmapping pages would take longer than decoding it. */
#define SMALL 65536

static void *take_buffer(const struct bfs_scratch *s, size_t len)
{
	BFS_CHARGE_TO(s->budget);

	return len <= SMALL ? bfs_alloc(len) : bfs_map(len);
}

static void give_buffer(const struct bfs_scratch *s, void *p, size_t len)
{
	if (len <= SMALL)
		bfs_free(p);
	else
		bfs_unmap(p, len, s->budget);
}

static void release_buffers(struct bfs_scratch *s)
{
	give_buffer(s, s->buf[0], s->buf_len);
	give_buffer(s, s->buf[1], s->buf_len);
	s->buf[0] = NULL;
	s->buf[1] = NULL;
	s->n_bufs = 0;
	s->buf_len = 0;
}

void bfs_scratch_free(struct bfs_scratch *s)
{
	if (!s)
		return;
	release_buffers(s);
	give_buffer(s, s->in, s->in_len);
	bfs_codec_states_free(s->codecs);
	bfs_free(s);
}

/* Sizes grow by quarters, so that blocks of slowly rising sizes do not map
 * anew each time. */
static size_t round_up(size_t len)
{
	size_t step = len < SMALL ? 4096 : 65536;

	while (step < len / 4)
		step *= 2;
	return (len + step - 1) / step * step;
}

static enum bfs_err fit_buffers(struct bfs_scratch *s, unsigned n, size_t len)
{
	if (n == 0 || (s->n_bufs >= n && s->buf_len >= len))
		return BFS_OK;
	if (s->buf_len < len) {
		release_buffers(s);
		s->buf_len = round_up(len);
	}
	while (s->n_bufs < n) {
		s->buf[s->n_bufs] = take_buffer(s, s->buf_len);
		if (!s->buf[s->n_bufs]) {
			release_buffers(s);
			return BFS_ERR_NOMEM;
		}
		s->n_bufs++;
	}
	return BFS_OK;
}

enum bfs_err bfs_scratch_fit_in(struct bfs_scratch *s, size_t in_len)
{
	size_t len;

	if (s->in_len >= in_len)
		return BFS_OK;
	len = round_up(in_len);
	give_buffer(s, s->in, s->in_len);
	s->in = take_buffer(s, len);
	s->in_len = s->in ? len : 0;
	return s->in ? BFS_OK : BFS_ERR_NOMEM;
}

/* Stages write to where they read, to the destination, or to one buffer and
 * the other in turn: see decode_filtered. */
enum bfs_err bfs_scratch_fit(struct bfs_scratch *s, const struct bfs_chunk *c,
			     size_t buf_len)
{
	unsigned n = 0, i;

	for (i = 0; i < c->n_filters; i++)
		n += !c->filters[i].op->in_place;
	return fit_buffers(s, n < 2 ? n : 2, buf_len);
}
