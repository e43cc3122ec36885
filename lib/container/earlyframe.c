/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * earlyframe.c - frames of the C-Blosc2 betas and of the snapshots between
 * them: headers of 10 to 13 elements.
 *
 * The first byte alone tells which one it is (docs/formats/earlyframe.md).
 * Chunks and index are where they are today; there are no special entries, and
 * the trailer, if any, holds one chunk of user metadata.
 */
#include "container/container.h"
#include "container/examine.h"

#include "base/bytes.h"
#include "container/b2frame.h"
#include "container/b2parts.h"
#include "container/index.h"
#include "container/indexed.h"
#include "container/metatable.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>

#define TAIL_LEN 23		/* length, then a fingerprint */
#define COMMON 0x39		/* bytes up to the chunk size's end */
#define MAX_USERMETA (UINT32_C(1) << 30)

/* What the first byte decides. */
struct generation {
	uint8_t first;
	uint8_t min_header;
	uint8_t metas_at;		/* 0 = none */
	bool metas_optional;
	bool trailer_always;		/* else only in some snapshots */
	const char *detail;
};

static const struct generation generations[] = {
	{ 0x9a, 0x3d, 0, false, false, "snapshot of 2018" },
	{ 0x9b, 0x40, 0, false, false, "beta.1" },
	{ 0x9c, 0x40, 0x40, true, false, "beta.1, metalayers" },
	{ 0x9d, 0x52, 0x52, false, true, "beta.2 to beta.5" },
};

static const struct generation *find_generation(uint8_t first)
{
	size_t i;

	for (i = 0; i < BFS_ARRAY_LEN(generations); i++)
		if (generations[i].first == first)
			return &generations[i];
	return NULL;
}

static bool probe(struct bfs_source *source, const uint8_t *head,
		  size_t head_len, const char *name)
{
	(void)source;
	(void)name;
	return head_len >= 10 && !memcmp(head + 1, "\xa8" "b2frame", 9) &&
	       find_generation(head[0]);
}

static bool markers_hold(const uint8_t *p)
{
	return p[0x0a] == 0xd2 && p[0x0f] == 0xcf && p[0x18] == 0xa4 &&
	       p[0x1d] == 0xd3 && p[0x26] == 0xd3 && p[0x2f] == 0xd2 &&
	       p[0x34] == 0xd2;
}

static enum bfs_err read_fields(struct bfs_container *f, const uint8_t *p,
				const struct generation *g,
				uint64_t *ret_frame_len, struct bfs_diag *why)
{
	uint64_t frame_len = bfs_be64(p + 0x10);
	struct bfs_frame_lens lens;

	f->data_off = bfs_be32(p + 0x0b);
	f->nbytes = bfs_be64(p + 0x1e);
	f->claim = f->nbytes;
	f->data_len = bfs_be64(p + 0x27);
	f->typesize = bfs_be32(p + 0x30);
	f->chunksize = (int32_t)bfs_be32(p + 0x35);
	f->codec = p[0x1b] & 15;
	f->clevel = p[0x1b] >> 4;
	f->env.typesize = f->typesize;
	snprintf(f->format_detail, sizeof(f->format_detail), "%s", g->detail);
	if (!markers_hold(p))
		return bfs_fail(why, BFS_ERR_CORRUPT, 0x0a,
				"the frame header has wrong markers");
	if (f->data_len > INT64_MAX)
		return bfs_fail(why, BFS_ERR_CORRUPT, 0x27,
				"cbytes %" PRId64, (int64_t)f->data_len);
	lens = (struct bfs_frame_lens){ f->data_off, frame_len, g->min_header,
					0x35 };
	BFS_TRY(bfs_b2frame_check(f, &lens, why));
	*ret_frame_len = frame_len;
	return BFS_OK;
}

/* The filters: only headers of 13 elements list them, moved to the front. */
static void read_filters(struct bfs_container *f, const uint8_t *p)
{
	unsigned n = (unsigned)bfs_min(p[0x41], BFS_N_FILTER_SLOTS);

	f->has_defaults = true;
	memcpy(f->filters, p + 0x42, n);
	memcpy(f->filters_meta, p + 0x4a, n);
}

/* A snapshot hid its filters in a metalayer that is no msgpack. */
static void hide_pipeline(struct bfs_container *f)
{
	size_t i;

	for (i = 0; i < f->n_metas; i++) {
		if (strcmp(f->metas[i].name, "_filter_pipeline"))
			continue;
		/* Its bytes are named for all that. */
		f->priv = bfs_zalloc(1, sizeof(struct bfs_meta));
		if (f->priv)
			*(struct bfs_meta *)f->priv = f->metas[i];
		else
			bfs_free(f->metas[i].name);
		memmove(f->metas + i, f->metas + i + 1,
			(f->n_metas - i - 1) * sizeof(*f->metas));
		f->n_metas--;
		return;
	}
}

