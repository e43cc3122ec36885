/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * raw.c - chunks as they are stored, and as lazy chunks: the bytes
 * that other Blosc programs would get.
 *
 * A special chunk without bytes of its own gets the 32 that stand for it.
 * See docs/formats/chunk.md, lazy chunks.
 */
#include "array/priv.h"

#include "base/bytes.h"

#include <inttypes.h>

#define LAZY_FLAG 0x08

static void put_le32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)(v >> 16);
	p[3] = (uint8_t)(v >> 24);
}

static void put_le64(uint8_t *p, uint64_t v)
{
	put_le32(p, (uint32_t)v);
	put_le32(p + 4, (uint32_t)(v >> 32));
}

/* The header of a special chunk that is only an entry of the index. */
static enum bfs_err make_special(struct bfs_array *a, uint64_t n,
				 const struct bfs_span *span, uint8_t *head,
				 struct bfs_diag *diag)
{
	unsigned type = span->special == BFS_CHUNK_ZEROS ? 1 :
			span->special == BFS_CHUNK_NAN ? 2 : 4;
	uint32_t len;

	BFS_TRY(bfs_container_chunk_len(a->container, n, &len, diag));
	memset(head, 0, BFS_CHUNK_HEADER);
	head[0] = 5;
	head[1] = 1;
	head[2] = 5;
	head[3] = (uint8_t)(a->container->typesize > 255
				    ? 1
				    : a->container->typesize);
	put_le32(head + 4, len);
	put_le32(head + 8, (uint32_t)bfs_max(1, len));
	put_le32(head + 12, BFS_CHUNK_HEADER);
	head[31] = (uint8_t)(type << 4);
	return BFS_OK;
}

/* A chunk with its header; special ones have no source. */
struct raw {
	struct bfs_span span;
	struct bfs_chunk_head head;
	uint8_t made[BFS_CHUNK_HEADER];
	bool stored;
};

static enum bfs_err find_raw(struct bfs_array *a, uint64_t n, struct raw *r,
			     struct bfs_diag *diag)
{
	BFS_TRY(bfs_container_span(a->container, n, &r->span, diag));
	r->stored = r->span.special == BFS_CHUNK_BLOCKS;
	if (r->stored)
		return bfs_diag_chunk(diag,
				      bfs_container_peek(a->container, &r->span,
							 &r->head, diag),
				      n);
	BFS_TRY(make_special(a, n, &r->span, r->made, diag));
	return bfs_chunk_parse(r->made, sizeof(r->made), 0, &r->head, diag);
}

enum bfs_err bfs_array_raw_len(struct bfs_array *a, uint64_t n,
			       uint64_t *ret_len, struct bfs_diag *diag)
{
	struct raw r;

	BFS_TRY(find_raw(a, n, &r, diag));
	*ret_len = r.head.cbytes;
	return BFS_OK;
}

/* Bytes of the chunk as stored; inside its cbytes. */
static enum bfs_err read_stored(struct bfs_array *a, const struct raw *r,
				uint64_t off, void *dst, size_t len,
				struct bfs_diag *diag)
{
	struct bfs_source *source;
	enum bfs_err err;

	if (!r->stored) {
		memcpy(dst, r->made + off, len);
		return BFS_OK;
	}
	BFS_TRY(bfs_container_source(a->container, &r->span, &source, diag));
	err = bfs_source_read(source, r->span.off + off, dst, len, diag);
	if (err == BFS_OK)
		err = bfs_source_check(source, diag);
	bfs_source_unref(source);
	return err;
}

enum bfs_err bfs_array_raw_read(struct bfs_array *a, uint64_t n, uint64_t off,
				void *dst, size_t len, struct bfs_diag *diag)
{
	struct raw r;

	BFS_TRY(find_raw(a, n, &r, diag));
	if (!bfs_inside(off, len, r.head.cbytes))
		return bfs_fail(diag, BFS_ERR_CHANGED, r.span.off,
				"the chunk became shorter");
	return read_stored(a, &r, off, dst, len, diag);
}

/* Kinds that are never made lazy come as they are. */
static bool stays_plain(const struct raw *r)
{
	return r->head.kind != BFS_CHUNK_BLOCKS &&
	       r->head.kind != BFS_CHUNK_VLBLOCKS &&
	       (r->head.kind != BFS_CHUNK_RAW || r->head.n_blocks == 0);
}

enum bfs_err bfs_array_lazy_len(struct bfs_array *a, uint64_t n,
				uint64_t *ret_len, struct bfs_diag *diag)
{
	struct raw r;

	BFS_TRY(find_raw(a, n, &r, diag));
	if (r.head.header_len != BFS_CHUNK_HEADER)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, r.span.off,
				"a chunk with a header of 16 bytes cannot be "
				"lazy");
	*ret_len = stays_plain(&r) ? r.head.cbytes :
				     44 + 8 * (uint64_t)r.head.n_blocks;
	return BFS_OK;
}

