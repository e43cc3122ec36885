/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * head.c - the 16 or 32 bytes every chunk begins with, checked.
 *
 * Bytes in, struct bfs_chunk_head out; nothing is allocated. What can be seen
 * only with bstarts (a wrong blocksize) is mended in tables.c. See
 * docs/formats/chunk.md.
 */
#include "chunk/head.h"

#include "base/bytes.h"

#include <inttypes.h>

#define FLAG_SHUFFLE 0x01
#define FLAG_MEMCPYED 0x02
#define FLAG_BITSHUFFLE 0x04
#define FLAG_DELTA 0x08
#define FLAG_EXTENDED (FLAG_SHUFFLE | FLAG_BITSHUFFLE)

#define FLAG2_VL 0x01
#define FLAG3_LAZY 0x08
#define FLAG3_INSTRUMENTED 0x80

#define MAX_NBYTES_V2 UINT32_C(2147483631)
#define MAX_NBYTES_V3 UINT32_C(2147483615)
#define MAX_BLOCK_V2 UINT32_C(715827542)
#define MAX_BLOCK_V3 UINT32_C(536866816)

static enum bfs_err check_flags(const struct bfs_chunk_head *h,
				struct bfs_diag *diag)
{
	if (h->version <= 2 && h->header_len == 16 &&
	    (h->flags & (FLAG_DELTA | FLAG_MEMCPYED)) == FLAG_DELTA)
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 2,
				"flag 08 is reserved in chunks of version %u",
				h->version);
	return BFS_OK;
}

static enum bfs_err check_version(const struct bfs_chunk_head *h,
				  struct bfs_diag *diag)
{
	if (h->version == 0)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"chunk version 0 does not exist");
	if (h->version > 6 &&
	    (h->header_len == 16 || (h->flags2 & ~FLAG2_VL) != 0))
		return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
				"chunk version %u is newer than this program",
				h->version);
	return BFS_OK;
}

/* The pipeline, from the header's slots or from the flags. */
static void read_filters(const uint8_t *p, struct bfs_chunk_head *h)
{
	unsigned i;

	memset(h->filters, 0, sizeof(h->filters));
	memset(h->filters_meta, 0, sizeof(h->filters_meta));
	if (h->header_len == 16) {
		if (h->flags & FLAG_SHUFFLE)
			h->filters[5] = 1;
		else if (h->flags & FLAG_BITSHUFFLE)
			h->filters[5] = 2;
		if (h->version > 2 && (h->flags & FLAG_DELTA))
			h->filters[4] = 3;
		return;
	}
	for (i = 0; i < BFS_N_FILTER_SLOTS; i++) {
		h->filters[i] = p[16 + i];
		h->filters_meta[i] = p[24 + i];
	}
	/* Version 3 knew five slots; the sixth is whatever was in memory. */
	if (h->version == 3) {
		h->filters[5] = 0;
		h->filters_meta[5] = 0;
	}
}

static void read_fields(const uint8_t *p, struct bfs_chunk_head *h)
{
	h->version = p[0];
	h->flags = p[2];
	h->header_len =
		(p[2] & FLAG_EXTENDED) == FLAG_EXTENDED ? 32 : 16;
	h->typesize = p[3];
	if (h->version == 1 && h->typesize == 0)
		h->typesize = 256;
	h->nbytes = bfs_le32(p + 4);
	h->blocksize = bfs_le32(p + 8);
	h->cbytes = bfs_le32(p + 12);
	h->codec_format = p[2] >> 5;
}

static enum bfs_err check_sizes(const struct bfs_chunk_head *h, uint64_t avail,
				struct bfs_diag *diag)
{
	bool old = h->version <= 2;
	bool special = h->flags3 >> 4 & 7;

