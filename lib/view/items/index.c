/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * index.c - segments of lines: some 64 KiB of text each, where values are not
 * longer than that.
 *
 * A segment is some small units, or a part of one that is larger. Its lines
 * are made from its own bytes, so that a reader who goes through the text
 * decodes each value about once; nothing is kept but the segments, of which
 * there are at most as many as the bounds of index.h permit.
 */
#include "view/items/index.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

#define TEXT 65536	/* bytes of text from which a segment ends */
#define SMALL 65536	/* bytes of a unit that shares a segment */

struct segment {
	uint64_t text_off;
	uint64_t chunk;
	uint32_t unit;		/* the first, in its chunk */
	uint32_t n_units;	/* whole ones; 0: the range below */
	uint32_t off, len;	/* in the chunk */
};

struct bfs_items_index {
	bool in_blocks;
	uint64_t text_len;
	struct segment *segments;	/* owned */
	size_t n, cap;
};

void bfs_items_index_free(struct bfs_items_index *index)
{
	if (!index)
		return;
	bfs_free(index->segments);
	bfs_free(index);
}

uint64_t bfs_items_len(const struct bfs_items_index *index)
{
	return index->text_len;
}

/* ---- building -------------------------------------------------------- */

/* An index being built. */
struct builder {
	struct bfs_items_index *index;
	uint64_t bytes;		/* decoded so far */
	bool is_open;		/* the last segment takes whole units */
	bool is_full;		/* no memory for one more */
	/* Of a large unit: its place, and where its next segment begins. */
	struct segment next;
	uint32_t unit_off;	/* in the chunk */
};

static void add_segment(struct builder *b, const struct segment *segment)
{
	struct bfs_items_index *index = b->index;
	size_t cap = index->cap ? 2 * index->cap : 16;
	struct segment *segments;

	if (index->n == index->cap) {
		segments = bfs_realloc(index->segments,
				       cap * sizeof(*segments));
		if (!segments) {
			b->is_full = true;
			return;
		}
		index->segments = segments;
		index->cap = cap;
	}
	index->segments[index->n++] = *segment;
}

static bool count_line(void *arg, const char *line, size_t len, uint32_t end)
{
	struct builder *b = arg;

	(void)line;
	(void)end;
	b->index->text_len += len;
	return true;
}

/* Of a large unit: ends a segment that has text enough. */
static bool cut_line(void *arg, const char *line, size_t len, uint32_t end)
{
	struct builder *b = arg;

	count_line(b, line, len, end);
	if (b->index->text_len - b->next.text_off < TEXT)
		return true;
	b->next.len = b->unit_off + end - b->next.off;
	add_segment(b, &b->next);
	b->next.text_off = b->index->text_len;
	b->next.off = b->unit_off + end;
	return !b->is_full;
}

/* A large unit has segments of its own; its first one begins with the head of
 * the list. */
static enum bfs_err add_large(struct bfs_file *file, struct builder *b,
			      const struct bfs_items_range *range,
			      uint32_t unit, struct bfs_diag *diag)
{
	uint64_t end = (uint64_t)range->off + range->len;

	b->is_open = false;
	b->unit_off = range->off;
	b->next = (struct segment){ .text_off = b->index->text_len,
				    .chunk = range->chunk, .unit = unit,
				    .off = range->off };
	BFS_TRY(bfs_items_lines(file, range, cut_line, b, diag));
	if (b->next.off < end) {
		b->next.len = (uint32_t)(end - b->next.off);
		add_segment(b, &b->next);
	}
	return BFS_OK;
}

static enum bfs_err add_small(struct bfs_file *file, struct builder *b,
			      const struct bfs_items_range *range,
			      uint32_t unit, struct bfs_diag *diag)
{
	struct bfs_items_index *index = b->index;
	const struct segment next = { .text_off = index->text_len,
				      .chunk = range->chunk, .unit = unit };

	if (!b->is_open ||
	    index->text_len - index->segments[index->n - 1].text_off >= TEXT ||
	    index->segments[index->n - 1].n_units == UINT32_MAX)
		add_segment(b, &next);
	if (b->is_full)
		return BFS_OK;
	b->is_open = true;
	index->segments[index->n - 1].n_units++;
	return bfs_items_lines(file, range, count_line, b, diag);
}

static enum bfs_err add_unit(struct bfs_file *file, struct builder *b,
			     uint64_t n, uint32_t k, struct bfs_diag *diag)
{
	struct bfs_items_range range;
	enum bfs_err err;

	BFS_TRY(bfs_items_unit(file, n, k, b->index->in_blocks, &range, diag));
	b->bytes += range.len;
	if (b->bytes > BFS_ITEMS_MAX_BYTES)
		return bfs_fail(diag, BFS_ERR_LIMIT, 0,
				"items of more than %" PRIu64 " bytes",
				BFS_ITEMS_MAX_BYTES);
	/* One value cannot be cut. */
	if (range.len > SMALL && !range.is_one)
		err = add_large(file, b, &range, k, diag);
	else
		err = add_small(file, b, &range, k, diag);
	if (err == BFS_OK && b->is_full)
		err = bfs_fail(diag, BFS_ERR_NOMEM, 0,
			       "no memory for an index of items");
	return err;
}

