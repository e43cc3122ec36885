/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * b2parts.c - how the parts of a current frame lie: tables and values of
 * metalayers, index, trailer; and numbers that are there twice.
 */
#include "container/b2parts.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "container/index.h"

#include <inttypes.h>

#define MIN_HEADER 87
#define TABLE_HEAD 7		/* markers and numbers before the names */
#define TABLE_LEN_AT 2		/* where its length stands, 16 bits */
#define TABLE_ENTRY 6		/* of each, beside the name */
#define TABLE_END 3		/* the number of values */
#define VALUE_HEAD 5
#define TAIL_LEN 23

enum bfs_err bfs_b2parts_examine_metas(const struct bfs_meta *metas, size_t n,
				       uint64_t start, uint64_t end,
				       const struct bfs_examiner *x,
				       struct bfs_diag *diag)
{
	BFS_CLEANUP(bfs_freep) struct bfs_region *parts = NULL;
	uint64_t table = TABLE_HEAD + TABLE_END;
	size_t i;

	parts = bfs_alloc((n + 1) * sizeof(*parts));
	if (!parts)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	for (i = 0; i < n; i++) {
		table += TABLE_ENTRY + metas[i].name_len;
		parts[i + 1] = (struct bfs_region){
			metas[i].off - VALUE_HEAD, metas[i].len + VALUE_HEAD,
			metas[i].name,
		};
	}
	parts[0] = (struct bfs_region){ start, table,
					"the table of metalayers" };
	bfs_examine_regions(x, parts, n + 1, start, end);
	return BFS_OK;
}

/* The frame's last bytes: the trailer's length, and what may be a
 * fingerprint, whose kinds nobody has defined but for none. */
static void examine_tail(const uint8_t *tail, uint64_t end,
			 const struct bfs_examiner *x)
{
	size_t i;

	if (tail[6] != 0) {
		bfs_examine_tell(x, true, end - 17, -1, "a fingerprint of "
				 "type %u, which is not verified", tail[6]);
		return;
	}
	for (i = 7; i < TAIL_LEN; i++)
		if (tail[i]) {
			bfs_examine_tell(x, true, end - 16, -1,
					 "a fingerprint where the trailer "
					 "says that there is none");
			return;
		}
}

/* What the header says once more. */
static void examine_header(struct bfs_container *f, const uint8_t *head,
			   const struct bfs_examiner *x)
{
	bool has = f->n_vlmetas > 0;

	if ((head[0x44] == 0xc3) != has)
		bfs_examine_tell(x, true, 0x44, -1,
				 has ? "the header tells of no variable "
				       "metalayers, the trailer has %zu" :
				       "the header tells of variable "
				       "metalayers, the trailer has %zu",
				 f->n_vlmetas);
}

/* The length of a table, which stands in it once more. C-Blosc2 counts it from
 * the first byte in the header and from the second in the trailer; others count
 * alike in both (may_miss: one byte may be missing). */
static enum bfs_err examine_table(struct bfs_container *f,
				  const struct bfs_meta *metas, size_t n,
				  uint64_t start, unsigned may_miss,
				  const struct bfs_examiner *x,
				  struct bfs_diag *diag)
{
	uint64_t len = TABLE_HEAD;
	uint8_t word[2];
	size_t i;

	for (i = 0; i < n; i++)
		len += TABLE_ENTRY + metas[i].name_len;
	BFS_TRY(bfs_source_read(f->source, start + TABLE_LEN_AT, word,
				sizeof(word), diag));
	/* It has 16 bits, whatever the table has. */
	if ((uint16_t)(len - bfs_be16(word)) > may_miss)
		bfs_examine_tell(x, true, start + TABLE_LEN_AT, -1,
				 "the table of metalayers has %" PRIu64 " bytes"
				 " where %u are stored", len, bfs_be16(word));
	return BFS_OK;
}

static enum bfs_err examine_parts(struct bfs_container *f, uint64_t frame_len,
				  uint64_t trailer,
				  const struct bfs_examiner *x,
				  struct bfs_diag *diag)
{
	uint64_t at = f->data_off, len = bfs_source_len(f->source);
	struct bfs_region parts[2];
	size_t n = 0;

	if (!f->ops->source)
		at += f->data_len;
	if (f->index)
		parts[n++] = (struct bfs_region){ at,
			bfs_index_cbytes(f->index), "the index" };
	parts[n++] = (struct bfs_region){ trailer, frame_len - trailer,
					  "the trailer" };
	if (at <= trailer)
		bfs_examine_regions(x, parts, n, at, len);
	BFS_TRY(examine_table(f, f->metas, f->n_metas, MIN_HEADER, 0, x,
			      diag));
	BFS_TRY(examine_table(f, f->vlmetas, f->n_vlmetas, trailer + 2, 1, x,
			      diag));
	BFS_TRY(bfs_b2parts_examine_metas(f->metas, f->n_metas, MIN_HEADER,
					  f->data_off, x, diag));
	return bfs_b2parts_examine_metas(f->vlmetas, f->n_vlmetas, trailer + 2,
					 frame_len - TAIL_LEN, x, diag);
}

enum bfs_err bfs_b2parts_examine(struct bfs_container *f,
				 const struct bfs_examiner *x,
				 struct bfs_diag *diag)
{
	uint8_t head[MIN_HEADER], tail[TAIL_LEN];
	uint64_t frame_len, len;

	/* What does not hold has been told, or is newer than this code; the
	 * rest cannot be compared. */
	if (f->status != BFS_GOOD ||
	    bfs_source_len(f->source) < MIN_HEADER + TAIL_LEN)
		return BFS_OK;
	BFS_TRY(bfs_source_read(f->source, 0, head, sizeof(head), diag));
	frame_len = bfs_be64(head + 0x10);
	if (frame_len < MIN_HEADER + TAIL_LEN ||
	    frame_len > bfs_source_len(f->source))
		return BFS_OK;
	BFS_TRY(bfs_source_read(f->source, frame_len - TAIL_LEN, tail,
				sizeof(tail), diag));
	len = bfs_be32(tail + 1);
	if (len > frame_len || len < TAIL_LEN)
		return BFS_OK;
	examine_header(f, head, x);
	examine_tail(tail, frame_len, x);
	return examine_parts(f, frame_len, frame_len - len, x, diag);
}