	if (h->typesize == 0)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 3, "typesize is 0");
	if (h->nbytes > (old ? MAX_NBYTES_V2 : MAX_NBYTES_V3))
		return bfs_fail(diag, BFS_ERR_CORRUPT, 4,
				"nbytes %" PRId32 " is out of range",
				(int32_t)h->nbytes);
	/* A special chunk has no blocks; writers note its nbytes there. */
	if (h->blocksize == 0 ||
	    (h->blocksize > (old ? MAX_BLOCK_V2 : MAX_BLOCK_V3) &&
	     !(special && h->blocksize <= INT32_MAX)))
		return bfs_fail(diag, BFS_ERR_CORRUPT, 8,
				"blocksize %" PRId32 " is out of range",
				(int32_t)h->blocksize);
	if (h->cbytes < h->header_len || h->cbytes > INT32_MAX)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 12,
				"cbytes %" PRId32 " is out of range",
				(int32_t)h->cbytes);
	if (avail && h->cbytes > avail)
		return bfs_fail(diag, BFS_ERR_TRUNCATED, 12,
				"cbytes says %" PRIu32 " where only %" PRIu64
				" bytes are left", h->cbytes, avail);
	return BFS_OK;
}

static enum bfs_err parse_special(unsigned type, struct bfs_chunk_head *h,
				  struct bfs_diag *diag)
{
	static const enum bfs_chunk_kind kinds[] = {
		BFS_CHUNK_BLOCKS, BFS_CHUNK_ZEROS, BFS_CHUNK_NAN,
		BFS_CHUNK_VALUE, BFS_CHUNK_UNINIT,
	};

	if (type >= BFS_ARRAY_LEN(kinds))
		return bfs_fail(diag, BFS_ERR_CORRUPT, 31,
				"special kind %u does not exist", type);
	h->kind = kinds[type];
	if (h->kind != BFS_CHUNK_BLOCKS && h->kind != BFS_CHUNK_VALUE &&
	    h->cbytes != h->header_len)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 12,
				"a special chunk of %" PRIu32 " bytes",
				h->cbytes);
	if (h->kind == BFS_CHUNK_NAN &&
	    ((h->typesize != 4 && h->typesize != 8) ||
	     h->nbytes % h->typesize != 0))
		return bfs_fail(diag, BFS_ERR_CORRUPT, 31,
				"NaN chunk of typesize %" PRIu32 " and %" PRIu32
				" bytes", h->typesize, h->nbytes);
	if (h->kind == BFS_CHUNK_VALUE) {
		h->value_len = h->cbytes - h->header_len;
		/* The typesize is 1 where the value is wider than 255. */
		if (h->value_len == 0 || h->value_len > MAX_BLOCK_V3 ||
		    (h->typesize > 1 && h->value_len != h->typesize) ||
		    h->nbytes % h->value_len != 0)
			return bfs_fail(diag, BFS_ERR_CORRUPT, 12,
					"repeated value of %" PRIu32 " bytes "
					"does not fill %" PRIu32,
					h->value_len, h->nbytes);
	}
	return BFS_OK;
}

/* A writer of C-Blosc2 3.x marks tiny dictionary chunks memcpyed although it
 * stored bstarts and streams (docs/errata.md, Q7). The codec is then in
 * the codec byte alone. */
static bool recover_false_memcpy(struct bfs_chunk_head *h)
{
	static const int8_t formats[] = { 0, 1, 1, -1, 3, 4 };

	if (h->version < 5 || h->header_len != 32 || h->nbytes >= 32 ||
	    h->nbytes == 0 || (h->flags & 0xf8) != 0 ||
	    h->codec_id >= BFS_ARRAY_LEN(formats) ||
	    formats[h->codec_id] < 0)
		return false;
	h->codec_format = (unsigned)formats[h->codec_id];
	h->mended = true;
	return true;
}

static enum bfs_err parse_kind(struct bfs_chunk_head *h, struct bfs_diag *diag)
{
	unsigned special = h->flags3 >> 4 & 7;
	bool vl = h->flags2 & FLAG2_VL;
	bool copied = h->flags & FLAG_MEMCPYED;