static enum bfs_err open_metas(struct bfs_container *f,
			       const struct generation *g, struct bfs_diag *why)
{
	BFS_CLEANUP(bfs_freep) uint8_t *buf = NULL;
	struct bfs_section section = { .source = f->source,
				       .len = f->data_off,
				       .buf_len = (size_t)f->data_off };

	if (f->data_off > bfs_source_len(f->source))
		return bfs_fail(why, BFS_ERR_TRUNCATED, 0x0b,
				"the header ends beyond the file");
	if (!g->metas_at || f->data_off <= g->metas_at)
		return BFS_OK;
	buf = bfs_alloc(section.buf_len);
	if (!buf)
		return bfs_fail(why, BFS_ERR_NOMEM, 0, "no memory");
	BFS_TRY(bfs_source_read(f->source, 0, buf, section.buf_len, why));
	section.buf = buf;
	if (g->metas_optional && buf[g->metas_at] != 0x93)
		return BFS_OK;
	BFS_TRY(bfs_metatable_parse(f, &section, g->metas_at, false, why));
	hide_pipeline(f);
	return BFS_OK;
}

static enum bfs_err open_index(struct bfs_container *f, uint64_t *ret_end,
			       struct bfs_diag *why)
{
	uint64_t at = f->data_off + f->data_len;

	*ret_end = f->data_off;
	if (f->nbytes == 0)
		return BFS_OK;
	if (!bfs_inside(at, BFS_CHUNK_MIN_HEADER, bfs_source_len(f->source)))
		return bfs_fail(why, BFS_ERR_TRUNCATED, 0x27,
				"the index would begin at %" PRIu64 " of %"
				PRIu64 " bytes", at, bfs_source_len(f->source));
	BFS_TRY(bfs_index_attach(f, at, bfs_source_len(f->source) - at, why));
	*ret_end = at + bfs_index_cbytes(f->index);
	return BFS_OK;
}

/* Where the trailer of the betas begins is told by its length at the end of the
 * frame: some writers left unused bytes between index and trailer. */
static void find_trailer(struct bfs_container *f, uint64_t frame_len,
			 uint64_t *at)
{
	uint8_t tail[TAIL_LEN];
	uint64_t len;

	if (frame_len < *at || frame_len - *at < 30 ||
	    frame_len > bfs_source_len(f->source) ||
	    bfs_source_read(f->source, frame_len - TAIL_LEN, tail, TAIL_LEN,
			    NULL))
		return;
	len = bfs_be32(tail + 1);
	if (tail[0] == 0xce && tail[5] == 0xd8 && len <= frame_len - *at)
		*at = frame_len - len;
}

/* Reads the trailer at `at`. Snapshots may have none, and their frame length
 * does not count all of it. */
static enum bfs_err open_usermeta(struct bfs_container *f,
				  const struct generation *g, uint64_t at,
				  struct bfs_diag *why)
{
	uint8_t head[7];
	uint32_t len;

	if (!bfs_inside(at, sizeof(head), bfs_source_len(f->source)))
		return g->trailer_always ?
			bfs_fail(why, BFS_ERR_TRUNCATED, at,
				 "the trailer is missing") : BFS_OK;
	BFS_TRY(bfs_source_read(f->source, at, head, sizeof(head), why));
	if (memcmp(head, "\x94\1\xc6", 3) && memcmp(head, "\x0d\0\xc6", 3))
		return g->trailer_always ?
			bfs_fail(why, BFS_ERR_CORRUPT, at,
				 "the trailer has wrong markers") : BFS_OK;
	len = bfs_be32(head + 3);
	/* Trailers of beta.2, which still had the old rule for bitshuffle. */
	if (head[0] == 0x0d)
		f->env.old_bitshuffle = 1;
	if (len == 0)
		return BFS_OK;
	if (len > MAX_USERMETA ||
	    !bfs_inside(at + 7, len, bfs_source_len(f->source)))
		return bfs_fail(why, BFS_ERR_CORRUPT, at + 3,
				"user metadata of %" PRIu32 " bytes", len);
	if (bfs_container_add_meta(&f->metas, &f->n_metas, "usermeta", 8,
				   at + 7, len, true))
		return bfs_fail(why, BFS_ERR_NOMEM, 0, "no memory");
	return BFS_OK;
}

