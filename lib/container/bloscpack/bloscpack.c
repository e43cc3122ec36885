/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bloscpack.c - Bloscpack 1, 2 and 3, and the form of 8 bytes before them.
 *
 * Sizes come from chunk headers, and are in doubt where the file's header or
 * other bytes contradict them. A chunk's checksum is verified before any of
 * its bytes are used. See docs/formats/bloscpack.md.
 */
#include "container/bloscpack/meta.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "container/examine.h"
#include "container/metajson.h"

#include <inttypes.h>
#include <stdio.h>

static bool probe(struct bfs_source *source, const uint8_t *head,
		  size_t head_len, const char *name)
{
	(void)source;
	(void)name;
	return head_len >= 4 && !memcmp(head, "blpk", 4);
}

/* Header fields of version 2 and 3. */
static enum bfs_err parse_header(struct bfs_container *f, const uint8_t *p,
				 struct header *h, struct bfs_diag *why)
{
	struct bfs_bloscpack *b = priv(f);

	h->options = p[5];
	h->n_chunks = (int64_t)bfs_le64(p + 16);
	h->max_app = b->version == 3 ? (int64_t)bfs_le64(p + 24) : 0;
	h->chunk_size = (int32_t)bfs_le32(p + 8);
	h->last = (int32_t)bfs_le32(p + 12);
	h->data = 32;
	f->typesize = (uint32_t)bfs_max(1, p[7]);
	if (h->options & (b->version == 3 ? ~3u : ~1u))
		return bfs_fail(why, BFS_ERR_UNSUPPORTED, 5, "options %02x",
				h->options);
	if (p[6] >= BFS_N_DIGESTS)
		return bfs_fail(why, BFS_ERR_CORRUPT, 6,
				"checksum %u is unknown", p[6]);
	b->digest = (enum bfs_digest_kind)p[6];
	f->chunk_tail = (uint32_t)bfs_digest_len(b->digest);
	if (h->chunk_size < UNKNOWN || h->last < UNKNOWN)
		return bfs_fail(why, BFS_ERR_CORRUPT, 8,
				"chunk size %" PRId64 ", last %" PRId64,
				h->chunk_size, h->last);
	if (h->n_chunks < UNKNOWN || h->max_app < 0 ||
	    h->n_chunks > INT64_MAX - h->max_app)
		return bfs_fail(why, BFS_ERR_CORRUPT, 16,
				"%" PRId64 " chunks and room for %" PRId64,
				h->n_chunks, h->max_app);
	return BFS_OK;
}

static enum bfs_err open_version(struct bfs_container *f, const uint8_t *p,
				 size_t len, struct header *h,
				 struct bfs_diag *why)
{
	struct bfs_bloscpack *b = priv(f);

	if (bfs_bloscpack_is_oldest(f, p, len)) {
		b->version = 0;
		*h = (struct header){ .n_chunks = bfs_le32(p + 4), .data = 8,
				      .chunk_size = UNKNOWN, .last = UNKNOWN };
		return BFS_OK;
	}
	b->version = len > 4 ? p[4] : 0;
	if (b->version < 1 || b->version > 3)
		return bfs_fail(why, len > 4 && b->version > 3 ?
				BFS_ERR_UNSUPPORTED : BFS_ERR_CORRUPT, 4,
				"Bloscpack version %u", b->version);
	if (len < (b->version == 1 ? 16 : 32))
		return bfs_fail(why, BFS_ERR_TRUNCATED, len,
				"the file ends inside its header");
	if (b->version > 1)
		return parse_header(f, p, h, why);
	*h = (struct header){ .n_chunks = (int64_t)bfs_le64(p + 8),
			      .data = 16, .chunk_size = UNKNOWN,
			      .last = UNKNOWN };
	if (h->n_chunks < UNKNOWN || p[5] || p[6] || p[7])
		return bfs_fail(why, BFS_ERR_CORRUPT, 5,
				"%" PRId64 " chunks", h->n_chunks);
	return BFS_OK;
}

