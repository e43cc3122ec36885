/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * places.c - where the chunks of a Bloscpack file lie.
 *
 * Offsets are believed where they are; where the table is absent or says -1
 * the chunks are found by walking them once.
 */
#include "container/bloscpack/priv.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "container/tiling.h"

#include <inttypes.h>

#define MAX_CHUNKS (UINT64_C(1) << 26)

/* Chunks found by walking, and their sizes as running sums. */
struct walk {
	uint64_t *offs, *starts;
	uint64_t n, cap, end;
};

static enum bfs_err grow_walk(struct walk *w)
{
	uint64_t cap = w->cap ? 2 * w->cap : 64;
	uint64_t *offs, *starts;

	if (w->n < w->cap)
		return BFS_OK;
	offs = bfs_realloc(w->offs, (size_t)cap * sizeof(*offs));
	if (offs)
		w->offs = offs;
	starts = bfs_realloc(w->starts, ((size_t)cap + 1) * sizeof(*starts));
	if (starts)
		w->starts = starts;
	if (!offs || !starts)
		return BFS_ERR_NOMEM;
	w->cap = cap;
	return BFS_OK;
}

static void release_walk(struct walk *w)
{
	bfs_free(w->offs);
	bfs_free(w->starts);
}

/* Walks from `off` until `want` chunks were seen (UNKNOWN: until the end of
 * the file or what is no chunk). */
static enum bfs_err walk_chunks(struct bfs_container *f, uint64_t off,
				int64_t want, struct walk *w,
				struct bfs_diag *why)
{
	uint64_t sum = 0;

	while (want == UNKNOWN || w->n < (uint64_t)want) {
		struct bfs_chunk_head h;
		uint64_t next;

		w->end = off;
		if (want == UNKNOWN && off == bfs_source_len(f->source))
			break;
		if (w->n >= MAX_CHUNKS)
			return bfs_fail(why, BFS_ERR_LIMIT, off,
					"more than %" PRIu64 " chunks", w->n);
		BFS_TRY(bfs_bloscpack_peek(f, off, &h, &next, why));
		if (grow_walk(w) != BFS_OK)
			return bfs_fail(why, BFS_ERR_NOMEM, 0, "no memory");
		w->offs[w->n] = off;
		w->starts[w->n++] = sum;
		sum += h.nbytes;
		w->starts[w->n] = sum;
		off = next;
	}
	w->end = off;
	return BFS_OK;
}

/* Hands over to the container what a walk has found. */
static void use_walk(struct bfs_container *f, struct walk *w)
{
	priv(f)->offs = w->offs;
	f->n_chunks = w->n;
	f->chunksize = 0;
	f->starts = w->starts;
	f->nbytes = w->n ? w->starts[w->n] : 0;
}

static enum bfs_err open_by_walk(struct bfs_container *f, uint64_t off,
				 int64_t want, struct bfs_diag *diag)
{
	struct walk w = { 0 };
	struct bfs_diag why;
	enum bfs_err err = walk_chunks(f, off, want, &w, &why);

	if (bfs_err_passes(err)) {
		release_walk(&w);
		if (diag)
			*diag = why;
		return err;
	}
	/* Bytes that are no chunk are damage, whatever they look like. */
	if (err == BFS_ERR_UNSUPPORTED)
		why.err = BFS_ERR_CORRUPT;
	if (err == BFS_OK && w.end != bfs_source_len(f->source))
		err = bfs_fail(&why, BFS_ERR_CORRUPT, w.end,
			       "%" PRIu64 " bytes follow the last of %" PRIu64
			       " chunks", bfs_source_len(f->source) - w.end,
			       w.n);
	if (err != BFS_OK)
		bfs_container_doubt(f, &why);
	if (w.n == 0)
		release_walk(&w);
	else
		use_walk(f, &w);
	/* Where chunks are missing, the joined bytes would be wrong. */
	f->nbytes_known = err == BFS_OK;
	return BFS_OK;
}

enum bfs_err bfs_bloscpack_span(struct bfs_container *f, uint64_t n,
				struct bfs_span *ret_span,
				struct bfs_diag *diag)
{
	const struct bfs_bloscpack *b = priv(f);
	uint64_t len = bfs_source_len(f->source), off, at;
	size_t digest = bfs_digest_len(b->digest);
	uint8_t word[8];

	if (b->offs) {
		off = b->offs[n];
	} else {
		at = b->table + 8 * n;
		BFS_TRY(bfs_source_read(f->source, at, word, 8, diag));
		off = bfs_le64(word);
		if (!bfs_inside(off, BFS_CHUNK_MIN_HEADER + digest, len) ||
		    off < b->table)
			return bfs_fail(diag, BFS_ERR_CORRUPT, at,
					"it would begin at %" PRId64 " of %"
					PRIu64, (int64_t)off, len);
	}
	*ret_span = (struct bfs_span){ .special = BFS_CHUNK_BLOCKS, .off = off,
				       .avail = len - off - digest,
				       .nbytes = UINT32_MAX };
	return BFS_OK;
}

