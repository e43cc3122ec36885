/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed.c - the packed super-chunk of the C-Blosc2 2.0 alphas: a header
 * without magic, chunks back to back, and their positions at the end.
 *
 * Recognised by its structure alone. The delta of the alphas is undone here:
 * it adds a reference chunk of the file, byte by byte, to every chunk that
 * is not stored plain. See docs/formats/packed.md.
 */
#include "container/container.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "container/blocks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define HEADER 96
#define HEADER_A5 120
#define MAX_COUNT (UINT64_C(1) << 28)
#define MAX_PLACES (UINT64_C(1) << 22)
#define MAX_BLOCK (UINT32_C(16) << 20)

/* Positions of the header. */
struct packed {
	bool a5;
	uint64_t table;			/* where the positions begin */
	uint64_t filters;		/* the delta reference, or 0 */
	pthread_mutex_t lock;		/* guards the pointer below */
	struct bfs_blocks *reference;	/* once it is needed */
};

static const struct side {
	const char *name;
	uint8_t at;			/* of its position in the header */
} sides[] = {
	{ "filters", 40 }, { "codec", 48 }, { "metadata", 56 },
	{ "userdata", 64 },
};

static bool fields_of_a4(const uint8_t *p)
{
	unsigned slots = bfs_le16(p + 8), i;

	for (i = 0; i < 5; i++)
		if ((slots >> 3 * i & 7) > 3)
			return false;
	return bfs_le16(p + 4) <= 5 && bfs_le16(p + 6) <= 9 &&
	       slots < 0x8000 && bfs_le16(p + 10) == 0 &&
	       bfs_le32(p + 12) == 0;
}

static bool fields_of_a5(const uint8_t *p)
{
	uint32_t typesize = bfs_le32(p + 8);

	return p[4] <= 5 && p[5] <= 9 && bfs_le16(p + 6) == 0 &&
	       typesize >= 1 && typesize <= 255;
}

static bool probe(struct bfs_source *source, const uint8_t *head,
		  size_t head_len, const char *name)
{
	uint64_t len = bfs_source_len(source), n;

	(void)name;
	if (head_len < HEADER || bfs_le32(head) != 0 ||
	    bfs_le64(head + 32) != len)
		return false;
	n = bfs_le64(head + 16);
	return n <= (len - HEADER) / 8 &&
	       bfs_le64(head + 72) == len - 8 * n &&
	       (int64_t)bfs_le64(head + 24) >= HEADER &&
	       (fields_of_a4(head) || fields_of_a5(head));
}

/* One chunk of the file, data or side. */
struct place {
	uint64_t off, len;
	uint64_t nbytes;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

static enum bfs_err read_place(const struct bfs_container *f, uint64_t off,
			       struct place *ret_place, struct bfs_diag *why)
{
	const struct packed *p = f->priv;
	uint8_t head[BFS_CHUNK_HEADER];
	struct bfs_chunk_head h;
	size_t len;

	if (off < HEADER || off > p->table - BFS_CHUNK_MIN_HEADER)
		return bfs_fail(why, BFS_ERR_CORRUPT, p->table,
				"a chunk would begin at %" PRId64,
				(int64_t)off);
	len = (size_t)bfs_min(sizeof(head), p->table - off);
	BFS_TRY(bfs_source_read(f->source, off, head, len, why));
	BFS_TRY(bfs_diag_shift(why, bfs_chunk_parse(head, len, p->table - off,
						    &h, why), off));
	if (h.version > 3)
		return bfs_fail(why, BFS_ERR_CORRUPT, off,
				"a chunk of version %u", h.version);
	*ret_place = (struct place){ off, h.cbytes, h.nbytes };
	return BFS_OK;
}

/* Sorted by place, the chunks cover the file from header to table; and the
 * header's nbytes counts header, table and all of them. */
static enum bfs_err check_places(struct bfs_container *f, struct place *places,
				 uint64_t n, uint64_t counted,
				 struct bfs_diag *why)
{
	const struct packed *p = f->priv;
	uint64_t at, sum = 8 * f->n_chunks, i;

	qsort(places, (size_t)n, sizeof(*places), compare_places);
	at = n > 0 ? places[0].off : p->table;
	if (at != HEADER && at != HEADER_A5)
		return bfs_fail(why, BFS_ERR_CORRUPT, at,
				"no chunk begins behind the header");
	for (i = 0; i < n; i++) {
		if (places[i].off != at)
			return bfs_fail(why, BFS_ERR_CORRUPT, at,
					"chunks overlap or leave a gap");
		at += places[i].len;
		sum += places[i].nbytes;
	}
	if (at != p->table)
		return bfs_fail(why, BFS_ERR_CORRUPT, at,
				"the chunks do not end at the table of "
				"positions");
	if (counted - sum != (p->a5 ? HEADER_A5 : HEADER))
		return bfs_fail(why, BFS_ERR_CORRUPT, 24,
				"nbytes %" PRIu64 " does not count the chunks' "
				"%" PRIu64, counted, sum);
	return BFS_OK;
}

static enum bfs_err collect_places(struct bfs_container *f, const uint8_t *head,
				   struct place *places, uint64_t *ret_n,
				   struct bfs_diag *why)
{
	struct bfs_span span;
	uint64_t n = 0, i;