/* The sizes that the file's header tells must be those of the chunks. */
static void check_sizes(struct bfs_container *f, const struct header *h)
{
	struct bfs_diag why;
	uint64_t i, size;
	int64_t want;

	for (i = 0; f->starts && i < f->n_chunks; i++) {
		size = f->starts[i + 1] - f->starts[i];
		want = i + 1 < f->n_chunks ? h->chunk_size : h->last;
		/* 0: the only chunk of an old file has the other length. */
		if (want == UNKNOWN || size == (uint64_t)want ||
		    (want == 0 && i + 1 < f->n_chunks))
			continue;
		bfs_fail(&why, BFS_ERR_CORRUPT, i + 1 < f->n_chunks ? 8 : 12,
			 "a chunk has %" PRIu64 " bytes, the file says %"
			 PRId64, size, want);
		why.chunk = (int64_t)i;
		bfs_container_doubt(f, &why);
		return;
	}
}

/* What the header claims, where the chunks cannot tell. */
static void claim_length(struct bfs_container *f, const struct header *h)
{
	uint64_t sum;

	f->claim = f->nbytes;
	if (h->n_chunks > 0 && h->chunk_size >= 0 && h->last >= 0 &&
	    bfs_mul((uint64_t)h->n_chunks - 1, (uint64_t)h->chunk_size,
		    &sum) && bfs_add(sum, (uint64_t)h->last, &sum))
		f->claim = sum;
}

/* Codec and typesize as the first chunk has them. */
static void note_first(struct bfs_container *f)
{
	struct bfs_chunk_head h;
	struct bfs_span s;

	if (f->n_chunks > 0 && bfs_container_span(f, 0, &s, NULL) == BFS_OK &&
	    bfs_container_peek(f, &s, &h, NULL) == BFS_OK && !f->array.present)
		f->typesize = h.typesize;
}

static enum bfs_err open_pack(struct bfs_container *f, const char *name,
			      struct bfs_diag *diag)
{
	struct header h = { 0 };
	uint8_t head[32] = { 0 };
	struct bfs_diag why;
	enum bfs_err err;
	size_t len = (size_t)bfs_min(sizeof(head), bfs_source_len(f->source));

	(void)name;
	f->priv = bfs_zalloc(1, sizeof(struct bfs_bloscpack));
	if (!f->priv)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	BFS_TRY(bfs_source_read(f->source, 0, head, len, diag));
	err = open_version(f, head, len, &h, &why);
	snprintf(f->format_detail, sizeof(f->format_detail),
		 "version %u, checksum %s", priv(f)->version,
		 bfs_digest_name(priv(f)->digest));
	if (err == BFS_OK && h.options & 2)
		err = bfs_bloscpack_meta(f, 32, &h.data, &why);
	if (err != BFS_OK)
		return bfs_container_settle_doubt(f, err, &why, diag);
	BFS_TRY(bfs_bloscpack_find_chunks(f, &h, diag));
	check_sizes(f, &h);
	claim_length(f, &h);
	if (f->array.linear)
		bfs_meta_check_linear(f);
	bfs_container_note_sizes(f);
	note_first(f);
	return BFS_OK;
}

/* The header's typesize, which nobody needs: that of the chunks counts. Of an
 * array the chunks are compared with the header's. */
static enum bfs_err examine(struct bfs_container *f,
			    const struct bfs_examiner *x,
			    struct bfs_diag *diag)
{
	uint8_t head[8];

	if (f->status != BFS_GOOD || priv(f)->version < 2 ||
	    f->n_chunks == 0 || f->array.present)
		return BFS_OK;
	BFS_TRY(bfs_source_read(f->source, 0, head, sizeof(head), diag));
	if (head[7] != (uint8_t)f->typesize)
		bfs_examine_tell(x, true, 7, -1, "the header's typesize is %u, "
				 "the first chunk's %" PRIu32, head[7],
				 f->typesize);
	return BFS_OK;
}

static void close_pack(struct bfs_container *f)
{
	if (f->priv)
		bfs_free(priv(f)->offs);
	bfs_free(f->priv);
}

const struct bfs_format bfs_container_bloscpack = {
	.name = "bloscpack",
	.endings = { ".blp" },
	.probe = probe,
	.open = open_pack,
	.span = bfs_bloscpack_span,
	.verify = bfs_bloscpack_verify,
	.examine = examine,
	.close = close_pack,
};