/* Whether any of the first n offsets is -1. */
static enum bfs_err table_has_holes(struct bfs_container *f, uint64_t n,
				    bool *ret_holes, struct bfs_diag *diag)
{
	BFS_CLEANUP(bfs_freep) uint8_t *buf = bfs_alloc(PIECE);
	uint64_t at = priv(f)->table, end = at + 8 * n;
	size_t len, i;

	if (!buf)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	*ret_holes = false;
	for (; at < end && !*ret_holes; at += len) {
		len = (size_t)bfs_min(PIECE, end - at);
		BFS_TRY(bfs_source_read(f->source, at, buf, len, diag));
		for (i = 0; i < len; i += 8)
			if (bfs_le64(buf + i) == UINT64_MAX)
				*ret_holes = true;
	}
	return BFS_OK;
}

/* Whether an offset in [n, n + room) of the table is set: then the number of
 * chunks is not what the header says. */
static enum bfs_err check_room(struct bfs_container *f, uint64_t n,
			       uint64_t room, struct bfs_diag *why)
{
	uint64_t at = priv(f)->table + 8 * n, end = at + 8 * room, i;
	BFS_CLEANUP(bfs_freep) uint8_t *buf = bfs_alloc(PIECE);
	uint64_t len;

	if (!buf)
		return bfs_fail(why, BFS_ERR_NOMEM, 0, "no memory");
	for (; at < end; at += len) {
		len = bfs_min(PIECE, end - at);
		BFS_TRY(bfs_source_read(f->source, at, buf, (size_t)len, why));
		for (i = 0; i < len; i += 8)
			if (bfs_le64(buf + i) != UINT64_MAX)
				return bfs_fail(why, BFS_ERR_CORRUPT, at + i,
						"an offset is set behind those "
						"of %" PRIu64 " chunks", n);
	}
	return BFS_OK;
}

/* Sizes of all chunks of a file with offsets. */
static enum bfs_err sum_chunks(struct bfs_container *f, uint64_t *starts,
			       struct bfs_tiling *tiling, struct bfs_diag *why)
{
	uint64_t sum = 0, n, next;
	struct bfs_chunk_head h;
	struct bfs_span s;

	for (n = 0; n < f->n_chunks; n++) {
		starts[n] = sum;
		BFS_TRY(bfs_container_span(f, n, &s, why));
		BFS_TRY(bfs_diag_chunk(why, bfs_bloscpack_peek(f, s.off, &h,
							       &next, why),
				       n));
		bfs_tiling_add(tiling, s.off, next);
		sum += h.nbytes;
	}
	starts[n] = sum;
	return BFS_OK;
}

/* Bytes behind the last chunk are left over from an append, unless they are a
 * sound chunk that the header does not count: then it is damaged. */
static enum bfs_err check_left(struct bfs_container *f, uint64_t end,
			       struct bfs_diag *why)
{
	struct bfs_chunk_head h;
	struct bfs_span s = { .off = end };
	uint64_t next;
	enum bfs_err err = bfs_bloscpack_peek(f, end, &h, &next, why);

	if (err == BFS_OK)
		err = bfs_bloscpack_verify(f, &s, why);
	if (bfs_err_passes(err))
		return err;
	return err != BFS_OK ? BFS_OK :
		bfs_fail(why, BFS_ERR_CORRUPT, end,
			 "a chunk follows the last of %" PRIu64, f->n_chunks);
}

/* Places of all chunks, and `begin`, where the first of them should lie. */
static enum bfs_err check_places(struct bfs_container *f, uint64_t begin,
				 uint64_t *starts, struct bfs_diag *why)
{
	struct bfs_tiling tiling = { .begin = begin, .end = begin };
	enum bfs_err err = bfs_tiling_init(&tiling, f->n_chunks, why);

	if (err == BFS_OK)
		err = sum_chunks(f, starts, &tiling, why);
	if (err == BFS_OK)
		err = bfs_tiling_check(&tiling, why);
	bfs_tiling_release(&tiling);
	BFS_TRY(err);
	if (f->n_chunks == 0 && begin != bfs_source_len(f->source))
		return bfs_fail(why, BFS_ERR_CORRUPT, begin,
				"%" PRIu64 " bytes of no chunk",
				bfs_source_len(f->source) - begin);
	return check_left(f, tiling.end, why);
}

