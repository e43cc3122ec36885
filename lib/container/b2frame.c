/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * b2frame.c - the contiguous frame of C-Blosc2 (14-element header): header,
 * chunks, index chunk, trailer.
 *
 * Sections are checked one by one; what breaks one of them is blamed on the
 * container and the others are served. See docs/formats/b2frame.md.
 */
#include "container/b2frame.h"

#include "base/bytes.h"
#include "container/b2parts.h"
#include "container/embed.h"
#include "container/indexed.h"
#include "container/metajson.h"
#include "container/metatable.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>

#define MIN_HEADER 87
#define META_AT 87
#define MAX_HEADER (UINT32_C(16) << 20)
#define TRAILER_BUF (UINT32_C(512) << 10)
#define MIN_TRAILER 25
#define TAIL 23			/* what ends it: its length, a fingerprint */
#define MAX_CHUNKSIZE INT32_C(2147483615)

/* Numbers of the fixed header that only opening needs. */
struct header {
	bool sparse;			/* chunks are files of a directory */
	uint64_t header_len, frame_len;
	uint64_t trailer_off;		/* in the source; 0 = not found */
};

static bool probe(struct bfs_source *source, const uint8_t *head,
		  size_t head_len, const char *name)
{
	(void)source;
	(void)name;
	/* 0x9a to 0x9d are early frames; all others but 0x9e are newer than
	 * this code, and refused with that reason when they are opened. */
	return head_len >= 10 && !memcmp(head + 1, "\xa8" "b2frame", 9) &&
	       (head[0] < 0x9a || head[0] > 0x9d);
}

bool bfs_b2frame_is_short(const uint8_t *head, size_t head_len,
			  uint64_t file_len)
{
	return head_len < 0x18 ||
	       (head[0x0f] == 0xcf && bfs_be64(head + 0x10) > file_len);
}

static bool markers_hold(const uint8_t *p)
{
	static const struct { uint8_t at, want; } marks[] = {
		{ 0x0a, 0xd2 }, { 0x0f, 0xcf }, { 0x18, 0xa4 }, { 0x1d, 0xd3 },
		{ 0x26, 0xd3 }, { 0x2f, 0xd2 }, { 0x34, 0xd2 }, { 0x39, 0xd2 },
		{ 0x3e, 0xd1 }, { 0x41, 0xd1 }, { 0x45, 0xd8 },
	};
	size_t i;

	for (i = 0; i < BFS_ARRAY_LEN(marks); i++)
		if (p[marks[i].at] != marks[i].want)
			return false;
	return true;
}

static enum bfs_err check_generation(const uint8_t *p, bool sparse,
				     struct bfs_diag *diag)
{
	if (memcmp(p + 1, "\xa8" "b2frame", 9))
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"the index file is no frame");
	if (p[0] != 0x9e)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"a newer frame format (first byte %02x)", p[0]);
	if ((p[0x19] & 15) > 3)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0x19,
				"a newer frame format (version %u)",
				p[0x19] & 15);
	if (!markers_hold(p))
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0x0a,
				"the frame header has wrong markers");
	if (p[0x1a] > 1)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0x1a,
				"frame type %u is unknown", p[0x1a]);
	if ((p[0x1a] == 1) != sparse)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0x1a,
				sparse ? "a contiguous frame as the index of a "
					 "directory" :
					 "the index of a sparse frame without "
					 "its directory");
	if (p[0x46] > BFS_N_FILTER_SLOTS)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0x46,
				"%u filter slots", p[0x46]);
	return BFS_OK;
}

static void read_fields(struct bfs_container *f, const uint8_t *p,
			struct header *h)
{
	h->header_len = bfs_be32(p + 0x0b);
	h->frame_len = bfs_be64(p + 0x10);
	f->nbytes = bfs_be64(p + 0x1e);
	f->claim = f->nbytes;
	f->data_len = bfs_be64(p + 0x27);
	f->typesize = bfs_be32(p + 0x30);
	f->blocksize = bfs_be32(p + 0x35);
	f->chunksize = (int32_t)bfs_be32(p + 0x3a);
	f->vlblocks = p[0x19] & 0x80;
	f->codec = p[0x1b] & 15;
	f->clevel = p[0x1b] >> 4;
	if (f->codec >= 6)
		f->codec = p[0x4d];
	f->codec_meta = p[0x4e];
	memcpy(f->filters, p + 0x47, BFS_N_FILTER_SLOTS);
	memcpy(f->filters_meta, p + 0x4f, BFS_N_FILTER_SLOTS);
	f->has_defaults = true;
	f->data_off = h->header_len;
	f->env.typesize = f->typesize;
	snprintf(f->format_detail, sizeof(f->format_detail),
		 "version %u, %s", p[0x19] & 15,
		 h->sparse ? "sparse" : "contiguous");
}