	if (h->flags3 & FLAG3_LAZY)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 31,
				"a lazy chunk is never stored");
	if (vl && (copied || special))
		return bfs_fail(diag, BFS_ERR_CORRUPT, 30,
				"variable-length blocks in a chunk that is %s",
				copied ? "memcpyed" : "special");
	if (special && copied)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 31,
				"special kind %u in a memcpyed chunk", special);
	h->instrumented = h->flags3 & FLAG3_INSTRUMENTED;
	if (special)
		return parse_special(special, h, diag);
	h->kind = vl ? BFS_CHUNK_VLBLOCKS : BFS_CHUNK_BLOCKS;
	if (!copied)
		return BFS_OK;
	h->kind = BFS_CHUNK_RAW;
	if (h->cbytes == h->nbytes + h->header_len)
		return BFS_OK;
	if (recover_false_memcpy(h)) {
		h->kind = BFS_CHUNK_BLOCKS;
		return BFS_OK;
	}
	return bfs_fail(diag, BFS_ERR_CORRUPT, 12,
			"a memcpyed chunk of %" PRIu32 " bytes has cbytes %"
			PRIu32, h->nbytes, h->cbytes);
}

/* The number of blocks, and whether there is room for bstarts. */
static enum bfs_err count_blocks(struct bfs_chunk_head *h,
				 struct bfs_diag *diag)
{
	if (h->kind == BFS_CHUNK_VLBLOCKS) {
		h->n_blocks = h->blocksize;
		h->blocksize = 0;
	} else {
		if (h->nbytes > 0 && h->blocksize > h->nbytes)
			h->blocksize = h->nbytes;
		h->n_blocks = (uint32_t)bfs_div_up(h->nbytes, h->blocksize);
		if (h->kind != BFS_CHUNK_BLOCKS)
			return BFS_OK;
		/* An empty chunk is its header and nothing else. */
		if (h->nbytes == 0 && h->cbytes != h->header_len)
			return bfs_fail(diag, BFS_ERR_CORRUPT, 4,
					"nbytes 0 of a chunk of %" PRIu32
					" bytes", h->cbytes);
		if (h->nbytes == 0) {
			h->kind = BFS_CHUNK_RAW;
			return BFS_OK;
		}
	}
	if ((uint64_t)h->header_len + 4 * (uint64_t)h->n_blocks > h->cbytes)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 8,
				"bstarts of %" PRIu32 " blocks does not fit "
				"into cbytes %" PRIu32, h->n_blocks, h->cbytes);
	return BFS_OK;
}

enum bfs_err bfs_chunk_parse(const uint8_t *head, size_t head_len,
			     uint64_t avail, struct bfs_chunk_head *ret_head,
			     struct bfs_diag *diag)
{
	struct bfs_chunk_head h = { 0 };

	if (head_len < BFS_CHUNK_MIN_HEADER)
		return bfs_fail(diag, BFS_ERR_TRUNCATED, 0,
				"%zu bytes are no chunk header", head_len);
	read_fields(head, &h);
	if (h.header_len == 32) {
		if (head_len < BFS_CHUNK_HEADER)
			return bfs_fail(diag, BFS_ERR_TRUNCATED, 16,
					"the chunk header ends after %zu of 32 "
					"bytes", head_len);
		h.codec_id = head[22];
		h.codec_meta = head[23];
		h.flags2 = head[30];
		h.flags3 = head[31];
	}
	BFS_TRY(check_version(&h, diag));
	BFS_TRY(check_flags(&h, diag));
	BFS_TRY(check_sizes(&h, avail, diag));
	read_filters(head, &h);
	BFS_TRY(parse_kind(&h, diag));
	BFS_TRY(count_blocks(&h, diag));
	if (h.codec_format == 7 && (h.kind == BFS_CHUNK_BLOCKS ||
				    h.kind == BFS_CHUNK_VLBLOCKS))
		return bfs_fail(diag, BFS_ERR_CORRUPT, 2,
				"codec format 7 does not exist");
	*ret_head = h;
	return BFS_OK;
}