static enum bfs_err open_by_table(struct bfs_container *f,
				  const struct header *h, uint64_t begin,
				  struct bfs_diag *diag)
{
	uint64_t n = (uint64_t)h->n_chunks;
	uint64_t *starts = bfs_alloc((size_t)(n + 1) * sizeof(*starts));
	struct bfs_diag why;
	enum bfs_err err;

	if (!starts)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	f->n_chunks = n;
	f->chunksize = 0;
	err = check_places(f, begin, starts, &why);
	if (err == BFS_OK)
		err = check_room(f, n, (uint64_t)h->max_app, &why);
	if (err == BFS_OK) {
		f->starts = starts;
		f->nbytes = starts[n];
		f->nbytes_known = true;
		return BFS_OK;
	}
	bfs_free(starts);
	return bfs_container_settle_doubt(f, err, &why, diag);
}

/* Where the words that are -1 end, from `at` on. */
static enum bfs_err skip_unset(struct bfs_container *f, uint64_t at,
			       uint64_t *ret_at, struct bfs_diag *why)
{
	BFS_CLEANUP(bfs_freep) uint8_t *buf = bfs_alloc(PIECE);
	uint64_t end = bfs_source_len(f->source);
	size_t len, i;

	if (!buf)
		return bfs_fail(why, BFS_ERR_NOMEM, 0, "no memory");
	while (end - at >= 8) {
		len = (size_t)bfs_min(PIECE, (end - at) & ~UINT64_C(7));
		BFS_TRY(bfs_source_read(f->source, at, buf, len, why));
		for (i = 0; i < len; i += 8, at += 8) {
			if (bfs_le64(buf + i) == UINT64_MAX)
				continue;
			*ret_at = at;
			return BFS_OK;
		}
	}
	*ret_at = at;
	return BFS_OK;
}

/* The table of an unknown number of chunks: its first entry, if set, tells
 * where it ends; else the first chunk behind the -1 words does. */
static enum bfs_err find_table_end(struct bfs_container *f, uint64_t table,
				   uint64_t *ret_end, struct bfs_diag *why)
{
	struct bfs_chunk_head h;
	uint64_t at, next;
	uint8_t word[8];

	BFS_TRY(bfs_source_read(f->source, table, word, 8, why));
	if (bfs_le64(word) != UINT64_MAX) {
		*ret_end = bfs_le64(word);
		return BFS_OK;
	}
	BFS_TRY(skip_unset(f, table, &at, why));
	if (bfs_bloscpack_peek(f, at, &h, &next, why) != BFS_OK)
		return bfs_fail(why, BFS_ERR_CORRUPT, at,
				"no chunk follows the offsets");
	*ret_end = at;
	return BFS_OK;
}

enum bfs_err bfs_bloscpack_find_chunks(struct bfs_container *f,
				       const struct header *h,
				       struct bfs_diag *diag)
{
	uint64_t len = bfs_source_len(f->source), entries, table_len;
	struct bfs_diag why;
	bool holes;

	if (!(h->options & 1))
		return open_by_walk(f, h->data, h->n_chunks, diag);
	priv(f)->table = h->data;
	if (h->n_chunks == UNKNOWN) {
		enum bfs_err err = find_table_end(f, h->data, &entries, &why);

		if (err != BFS_OK)
			return bfs_container_settle_doubt(f, err, &why, diag);
		return open_by_walk(f, entries, UNKNOWN, diag);
	}
	entries = (uint64_t)h->n_chunks + (uint64_t)h->max_app;
	if (!bfs_mul(entries, 8, &table_len) ||
	    !bfs_inside(h->data, table_len, len) ||
	    (uint64_t)h->n_chunks > MAX_CHUNKS) {
		bfs_fail(&why, BFS_ERR_TRUNCATED, h->data,
			 "%" PRIu64 " offsets do not fit into the file",
			 entries);
		bfs_container_doubt(f, &why);
		return BFS_OK;
	}
	BFS_TRY(table_has_holes(f, (uint64_t)h->n_chunks, &holes, diag));
	if (holes)
		return open_by_walk(f, h->data + table_len, h->n_chunks, diag);
	return open_by_table(f, h, h->data + table_len, diag);
}

bool bfs_bloscpack_is_oldest(struct bfs_container *f, const uint8_t *p,
			     size_t len)
{
	struct walk w = { 0 };
	bool fits;

	if (len < 8 + BFS_CHUNK_MIN_HEADER || p[8] < 1 || p[8] > 2 ||
	    p[9] != 1)
		return false;
	fits = walk_chunks(f, 8, UNKNOWN, &w, NULL) == BFS_OK &&
	       w.n == bfs_le32(p + 4);
	release_walk(&w);
	return fits;
}