	for (i = 0; i < BFS_ARRAY_LEN(sides); i++) {
		uint64_t off = bfs_le64(head + sides[i].at);

		if (off)
			BFS_TRY(read_place(f, off, &places[n++], why));
	}
	for (i = 0; i < f->n_chunks; i++) {
		BFS_TRY(bfs_container_span(f, i, &span, why));
		BFS_TRY(bfs_diag_chunk(
			why, read_place(f, span.off, &places[n++], why), i));
	}
	*ret_n = n;
	return BFS_OK;
}

/* What else must hold of a file that was recognised. Chunks that are sound are
 * served, whatever the answer. */
static enum bfs_err check_state(struct bfs_container *f, const uint8_t *head,
				struct bfs_diag *why)
{
	BFS_CLEANUP(bfs_freep) struct place *places = NULL;
	uint64_t n = 0;

	if (f->n_chunks > MAX_PLACES)
		return BFS_OK;
	places = bfs_zalloc((size_t)f->n_chunks + BFS_ARRAY_LEN(sides),
			    sizeof(*places));
	if (!places)
		return bfs_fail(why, BFS_ERR_NOMEM, 0, "no memory");
	BFS_TRY(collect_places(f, head, places, &n, why));
	return check_places(f, places, n, bfs_le64(head + 24), why);
}

/* Side chunks that hold become metalayers. */
static enum bfs_err add_sides(struct bfs_container *f, const uint8_t *head,
			      struct bfs_diag *diag)
{
	struct place place;
	size_t i;

	for (i = 0; i < BFS_ARRAY_LEN(sides); i++) {
		uint64_t off = bfs_le64(head + sides[i].at);

		if (!off || read_place(f, off, &place, NULL) != BFS_OK)
			continue;
		if (bfs_container_add_meta(&f->metas, &f->n_metas,
					   sides[i].name, strlen(sides[i].name),
					   off, place.len, true))
			return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	}
	return BFS_OK;
}

static enum bfs_err add_reference(void *container,
				  const struct bfs_chunk *chunk, uint32_t off,
				  uint8_t *dst, size_t len,
				  struct bfs_diag *diag);

static void read_fields(struct bfs_container *f, const uint8_t *head)
{
	struct packed *p = f->priv;
	unsigned slots = bfs_le16(head + 8), i;

	p->table = bfs_le64(head + 72);
	p->filters = bfs_le64(head + 40);
	p->a5 = !fields_of_a4(head);
	f->has_defaults = true;
	f->n_chunks = bfs_le64(head + 16);
	f->data_len = p->table;
	if (p->a5) {
		f->codec = head[4];
		f->clevel = head[5];
		f->typesize = bfs_le32(head + 8);
		snprintf(f->format_detail, sizeof(f->format_detail), "a5");
		return;
	}
	f->codec = bfs_le16(head + 4);
	f->clevel = bfs_le16(head + 6);
	for (i = 0; i < 5; i++)
		f->filters[i] = slots >> 3 * i & 7;
	if (f->filters[0] == 3)
		f->last = (struct bfs_chunk_last){ add_reference, f };
	snprintf(f->format_detail, sizeof(f->format_detail), "a2 to a4");
}

/* The sum of the chunks' sizes. The first stored chunk tells the typesize
 * that the old header does not. */
static enum bfs_err sum_chunks(struct bfs_container *f, struct bfs_diag *why)
{
	struct bfs_chunk_head h;
	struct bfs_span span;
	uint64_t sum = 0, i;

	for (i = 0; i < f->n_chunks; i++) {
		BFS_TRY(bfs_container_span(f, i, &span, why));
		BFS_TRY(bfs_diag_chunk(
			why, bfs_container_peek(f, &span, &h, why), i));
		if (i == 0 && f->typesize == 1)
			f->typesize = h.typesize;
		sum += h.nbytes;
	}
	f->nbytes = sum;
	f->nbytes_known = true;
	return BFS_OK;
}

static enum bfs_err open_packed(struct bfs_container *f, const char *name,
				struct bfs_diag *diag)
{
	struct packed *p = bfs_zalloc(1, sizeof(*p));
	uint8_t head[HEADER];
	struct bfs_diag why;
	enum bfs_err err;

	(void)name;
	if (!p)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	pthread_mutex_init(&p->lock, NULL);
	f->priv = p;
	BFS_TRY(bfs_source_read(f->source, 0, head, HEADER, diag));
	if (!probe(f->source, head, HEADER, NULL))
		return bfs_fail(diag, BFS_ERR_CHANGED, 0,
				"the super-chunk is no longer there");
	read_fields(f, head);
	if (f->n_chunks > MAX_COUNT)
		return bfs_fail(diag, BFS_ERR_LIMIT, 16, "%" PRIu64 " chunks",
				f->n_chunks);
	err = sum_chunks(f, &why);
	if (err == BFS_OK)
		err = check_state(f, head, &why);
	BFS_TRY(bfs_container_settle_doubt(f, err, &why, diag));
	return add_sides(f, head, diag);
}

static enum bfs_err span(struct bfs_container *f, uint64_t n,
			 struct bfs_span *ret_span, struct bfs_diag *diag)
{
	const struct packed *p = f->priv;
	uint8_t word[8];
	uint64_t off;

