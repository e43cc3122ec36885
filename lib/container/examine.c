/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * examine.c - how the chunks and members of any container lie, and what a row
 * has to say about the rest.
 *
 * Several entries may name one chunk, and bytes that none names are what a
 * writer leaves behind that replaces or deletes chunks: that is noted. Chunks
 * that share a part of their bytes are never written.
 */
#include "container/examine.h"

#include "base/bytes.h"
#include "base/call.h"
#include "base/digest.h"
#include "base/mem.h"
#include "container/streams.h"
#include "source/sweep.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define PIECE (UINT32_C(256) << 10)	/* what is read at once */

/* One stored chunk; n is below BFS_EXAMINE_MAX. */
struct place {
	uint64_t off;
	uint32_t len, n;
};

void bfs_examine_tell(const struct bfs_examiner *x, bool is_note, uint64_t off,
		      int64_t chunk, const char *format, ...)
{
	struct bfs_diag why = { .err = BFS_ERR_CORRUPT, .off = off,
				.chunk = chunk };
	va_list args;

	va_start(args, format);
	vsnprintf(why.text, sizeof(why.text), format, args);
	va_end(args);
	x->tell(x->arg, is_note, &why);
}

/* ---- regions --------------------------------------------------------- */

static int compare_regions(const void *a, const void *b)
{
	const struct bfs_region *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

void bfs_examine_regions(const struct bfs_examiner *x,
			 struct bfs_region *regions, size_t n, uint64_t start,
			 uint64_t end)
{
	const char *before = NULL;
	size_t i;

	qsort(regions, n, sizeof(*regions), compare_regions);
	for (i = 0; i < n; i++) {
		const struct bfs_region *r = &regions[i];

		if (r->off > start)
			bfs_examine_tell(x, true, start, -1,
					 "%" PRIu64 " bytes before %s that "
					 "nothing names", r->off - start,
					 r->name);
		else if (r->off < start && before && r->len)
			bfs_examine_tell(x, false, r->off, -1,
					 "%s and %s share %" PRIu64 " bytes",
					 before, r->name,
					 bfs_min(start - r->off, r->len));
		if (r->off + r->len > start) {
			start = r->off + r->len;
			before = r->name;
		}
	}
	if (start < end)
		bfs_examine_tell(x, true, start, -1,
				 "%" PRIu64 " bytes behind %s that nothing "
				 "names", end - start,
				 before ? before : "the head");
}

/* ---- chunks ---------------------------------------------------------- */

/* Chunks with another typesize than the container's. */
struct strangers {
	uint64_t n, first, off;
	uint32_t typesize;		/* of the first */
};

/* Items of more than 255 bytes are bytes to a chunk. */
static void compare_typesize(const struct bfs_container *f,
			     const struct bfs_chunk_head *h, uint64_t n,
			     uint64_t off, struct strangers *s)
{
	if (h->typesize == (f->typesize > 255 ? 1 : f->typesize) || s->n++ > 0)
		return;
	s->first = n;
	s->off = off;
	s->typesize = h->typesize;
}

static void tell_strangers(const struct bfs_container *f,
			   const struct strangers *s,
			   const struct bfs_examiner *x)
{
	if (s->n)
		bfs_examine_tell(x, true, s->off + 3, (int64_t)s->first,
				 "its typesize is %" PRIu32 ", the container's "
				 "%" PRIu32 " (%" PRIu64 " such chunks)",
				 s->typesize, f->typesize, s->n);
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->n < y->n ? -1 : x->n > y->n;
}

/* Chunks that do not hold are found by who decodes them; ret_all is unset then,
 * for the bytes that they take are not known. */
static enum bfs_err collect(struct bfs_container *f, struct bfs_source *sweep,
			    const struct bfs_examiner *x,
			    struct place *places, size_t *ret_n, bool *ret_all,
			    struct bfs_diag *diag)
{
	struct strangers strangers = { 0 };
	bool all = true;
	size_t n = 0;
	uint64_t i;

	for (i = 0; i < f->n_chunks; i++) {
		struct bfs_chunk_head h;
		struct bfs_span span;
		enum bfs_err err = bfs_container_span(f, i, &span, diag);

		if (err == BFS_OK && span.special != BFS_CHUNK_BLOCKS)
			continue;
		if (err == BFS_OK)
			err = bfs_container_peek_in(sweep, &span, &h, diag);
		if (bfs_err_passes(err))
			return err;
		if (err != BFS_OK) {
			all = false;
			continue;
		}
		compare_typesize(f, &h, i, span.off, &strangers);
		places[n++] = (struct place){ span.off,
					      h.cbytes + f->chunk_tail,
					      (uint32_t)i };
	}
	tell_strangers(f, &strangers, x);
	qsort(places, n, sizeof(*places), compare_places);
	*ret_n = n;
	*ret_all = all;
	return BFS_OK;
}

/* Bytes between chunks, told as one. */
struct gaps {
	uint64_t n, len, first;
};

static void add_gap(struct gaps *gaps, uint64_t from, uint64_t to)
{
	if (to <= from)
		return;
	if (gaps->n++ == 0)
		gaps->first = from;
	gaps->len += to - from;
}

static void tell_places(struct bfs_container *f, const struct place *places,
			size_t n, bool all, const struct bfs_examiner *x)
{
	bool bounded = f->index && f->data_len && !f->ops->source;
	uint64_t reach = bounded ? f->data_off : n ? places[0].off : 0;
	const struct place *far = NULL;
	struct gaps gaps = { 0 };
	size_t i;

	for (i = 0; i < n; i++) {
		const struct place *p = &places[i];

		if (far && p->off < reach && p->off != far->off)
			bfs_examine_tell(x, false, p->off, p->n,
					 "its first %" PRIu64 " bytes belong "
					 "to chunk %" PRIu32 " too",
					 bfs_min(reach - p->off, p->len),
					 far->n);
		add_gap(&gaps, reach, p->off);
		if (!far || p->off + p->len > reach) {
			reach = bfs_max(reach, p->off + p->len);
			far = p;
		}
	}
	if (bounded)
		add_gap(&gaps, reach, f->data_off + f->data_len);
	else if (n && f->data_len == 0)	/* they reach the file's end */
		add_gap(&gaps, reach, bfs_source_len(f->source));
	if (gaps.n && all)
		bfs_examine_tell(x, true, gaps.first, -1,
				 "%" PRIu64 " bytes that no chunk names (%"
				 PRIu64 " gaps, of which the first is here)",
				 gaps.len, gaps.n);
}

enum bfs_err bfs_examine_streams(struct bfs_container *f, uint64_t n,
				 struct bfs_source *source,
				 const struct bfs_span *span,
				 const struct bfs_examiner *x,
				 struct bfs_diag *diag)
{
	struct bfs_streams streams;

	BFS_TRY(bfs_streams_look(source, span, &f->env, &streams, diag));
	if (streams.shared)
		bfs_examine_tell(x, false, streams.at, (int64_t)n,
				 "two of its blocks begin here");
	else if (streams.unnamed)
		bfs_examine_tell(x, true, streams.at, (int64_t)n, "%" PRIu64
				 " bytes in it that no stream takes, the "
				 "first is here", streams.unnamed);
	return BFS_OK;
}

/* Of chunks that lie at one place the first is looked at. On a server each of
 * these little reads may be a request. */
static enum bfs_err examine_insides(struct bfs_container *f,
				    struct bfs_source *sweep,
				    const struct place *places, size_t n,
				    const struct bfs_examiner *x,
				    struct bfs_diag *diag)
{
	size_t i;

	if (f->source->is_told)
		return BFS_OK;
	for (i = 0; i < n; i++) {
		struct bfs_span span;
		enum bfs_err err;

		if (i > 0 && places[i].off == places[i - 1].off)
			continue;
		err = bfs_container_span(f, places[i].n, &span, diag);
		if (err == BFS_OK)
			err = bfs_examine_streams(f, places[i].n, sweep, &span,
						  x, diag);
		if (bfs_err_passes(err))
			return err;
	}
	return BFS_OK;
}

static enum bfs_err examine_chunks(struct bfs_container *f,
				   const struct bfs_examiner *x,
				   struct bfs_diag *diag)
{
	BFS_CLEANUP(bfs_freep) struct place *places = NULL;
	struct bfs_source *sweep = NULL;
	enum bfs_err err;
	bool all = true;
	size_t n = 0;

	if (!f->ops->span || f->ops->source || f->n_chunks == 0)
		return BFS_OK;
	if (f->n_chunks > BFS_EXAMINE_MAX) {
		bfs_examine_tell(x, true, 0, -1, "the places of %" PRIu64
				 " chunks are too many to be compared",
				 f->n_chunks);
		return BFS_OK;
	}
	places = bfs_alloc((size_t)f->n_chunks * sizeof(*places));
	if (!places)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for the places of chunks");
	BFS_TRY(bfs_source_sweep(f->source, &sweep, diag));
	err = collect(f, sweep, x, places, &n, &all, diag);
	if (err == BFS_OK) {
		tell_places(f, places, n, all, x);
		err = examine_insides(f, sweep, places, n, x, diag);
	}
	bfs_source_unref(sweep);
	return err;
}

/* ---- members --------------------------------------------------------- */

static enum bfs_err sum_member(struct bfs_container *f,
			       const struct bfs_member *m, uint8_t *buf,
			       uint32_t *ret_crc, struct bfs_diag *diag)
{
	uint64_t off = m->off, left = m->len;
	struct bfs_digest d;
	uint8_t sum[4];

	BFS_TRY(bfs_digest_init(&d, BFS_DIGEST_CRC32));
	while (left > 0) {
		size_t len = (size_t)bfs_min(PIECE, left);
		enum bfs_err err = bfs_call_check(diag);

		if (err == BFS_OK)
			err = bfs_source_read(f->source, off, buf, len, diag);
		if (err != BFS_OK) {
			bfs_digest_release(&d);
			return err;
		}
		bfs_digest_add(&d, buf, len);
		off += len;
		left -= len;
	}
	BFS_TRY(bfs_digest_finish(&d, sum));
	*ret_crc = bfs_le32(sum);
	return BFS_OK;
}

static enum bfs_err examine_members(struct bfs_container *f,
				    const struct bfs_examiner *x,
				    struct bfs_diag *diag)
{
	BFS_CLEANUP(bfs_freep) uint8_t *buf = NULL;
	uint32_t crc;
	size_t i;

	for (i = 0; i < f->n_members; i++) {
		const struct bfs_member *m = &f->members[i];

		if (!m->has_crc || m->err != BFS_OK)
			continue;
		if (!buf)
			buf = bfs_alloc(PIECE);
		if (!buf)
			return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
		BFS_TRY(sum_member(f, m, buf, &crc, diag));
		if (crc != m->crc)
			bfs_examine_tell(x, false, m->off, -1,
					 "a member of %" PRIu64 " bytes has "
					 "crc32 %08" PRIx32 " where %08" PRIx32
					 " is stored", m->len, crc, m->crc);
		if (m->local_crc != m->crc)
			bfs_examine_tell(x, false, m->off, -1,
					 "the two headers of a member store "
					 "crc32 %08" PRIx32 " and %08" PRIx32,
					 m->local_crc, m->crc);
	}
	return BFS_OK;
}

enum bfs_err bfs_container_examine(struct bfs_container *f,
				   const struct bfs_examiner *x,
				   struct bfs_diag *diag)
{
	BFS_TRY(examine_chunks(f, x, diag));
	BFS_TRY(examine_members(f, x, diag));
	return f->ops->examine ? f->ops->examine(f, x, diag) : BFS_OK;
}