enum bfs_err bfs_b2frame_check(const struct bfs_container *f,
			       const struct bfs_frame_lens *lens,
			       struct bfs_diag *diag)
{
	if (lens->header_len < lens->least ||
	    lens->header_len > lens->frame_len ||
	    lens->header_len > MAX_HEADER)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0x0b,
				"header length %" PRIu64 " of a frame of %"
				PRIu64, lens->header_len, lens->frame_len);
	if (lens->frame_len > INT64_MAX)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0x10,
				"frame length %" PRIu64, lens->frame_len);
	if (f->nbytes > INT64_MAX)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0x1e,
				"nbytes %" PRId64, (int64_t)f->nbytes);
	if (f->typesize == 0 || f->typesize > INT32_MAX)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0x30,
				"typesize %" PRId32, (int32_t)f->typesize);
	if (f->chunksize < -1 || f->chunksize > MAX_CHUNKSIZE ||
	    (f->chunksize == -1 && f->nbytes > 0))
		return bfs_fail(diag, BFS_ERR_CORRUPT, lens->chunksize_at,
				"chunk size %" PRId64 " with nbytes %" PRIu64,
				f->chunksize, f->nbytes);
	return BFS_OK;
}

static enum bfs_err check_fields(const struct bfs_container *f,
				 const struct header *h, struct bfs_diag *diag)
{
	const struct bfs_frame_lens lens = { h->header_len, h->frame_len,
					     MIN_HEADER, 0x3a };

	return bfs_b2frame_check(f, &lens, diag);
}

/* The frame may be cut off; what is there is served. */
static void check_length(struct bfs_container *f, const struct header *h)
{
	struct bfs_diag why;

	f->cbytes = bfs_min(h->frame_len, bfs_source_len(f->source));
	if (h->frame_len <= bfs_source_len(f->source))
		return;
	bfs_fail(&why, BFS_ERR_TRUNCATED, 0x10,
		 "the frame has %" PRIu64 " bytes, only %" PRIu64
		 " are there", h->frame_len, bfs_source_len(f->source));
	bfs_container_blame(f, &why);
}

static enum bfs_err open_metas(struct bfs_container *f, const struct header *h,
			       struct bfs_diag *diag)
{
	BFS_CLEANUP(bfs_freep) uint8_t *buf = NULL;
	struct bfs_section section = {
		.source = f->source, .len = h->header_len,
		.buf_len = (size_t)h->header_len,
	};

	if (h->header_len > f->cbytes)
		return bfs_fail(diag, BFS_ERR_TRUNCATED, 0x0b,
				"the header ends beyond the file");
	buf = bfs_alloc(section.buf_len);
	if (!buf)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	BFS_TRY(bfs_source_read(f->source, 0, buf, section.buf_len, diag));
	section.buf = buf;
	return bfs_metatable_parse(f, &section, META_AT, false, diag);
}

static enum bfs_err find_trailer(struct bfs_container *f, struct header *h,
				 uint64_t *ret_len, struct bfs_diag *diag)
{
	uint64_t end = h->frame_len, len;
	uint8_t tail[TAIL];

	if (end > f->cbytes || end < MIN_HEADER + MIN_TRAILER)
		return bfs_fail(diag, BFS_ERR_TRUNCATED, end,
				"the trailer is missing");
	BFS_TRY(bfs_source_read(f->source, end - TAIL, tail, TAIL, diag));
	len = bfs_be32(tail + 1);
	if (tail[0] != 0xce || tail[5] != 0xd8)
		return bfs_fail(diag, BFS_ERR_CORRUPT, end - TAIL,
				"the end of the trailer has wrong markers");
	if (len < MIN_TRAILER || len > end - h->header_len)
		return bfs_fail(diag, BFS_ERR_CORRUPT, end - 22,
				"trailer length %" PRIu64, len);
	h->trailer_off = end - len;
	*ret_len = len;
	return BFS_OK;
}

static enum bfs_err open_trailer(struct bfs_container *f, struct header *h,
				 struct bfs_diag *diag)
{
	BFS_CLEANUP(bfs_freep) uint8_t *buf = NULL;
	struct bfs_section section = { .source = f->source };