static enum bfs_err add_all(struct bfs_file *file, struct builder *b,
			    struct bfs_diag *diag)
{
	const struct bfs_container *f = file->array->container;

	if (f->n_chunks > BFS_ITEMS_MAX_CHUNKS)
		return bfs_fail(diag, BFS_ERR_LIMIT, 0, "items in %" PRIu64
				" chunks", f->n_chunks);
	if (f->in_doubt) {
		*diag = f->doubt;
		return f->doubt.err;
	}
	for (uint64_t n = 0; n < f->n_chunks; n++) {
		uint32_t n_units;

		BFS_TRY(bfs_items_units(file, n, b->index->in_blocks, &n_units,
					diag));
		for (uint32_t k = 0; k < n_units; k++)
			BFS_TRY(add_unit(file, b, n, k, diag));
	}
	return bfs_source_check(f->source, diag);
}

enum bfs_err bfs_items_index_new(struct bfs_file *file, bool in_blocks,
				 struct bfs_items_index **ret_index,
				 struct bfs_diag *diag)
{
	struct builder b = { .index = bfs_zalloc(1, sizeof(*b.index)) };
	enum bfs_err err;

	if (!b.index)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for an index of items");
	b.index->in_blocks = in_blocks;
	err = add_all(file, &b, diag);
	if (err == BFS_OK)
		*ret_index = b.index;
	else
		bfs_items_index_free(b.index);
	return err;
}

/* ---- reading --------------------------------------------------------- */

/* What is wanted of a text that is made from `at` on. */
struct sink {
	uint64_t at, off, end;
	uint8_t *buf;		/* of what begins at off */
};

static bool take_line(void *arg, const char *line, size_t len, uint32_t end)
{
	struct sink *sink = arg;
	uint64_t from = bfs_max(sink->at, sink->off);
	uint64_t to = bfs_min(sink->at + len, sink->end);

	(void)end;
	if (from < to)
		memcpy(sink->buf + (from - sink->off),
		       line + (from - sink->at), (size_t)(to - from));
	sink->at += len;
	return sink->at < sink->end;
}

static enum bfs_err make_units(struct bfs_file *file,
			       const struct bfs_items_index *index,
			       const struct segment *segment,
			       struct sink *sink, struct bfs_diag *diag)
{
	uint32_t unit = segment->unit, n_units = 0;
	uint64_t chunk = segment->chunk;

	for (uint32_t i = 0; i < segment->n_units && sink->at < sink->end;
	     chunk++, unit = 0) {
		BFS_TRY(bfs_items_units(file, chunk, index->in_blocks,
					&n_units, diag));
		for (; unit < n_units && i < segment->n_units; unit++, i++) {
			struct bfs_items_range range;

			if (sink->at >= sink->end)
				return BFS_OK;
			BFS_TRY(bfs_items_unit(file, chunk, unit,
					       index->in_blocks, &range,
					       diag));
			BFS_TRY(bfs_items_lines(file, &range, take_line, sink,
						diag));
		}
	}
	return BFS_OK;
}

static enum bfs_err make_segment(struct bfs_file *file,
				 const struct bfs_items_index *index,
				 const struct segment *segment,
				 struct sink *sink, struct bfs_diag *diag)
{
	struct bfs_items_range range = { .chunk = segment->chunk,
					 .off = segment->off,
					 .len = segment->len };
	struct bfs_items_range unit;

	sink->at = segment->text_off;
	if (segment->n_units)
		return make_units(file, index, segment, sink, diag);
	BFS_TRY(bfs_items_unit(file, segment->chunk, segment->unit, true,
			       &unit, diag));
	range.has_head = unit.off == segment->off;
	return bfs_items_lines(file, &range, take_line, sink, diag);
}

static size_t find_segment(const struct bfs_items_index *index, uint64_t off)
{
	size_t lo = 0, hi = index->n;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (index->segments[mid].text_off <= off)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

enum bfs_err bfs_items_fill(struct bfs_file *file,
			    const struct bfs_items_index *index, uint64_t off,
			    uint8_t *buf, size_t len, struct bfs_diag *diag)
{
	struct sink sink = { .off = off, .end = off + len, .buf = buf };

	for (size_t i = find_segment(index, off);
	     i < index->n && index->segments[i].text_off < sink.end; i++)
		BFS_TRY(make_segment(file, index, &index->segments[i], &sink,
				     diag));
	if (sink.at < sink.end)
		return bfs_fail(diag, BFS_ERR_CHANGED, off,
				"the items are others than before");
	return BFS_OK;
}