static enum bfs_err open_sections(struct bfs_container *f,
				  const struct generation *g,
				  uint64_t frame_len, struct bfs_diag *diag)
{
	uint64_t end = 0;
	struct bfs_diag why;
	enum bfs_err err;

	if (frame_len > bfs_source_len(f->source)) {
		bfs_fail(&why, BFS_ERR_TRUNCATED, 0x10,
			 "the frame has %" PRIu64 " bytes, only %" PRIu64
			 " are there", frame_len, bfs_source_len(f->source));
		bfs_container_blame(f, &why);
	}
	err = open_metas(f, g, &why);
	BFS_TRY(bfs_container_settle_doubt(f, err, &why, diag));
	err = open_index(f, &end, &why);
	f->nbytes_known = err == BFS_OK;
	BFS_TRY(bfs_container_settle_doubt(f, err, &why, diag));
	if (err == BFS_OK) {
		if (g->trailer_always)
			find_trailer(f, frame_len, &end);
		err = open_usermeta(f, g, end, &why);
		BFS_TRY(bfs_container_settle(f, err, &why, diag));
	}
	return bfs_metatable_array(f, diag);
}

static enum bfs_err open_frame(struct bfs_container *f, const char *name,
			       struct bfs_diag *diag)
{
	const struct generation *g;
	uint8_t head[0x52] = { 0 };
	uint64_t frame_len = 0;
	struct bfs_diag why;
	enum bfs_err err;
	size_t len = (size_t)bfs_min(sizeof(head), bfs_source_len(f->source));

	(void)name;
	BFS_TRY(bfs_source_read(f->source, 0, head, len, diag));
	g = find_generation(head[0]);
	if (!g)
		return bfs_fail(diag, BFS_ERR_CHANGED, 0,
				"the frame is no longer there");
	if (len < bfs_max(COMMON, g->min_header))
		err = bfs_fail(&why, BFS_ERR_TRUNCATED, len,
			       "the file ends inside the frame header");
	else
		err = read_fields(f, head, g, &frame_len, &why);
	if (err != BFS_OK) {
		bfs_container_disbelieve(f, &why);
		return BFS_OK;
	}
	f->env.old_bitshuffle = g->first != 0x9d;
	if (g->first == 0x9d)
		read_filters(f, head);
	return open_sections(f, g, frame_len, diag);
}

/* The header: what stands behind its fields. */
static enum bfs_err examine_header(struct bfs_container *f,
				   const struct bfs_examiner *x,
				   struct bfs_diag *diag)
{
	BFS_CLEANUP(bfs_freep) struct bfs_meta *all = NULL;
	const struct generation *g;
	struct bfs_region none;
	uint8_t first, mark = 0;
	size_t n = 0, i;

	BFS_TRY(bfs_source_read(f->source, 0, &first, 1, diag));
	g = find_generation(first);
	if (!g || f->data_off <= g->min_header)
		return BFS_OK;
	if (g->metas_at)
		BFS_TRY(bfs_source_read(f->source, g->metas_at, &mark, 1,
					diag));
	if (mark != 0x93) {
		bfs_examine_regions(x, &none, 0, g->min_header, f->data_off);
		return BFS_OK;
	}
	all = bfs_alloc((f->n_metas + 1) * sizeof(*all));
	if (!all)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	/* Not what the trailer has; the last one may be empty. */
	for (i = 0; i < f->n_metas; i++)
		if (f->metas[i].off <= f->data_off)
			all[n++] = f->metas[i];
	if (f->priv)
		all[n++] = *(struct bfs_meta *)f->priv;
	return bfs_b2parts_examine_metas(all, n, g->metas_at, f->data_off, x,
					 diag);
}

/* Index and trailer, which snapshots have not, or do not count. */
static enum bfs_err examine(struct bfs_container *f,
			    const struct bfs_examiner *x,
			    struct bfs_diag *diag)
{
	uint64_t len = bfs_source_len(f->source), end, trailer;
	struct bfs_region parts[2];
	uint8_t tail[TAIL_LEN];
	size_t n = 0;

	/* What does not hold has been told; the rest cannot be compared. */
	if (f->status == BFS_DAMAGED || len < COMMON)
		return BFS_OK;
	end = f->data_off + f->data_len;
	if (f->index)
		parts[n++] = (struct bfs_region){
			end, bfs_index_cbytes(f->index), "the index" };
	BFS_TRY(bfs_source_read(f->source, len - TAIL_LEN, tail, TAIL_LEN,
				diag));
	trailer = bfs_be32(tail + 1);
	if (tail[0] == 0xce && tail[5] == 0xd8 && trailer >= TAIL_LEN &&
	    trailer <= len)
		parts[n++] = (struct bfs_region){ len - trailer, trailer,
						  "the trailer" };
	if (end <= len)
		bfs_examine_regions(x, parts, n, end, len);
	return examine_header(f, x, diag);
}

static void close_frame(struct bfs_container *f)
{
	struct bfs_meta *hidden = f->priv;

	if (hidden)
		bfs_free(hidden->name);
	bfs_free(hidden);
}

const struct bfs_format bfs_container_earlyframe = {
	.name = "early b2frame",
	.probe = probe,
	.is_short = bfs_b2frame_is_short,
	.open = open_frame,
	.span = bfs_index_span,
	.examine = examine,
	.close = close_frame,
};