	BFS_TRY(find_trailer(f, h, &section.len, diag));
	section.off = h->trailer_off;
	/* No value reaches into what ends the trailer. */
	section.len -= TAIL;
	section.buf_len = (size_t)bfs_min(section.len, TRAILER_BUF);
	buf = bfs_alloc(section.buf_len);
	if (!buf)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	BFS_TRY(bfs_source_read(f->source, section.off, buf, section.buf_len,
				diag));
	section.buf = buf;
	if (section.buf_len < 2 || buf[0] != 0x94 || buf[1] != 1) {
		h->trailer_off = 0;
		return bfs_fail(diag, BFS_ERR_CORRUPT, section.off,
				"the trailer has wrong markers");
	}
	return bfs_metatable_parse(f, &section, 2, true, diag);
}

/* A frame with nbytes 0 has no index. It may still have cbytes, from chunks
 * that were deleted: those bytes must then reach the trailer. */
static enum bfs_err check_empty(const struct bfs_container *f,
				const struct header *h, struct bfs_diag *diag)
{
	uint64_t end = h->header_len, at;

	if (!h->trailer_off)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0x1e,
				"nbytes is 0, and no trailer tells whether it "
				"should be");
	if (!h->sparse && bfs_add(end, f->data_len, &at) &&
	    at <= h->trailer_off)
		end = at;
	if (end != h->trailer_off)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0x1e,
				"nbytes is 0 beside %" PRIu64 " bytes before "
				"the trailer", h->trailer_off - end);
	return BFS_OK;
}

static enum bfs_err open_index(struct bfs_container *f, const struct header *h,
			       struct bfs_diag *diag)
{
	uint64_t end = h->trailer_off ? h->trailer_off : f->cbytes, at;

	if (f->nbytes == 0)
		return check_empty(f, h, diag);
	if (f->data_len > INT64_MAX ||
	    !bfs_add(h->header_len, h->sparse ? 0 : f->data_len, &at) ||
	    !bfs_inside(at, BFS_CHUNK_MIN_HEADER, end))
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0x27,
				"cbytes %" PRIu64 " leaves no room for the "
				"index before %" PRIu64, f->data_len, end);
	return bfs_index_attach(f, at, end - at, diag);
}

static enum bfs_err open_sections(struct bfs_container *f, struct header *h,
				  struct bfs_diag *diag)
{
	struct bfs_diag why;
	enum bfs_err err;

	check_length(f, h);
	/* The metalayer of an array may be among those that cannot be read. */
	err = open_metas(f, h, &why);
	BFS_TRY(bfs_container_settle_doubt(f, err, &why, diag));
	err = open_trailer(f, h, &why);
	BFS_TRY(bfs_container_settle(f, err, &why, diag));
	err = open_index(f, h, &why);
	f->nbytes_known = err == BFS_OK;
	BFS_TRY(bfs_container_settle_doubt(f, err, &why, diag));
	BFS_TRY(bfs_metatable_array(f, diag));
	if (f->array.present)
		f->format = "b2nd";
	return BFS_OK;
}

enum bfs_err bfs_b2frame_open(struct bfs_container *f, bool sparse,
			      struct bfs_diag *diag)
{
	struct header h = { .sparse = sparse };
	uint8_t head[MIN_HEADER];
	struct bfs_diag why;
	enum bfs_err err;

	if (bfs_source_len(f->source) < MIN_HEADER) {
		bfs_fail(&why, BFS_ERR_TRUNCATED, bfs_source_len(f->source),
			 "the file ends inside the frame header");
		bfs_container_blame(f, &why);
		return BFS_OK;
	}
	BFS_TRY(bfs_source_read(f->source, 0, head, sizeof(head), diag));
	err = check_generation(head, sparse, &why);
	if (err == BFS_OK) {
		read_fields(f, head, &h);
		err = check_fields(f, &h, &why);
	}
	if (err != BFS_OK) {
		bfs_container_disbelieve(f, &why);
		return BFS_OK;
	}
	return open_sections(f, &h, diag);
}

static enum bfs_err open_contiguous(struct bfs_container *f, const char *name,
				    struct bfs_diag *diag)
{
	(void)name;
	BFS_TRY(bfs_b2frame_open(f, false, diag));
	BFS_TRY(bfs_embed_open(f, diag));
	return bfs_meta_tensor(f, diag);
}

const struct bfs_format bfs_container_b2frame = {
	.name = "b2frame",
	.endings = { ".b2frame", ".b2nd", ".b2e", ".b2b", ".b2f" },
	.probe = probe,
	.is_short = bfs_b2frame_is_short,
	.open = open_contiguous,
	.span = bfs_index_span,
	.examine = bfs_b2parts_examine,
};