/* What is asked of a lazy chunk, which is never made as a whole. */
struct window {
	uint64_t off;
	uint8_t *dst;
	size_t len;
};

/* Where [begin, end) of the lazy chunk meets the window: from which of its
 * bytes on and how many, and where they go. */
static size_t meet(const struct window *w, uint64_t begin, uint64_t end,
		   uint64_t *ret_from, uint8_t **ret_dst)
{
	uint64_t first = bfs_max(begin, w->off);
	uint64_t last = bfs_min(end, w->off + w->len);

	if (first >= last)
		return 0;
	*ret_from = first - begin;
	*ret_dst = w->dst + (first - w->off);
	return (size_t)(last - first);
}

static void copy_part(const struct window *w, uint64_t begin,
		      const uint8_t *part, size_t len)
{
	uint64_t from;
	uint8_t *dst;
	size_t n = meet(w, begin, begin + len, &from, &dst);

	if (n > 0)
		memcpy(dst, part + from, n);
}

/* The compressed length of block k, as the trailer lists it. */
static uint32_t stored_len(const struct raw *r, const struct bfs_chunk *chunk,
			   uint32_t k)
{
	if (r->head.kind == BFS_CHUNK_RAW)
		return k < r->head.n_blocks - 1 ? r->head.blocksize :
		       r->head.nbytes - k * r->head.blocksize;
	return chunk->head.n_blocks == r->head.n_blocks ? chunk->spans[k] : 0;
}

static void put_sizes(const struct window *w, uint64_t begin,
		      const struct raw *r, const struct bfs_chunk *chunk)
{
	uint64_t end = begin + 4 * (uint64_t)r->head.n_blocks, from;
	uint8_t word[4], *dst;
	size_t n = meet(w, begin, end, &from, &dst);
	uint64_t k;

	if (n == 0)
		return;
	for (k = from / 4; k < r->head.n_blocks &&
	      begin + 4 * k < w->off + w->len; k++) {
		put_le32(word, stored_len(r, chunk, (uint32_t)k));
		copy_part(w, begin + 4 * k, word, sizeof(word));
	}
}

/* The header, and behind bstarts the place of the chunk. */
static enum bfs_err put_fixed(struct bfs_array *a, uint64_t n,
			      const struct raw *r, uint64_t tables_end,
			      const struct window *w, struct bfs_diag *diag)
{
	uint8_t head[BFS_CHUNK_HEADER], place[12];
	uint64_t at = r->span.off, number = n;

	BFS_TRY(read_stored(a, r, 0, head, sizeof(head), diag));
	head[31] |= LAZY_FLAG;
	copy_part(w, 0, head, sizeof(head));
	/* In a sparse frame both numbers are that of the chunk's file. */
	if (a->container->ops->source)
		at = number = r->span.file;
	put_le32(place, (uint32_t)number);
	put_le64(place + 4, at);
	copy_part(w, tables_end, place, sizeof(place));
	return BFS_OK;
}

static enum bfs_err fill_lazy(struct bfs_array *a, uint64_t n,
			      const struct raw *r, const struct window *w,
			      struct bfs_diag *diag)
{
	uint64_t end = BFS_CHUNK_HEADER + 4 * (uint64_t)r->head.n_blocks, from;
	bool coded = r->head.kind != BFS_CHUNK_RAW;
	struct bfs_plan plan;
	uint8_t *dst;
	size_t len;

	BFS_TRY(put_fixed(a, n, r, end, w, diag));
	len = meet(w, BFS_CHUNK_HEADER, end, &from, &dst);
	if (len > 0 && coded)
		BFS_TRY(read_stored(a, r, BFS_CHUNK_HEADER + from, dst, len,
				    diag));
	else if (len > 0)
		memset(dst, 0, len);
	/* The plan of many blocks is large: not for what lies before. */
	if (w->off + w->len <= end + 12)
		return BFS_OK;
	BFS_TRY(bfs_array_find_plan(a, n, &plan, diag));
	put_sizes(w, end + 12, r, plan.chunk);
	bfs_chunk_unref(plan.chunk);
	return BFS_OK;
}

enum bfs_err bfs_array_lazy_read(struct bfs_array *a, uint64_t n, uint64_t off,
				 void *dst, size_t len, struct bfs_diag *diag)
{
	struct window window = { off, dst, len };
	uint64_t whole;
	struct raw r;

	BFS_TRY(bfs_array_lazy_len(a, n, &whole, diag));
	BFS_TRY(find_raw(a, n, &r, diag));
	if (!bfs_inside(off, len, whole))
		return bfs_fail(diag, BFS_ERR_CHANGED, r.span.off,
				"the chunk became shorter");
	if (stays_plain(&r))
		return read_stored(a, &r, off, dst, len, diag);
	return fill_lazy(a, n, &r, &window, diag);
}
