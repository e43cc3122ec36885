/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * barechunk.c - chunk files: one chunk is the whole file, or several follow
 * each other to its end.
 *
 * Chunks have no magic, so the whole test must pass: header, first entry of
 * bstarts, a codec that existed in the chunk's version, and lengths that add up
 * to the file's. See docs/formats/barechunk.md.
 */
#include "container/chainend.h"
#include "container/container.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/moment.h"

#include <inttypes.h>
#include <stdio.h>

/* No writer makes a file of more chunks than this. */
#define MAX_CHAIN (UINT32_C(1) << 22)

static bool codec_fits_version(const struct bfs_chunk_head *h)
{
	switch (h->codec_format) {
	case 2:
		return h->version <= 4;
	case 5:
		return h->version == 3 || h->version == 4;
	case 6:
		return h->header_len == 32;
	case 7:
		return false;
	default:
		return true;
	}
}

static bool first_start_holds(const struct bfs_chunk_head *h,
			      struct bfs_source *source, uint64_t off)
{
	uint32_t tables = h->header_len + 4 * h->n_blocks, start;
	uint8_t word[4];

	if (h->kind != BFS_CHUNK_BLOCKS && h->kind != BFS_CHUNK_VLBLOCKS)
		return true;
	if (bfs_source_read(source, off + h->header_len, word, 4, NULL))
		return false;
	start = bfs_le32(word);
	return start >= tables && start < h->cbytes;
}

/* Whether a whole chunk lies at off; says how long it is. */
static bool chunk_lies_at(struct bfs_source *source, uint64_t off,
			  struct bfs_chunk_head *ret_head)
{
	uint64_t avail = bfs_source_len(source) - off;
	uint8_t head[BFS_CHUNK_HEADER];
	size_t len = (size_t)bfs_min(sizeof(head), avail);

	if (avail < BFS_CHUNK_MIN_HEADER ||
	    bfs_source_read(source, off, head, len, NULL) != BFS_OK)
		return false;
	return head[0] >= 1 && head[0] <= 6 && head[1] == 1 &&
	       bfs_chunk_parse(head, len, avail, ret_head, NULL) == BFS_OK &&
	       codec_fits_version(ret_head) &&
	       first_start_holds(ret_head, source, off);
}

static bool name_says_chunk(const char *name)
{
	return bfs_format_claims(&bfs_container_barechunk, name);
}

/* A chain of chunks. */
struct chain {
	uint64_t n, cap;
	uint64_t end;		/* where it stops being one */
	uint64_t nbytes;
	uint64_t *offs, *starts;	/* where each begins, in the file and
					 * decoded, and the end; or NULL */
};

static enum bfs_err grow_chain(struct chain *c)
{
	uint64_t cap = c->cap ? 2 * c->cap : 1;
	uint64_t *offs, *starts;

	if (c->n < c->cap)
		return BFS_OK;
	offs = bfs_realloc(c->offs, (size_t)cap * sizeof(*offs));
	if (offs)
		c->offs = offs;
	starts = bfs_realloc(c->starts, (size_t)(cap + 1) * sizeof(*starts));
	if (starts)
		c->starts = starts;
	c->cap = cap;
	return offs && starts ? BFS_OK : BFS_ERR_NOMEM;
}

/* Follows it; with `keep` remembers where chunks begin. */
static enum bfs_err walk_chain(struct bfs_source *source, bool keep,
			       struct chain *c)
{
	uint64_t len = bfs_source_len(source);
	struct bfs_chunk_head h;

	while (c->n < MAX_CHAIN && c->end < len &&
	       chunk_lies_at(source, c->end, &h)) {
		if (keep) {
			BFS_TRY(grow_chain(c));
			c->offs[c->n] = c->end;
			c->starts[c->n] = c->nbytes;
			c->starts[c->n + 1] = c->nbytes + h.nbytes;
		}
		c->end += h.cbytes;
		c->nbytes += h.nbytes;
		c->n++;
	}
	return BFS_OK;
}