	BFS_TRY(bfs_source_read(f->source, p->table + 8 * n, word, 8, diag));
	off = bfs_le64(word);
	if (off < HEADER || off > p->table - BFS_CHUNK_MIN_HEADER)
		return bfs_fail(diag, BFS_ERR_CORRUPT, p->table + 8 * n,
				"it would begin at %" PRId64, (int64_t)off);
	*ret_span = (struct bfs_span){ .special = BFS_CHUNK_BLOCKS, .off = off,
				       .avail = p->table - off,
				       .nbytes = UINT32_MAX };
	return BFS_OK;
}

/* ---- delta ----------------------------------------------------------- */

static enum bfs_err check_reference(const struct packed *p,
				    const struct bfs_chunk_head *h,
				    struct bfs_diag *diag)
{
	uint32_t size = h->kind == BFS_CHUNK_VLBLOCKS ? h->nbytes :
							h->blocksize;

	if (h->kind != BFS_CHUNK_RAW && size > MAX_BLOCK)
		return bfs_fail(diag, BFS_ERR_LIMIT, p->filters + 8,
				"a delta reference in blocks of %" PRIu32
				" bytes", size);
	return BFS_OK;
}

static enum bfs_err open_reference(struct bfs_container *f,
				   struct bfs_blocks **ret_blocks,
				   struct bfs_diag *diag)
{
	const struct packed *p = f->priv;
	struct bfs_chunk *chunk;
	enum bfs_err err;

	if (p->filters < HEADER || p->filters > p->table)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 40,
				"the delta reference is missing");
	BFS_TRY(bfs_diag_shift(diag, bfs_chunk_open(f->source, p->filters,
						    p->table - p->filters,
						    UINT32_MAX, &f->env,
						    &chunk, diag),
			       p->filters));
	err = check_reference(p, &chunk->head, diag);
	if (err == BFS_OK)
		err = bfs_source_check(f->source, diag);
	if (err != BFS_OK) {
		bfs_chunk_unref(chunk);
		return err;
	}
	return bfs_blocks_new(f->cache, f->source, p->filters, chunk,
			      ret_blocks, diag);
}

/* The reference, opened when first needed and kept. */
static enum bfs_err find_reference(struct bfs_container *f,
				   struct bfs_blocks **ret_blocks,
				   struct bfs_diag *diag)
{
	struct packed *p = f->priv;
	struct bfs_blocks *known, *own = NULL;

	pthread_mutex_lock(&p->lock);
	known = p->reference;
	pthread_mutex_unlock(&p->lock);
	if (!known) {
		BFS_TRY(open_reference(f, &own, diag));
		pthread_mutex_lock(&p->lock);
		if (!p->reference) {
			p->reference = own;
			own = NULL;
		}
		known = p->reference;
		pthread_mutex_unlock(&p->lock);
		bfs_blocks_free(own);
	}
	*ret_blocks = known;
	return BFS_OK;
}

/* The last stage of each chunk (struct bfs_chunk_last). */
static enum bfs_err add_reference(void *container,
				  const struct bfs_chunk *chunk, uint32_t off,
				  uint8_t *dst, size_t len,
				  struct bfs_diag *diag)
{
	const struct bfs_chunk *r;
	struct bfs_blocks *blocks;
	struct bfs_cache_pin pin;
	size_t i, n;

	if (chunk->head.kind == BFS_CHUNK_RAW)
		return BFS_OK;
	BFS_TRY(find_reference(container, &blocks, diag));
	r = bfs_blocks_chunk(blocks);
	while (len > 0 && off < r->head.nbytes) {
		uint32_t k = bfs_chunk_block_at(r, off);
		uint32_t at = off - bfs_chunk_block_off(r, k);

		BFS_TRY(bfs_blocks_pin(blocks, k, &pin, diag));
		n = (size_t)bfs_min(len, pin.len - at);
		for (i = 0; i < n; i++)
			dst[i] = (uint8_t)(dst[i] + pin.data[at + i]);
		bfs_blocks_unpin(blocks, &pin);
		dst += n;
		off += (uint32_t)n;
		len -= n;
	}
	return BFS_OK;
}

static void close_packed(struct bfs_container *f)
{
	struct packed *p = f->priv;

	if (!p)
		return;
	bfs_blocks_free(p->reference);
	pthread_mutex_destroy(&p->lock);
	bfs_free(p);
}

const struct bfs_format bfs_container_packed = {
	.name = "packed super-chunk",
	.endings = { ".b2packed" },
	.probe = probe,
	.open = open_packed,
	.span = span,
	.close = close_packed,
};