static bool probe(struct bfs_source *source, const uint8_t *head,
		  size_t head_len, const char *name)
{
	struct chain c = { .n = 0 };

	(void)head_len;
	if (head[0] < 1 || head[0] > 6 || head[1] != 1)
		return false;
	if (walk_chain(source, false, &c) != BFS_OK || c.n == 0)
		return false;
	return c.end == bfs_source_len(source) || name_says_chunk(name);
}

static void set_facts(struct bfs_container *f, const struct bfs_chunk_head *h)
{
	static const uint8_t codes[8] = { 0, 1, 3, 4, 5, 6, 0, 0 };

	f->typesize = h->typesize;
	f->blocksize = h->blocksize;
	f->codec = h->codec_format == 6 || (h->codec_format == 1 &&
					    h->codec_id == 2) ?
			h->codec_id : codes[h->codec_format];
	f->codec_meta = h->codec_meta;
	memcpy(f->filters, h->filters, sizeof(f->filters));
	memcpy(f->filters_meta, h->filters_meta, sizeof(f->filters_meta));
	f->has_defaults = true;
}

/* Bytes behind the last chunk: a file whose name says that it holds chunks may
 * have some, unless they are chunks that can no longer be found. */
static enum bfs_err check_left(struct bfs_container *f, uint64_t last,
			       struct bfs_diag *diag)
{
	uint64_t end = f->data_len, len = bfs_source_len(f->source);
	struct bfs_span at = { .off = last, .avail = end - last };
	struct bfs_chunk_head h;
	struct bfs_diag why;
	enum bfs_err err;

	if (end == len)
		return BFS_OK;
	BFS_TRY(bfs_container_peek(f, &at, &h, diag));
	err = bfs_chainend_check(f->source, last, &h, &why);
	BFS_TRY(bfs_container_settle_doubt(f, err, &why, diag));
	bfs_fail(&why, BFS_ERR_CORRUPT, end,
		 "%" PRIu64 " bytes are left over behind the chunk",
		 len - end);
	bfs_container_blame(f, &why);
	return BFS_OK;
}

static enum bfs_err open_chunks(struct bfs_container *f, const char *name,
				struct bfs_diag *diag)
{
	uint64_t len = bfs_source_len(f->source), mark = bfs_moment_mark();
	struct chain c = { .n = 0 };
	struct bfs_chunk_head h;
	enum bfs_err err;

	(void)name;
	err = walk_chain(f->source, true, &c);
	f->priv = c.offs;
	f->starts = c.starts;
	if (err != BFS_OK)
		return bfs_fail(diag, err, 0, "no memory");
	if (c.n == 0 || !chunk_lies_at(f->source, 0, &h))
		return bfs_container_gone(mark, "the chunk is", diag);
	f->n_chunks = c.n;
	f->nbytes = c.nbytes;
	f->nbytes_known = true;
	f->cbytes = len;
	f->chunksize = c.n == 1 && c.nbytes > 0 ? (int64_t)c.nbytes : 0;
	f->data_len = c.end;
	set_facts(f, &h);
	snprintf(f->format_detail, sizeof(f->format_detail), "version %u",
		 h.version);
	return check_left(f, c.offs[c.n - 1], diag);
}

static enum bfs_err span(struct bfs_container *f, uint64_t n,
			 struct bfs_span *ret_span, struct bfs_diag *diag)
{
	const uint64_t *offs = f->priv;

	(void)diag;
	*ret_span = (struct bfs_span){
		.special = BFS_CHUNK_BLOCKS, .off = offs[n],
		.nbytes = UINT32_MAX,
		.avail = (n + 1 < f->n_chunks ? offs[n + 1] : f->data_len) -
			 offs[n],
	};
	return BFS_OK;
}

static void close_chunks(struct bfs_container *f)
{
	bfs_free(f->priv);
}

const struct bfs_format bfs_container_barechunk = {
	.name = "chunk",
	.endings = { ".blosc", ".blosc2", ".cdata", ".chunk", ".bl", ".bl2" },
	.probe = probe,
	.open = open_chunks,
	.span = span,
	.close = close_chunks,
};
