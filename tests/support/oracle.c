/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * oracle.c - the slow decoder: one byte at a time, one bit at a time, no
 * state kept between calls. Bytes of a file in, decoded bytes out.
 *
 * Nothing of lib/ is included here, on purpose: a fault that both decoders
 * share would be one that no comparison finds.
 */
#include "oracle_int.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define MAX_NBYTES_1 INT32_C(2147483631)
#define MAX_NBYTES_2 INT32_C(2147483615)
#define MAX_BLOCK_1 INT32_C(715827542)
#define MAX_BLOCK_2 INT32_C(536866816)
#define MAX_DICT 32768
#define N_SLOTS 6

enum { BLOSCLZ = 0, LZ4 = 1, LZ4HC = 2, SNAPPY = 3, ZLIB = 4, ZSTD = 5 };
enum { NOT_SPECIAL, ZEROS, NANS, VALUE, UNINIT };

/* One chunk while it is being decoded. */
struct chunk {
	const uint8_t *p;
	uint32_t cbytes;
	unsigned version, flags, flags2, flags3;
	uint32_t header_len, typesize, nbytes, blocksize, n_blocks;
	bool vl, raw, instrumented;
	unsigned special;
	unsigned codec;
	uint8_t filters[N_SLOTS], metas[N_SLOTS];
	const uint8_t *dict;
	uint32_t dict_len;
	uint32_t tables_end;
	uint32_t frame_typesize;
	bool alone;		/* in no frame */
	bool mistaken;		/* marked stored, and is not */
	uint32_t *ends;		/* n_blocks: where each block's bytes end */
	char *err;
};

void oracle_release(struct oracle_bytes *bytes)
{
	free(bytes->data);
	free(bytes->starts);
	memset(bytes, 0, sizeof(*bytes));
}

/* ---- codecs ---- */

/* Literal runs and matches until the input is used up. */
static bool undo_blosclz(const uint8_t *in, size_t in_len, uint8_t *out,
			 size_t out_len)
{
	size_t i = 0, o = 0;

	while (i < in_len) {
		unsigned control = in[i];
		uint64_t len, distance;

		if (i == 0)
			control &= 0x1f;
		i++;
		if (control < 0x20) {
			len = control + 1;
			if (len > in_len - i || len > out_len - o)
				return false;
			while (len-- > 0)
				out[o++] = in[i++];
			continue;
		}
		len = (control >> 5) + 2;
		if (control >> 5 == 7) {
			unsigned more;

			do {
				if (i >= in_len)
					return false;
				more = in[i++];
				len += more;
			} while (more == 255 && len <= out_len);
		}
		if (i >= in_len)
			return false;
		distance = (control & 0x1f) * 256 + in[i] + 1;
		if ((control & 0x1f) == 0x1f && in[i] == 255) {
			if (in_len - i < 3)
				return false;
			distance = 8192 + in[i + 1] * 256u + in[i + 2];
			i += 2;
		}
		i++;
		if (distance > o || len > out_len - o)
			return false;
		for (; len > 0; len--, o++)
			out[o] = out[o - distance];
	}
	return o == out_len && in_len > 0;
}

static bool undo_zstd(const struct chunk *c, const uint8_t *in, size_t in_len,
		      uint8_t *out, size_t out_len)
{
	ZSTD_DCtx *ctx = ZSTD_createDCtx();
	size_t got;

	if (!ctx)
		abort();
	got = ZSTD_decompress_usingDict(ctx, out, out_len, in, in_len,
					c->dict, c->dict_len);
	ZSTD_freeDCtx(ctx);
	return !ZSTD_isError(got) && got == out_len;
}

static bool codec_known(unsigned codec)
{
	return codec == BLOSCLZ || codec == LZ4 || codec == ZLIB ||
	       codec == ZSTD;
}

static bool undo_codec(const struct chunk *c, const uint8_t *in, size_t in_len,
		       uint8_t *out, size_t out_len)
{
	uLongf got = out_len;

	switch (c->codec) {
	case BLOSCLZ:
		return undo_blosclz(in, in_len, out, out_len);
	case LZ4:
		return LZ4_decompress_safe_usingDict(
			       (const char *)in, (char *)out, (int)in_len,
			       (int)out_len, (const char *)c->dict,
			       (int)c->dict_len) == (int)out_len;
	case ZLIB:
		return uncompress(out, &got, in, in_len) == Z_OK &&
		       got == out_len;
	case ZSTD:
		return undo_zstd(c, in, in_len, out, out_len);
	default:
		return false;
	}
}

/* ---- filters: src to dst, len bytes, no overlap ---- */

static void undo_shuffle(const uint8_t *src, uint8_t *dst, size_t len,
			 size_t width)
{
	size_t n = len / width;

	memcpy(dst, src, len);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < width; j++)
			dst[i * width + j] = src[j * n + i];
}

static void undo_bitshuffle(const uint8_t *src, uint8_t *dst, size_t len,
			    size_t width, unsigned version)
{
	size_t n = len / width;

	memcpy(dst, src, len);
	if (version <= 3 && n % 8 != 0)
		return;
	n -= n % 8;
	memset(dst, 0, n * width);
	for (size_t e = 0; e < n; e++) {
		for (size_t bit = 0; bit < 8 * width; bit++) {
			unsigned v = src[bit * (n / 8) + e / 8] >> e % 8 & 1;

			dst[e * width + bit / 8] |= (uint8_t)(v << bit % 8);
		}
	}
}

/* ref NULL: this block is its own reference. */
static void undo_delta(const uint8_t *src, uint8_t *dst, size_t len,
		       size_t typesize, const uint8_t *ref)
{
	size_t g = 1, whole;

	if (typesize == 2 || typesize == 4)
		g = typesize;
	else if (typesize % 8 == 0)
		g = 8;
	whole = len - len % g;
	for (size_t i = 0; i < len; i++) {
		dst[i] = src[i];
		if (i >= whole)
			continue;
		if (ref)
			dst[i] ^= ref[i];
		else if (i >= g)
			dst[i] ^= dst[i - g];
	}
}

static void undo_bytedelta(const uint8_t *src, uint8_t *dst, size_t len,
			   size_t width, bool buggy)
{
	size_t n = len / width;

	memcpy(dst, src, len);
	for (size_t j = 0; j < width; j++) {
		uint8_t sum = 0;

		for (size_t i = 0; i < n; i++) {
			if (buggy && i == n / 16 * 16)
				sum = 0;
			sum = (uint8_t)(sum + src[j * n + i]);
			dst[j * n + i] = sum;
		}
	}
}

static bool filter_known(unsigned id)
{
	return id <= 4 || (id >= 34 && id <= 36);
}

/* Slot 5 first, slot 0 last. block is filtered bytes and becomes plain. */
static void undo_filters(const struct chunk *c, uint8_t *block, size_t len,
			 const uint8_t *ref)
{
	uint8_t *from = must_alloc(len);

	for (int slot = N_SLOTS - 1; slot >= 0 && !c->instrumented; slot--) {
		size_t meta = c->metas[slot];

		memcpy(from, block, len);
		switch (c->filters[slot]) {
		case 1:
			undo_shuffle(from, block, len,
				     meta ? meta : c->typesize);
			break;
		case 2:
			undo_bitshuffle(from, block, len, c->typesize,
					c->version);
			break;
		case 3:
			undo_delta(from, block, len, c->typesize, ref);
			break;
		case 34:
		case 35:
			undo_bytedelta(from, block, len,
				       meta ? meta : c->frame_typesize,
				       c->filters[slot] == 34);
			break;
		default:
			break;
		}
	}
	free(from);
}

/* ---- the header of a chunk ---- */

static void read_filters(struct chunk *c)
{
	if (c->header_len == 32) {
		memcpy(c->filters, c->p + 16, N_SLOTS);
		memcpy(c->metas, c->p + 24, N_SLOTS);
	} else {
		if (c->flags & 1)
			c->filters[5] = 1;
		else if (c->flags & 4)
			c->filters[5] = 2;
		if (c->flags & 8)
			c->filters[4] = 3;
	}
	if (c->version == 3 && c->header_len == 32) {
		c->filters[5] = 0;
		c->metas[5] = 0;
	}
}

static unsigned codec_of_format(const struct chunk *c)
{
	static const unsigned code[] = { BLOSCLZ, LZ4, SNAPPY, ZLIB, ZSTD };
	unsigned format = c->flags >> 5;

	if (format < 5)
		return code[format];
	/* Plug-ins are numbered from 32 on; none is known here. */
	return 255;
}

/* Only C-Blosc2 with a dictionary asked for and fewer than 32 bytes: marked
 * as stored, but the bytes are an ordinary chunk. */
static bool is_stored_by_mistake(const struct chunk *c)
{
	return c->header_len == 32 && c->version >= 5 && !c->vl &&
	       c->special == NOT_SPECIAL && c->nbytes > 0 && c->nbytes < 32 &&
	       (c->flags & 0xf0) == 0 && c->cbytes != c->nbytes + 32 &&
	       (codec_known(c->p[22]) || c->p[22] == LZ4HC);
}

static enum oracle_verdict check_version(const struct chunk *c)
{
	if (c->version == 0)
		return BAD(c->err, "version 0");
	if (c->version > 6 && (c->header_len != 32 || (c->flags2 & 0xfe)))
		return fail(c->err, ORACLE_UNSUPPORTED, "version %u",
			    c->version);
	return ORACLE_GOOD;
}

static enum oracle_verdict check_sizes(struct chunk *c, size_t len)
{
	int32_t nbytes = get_i32(c->p + 4);
	int32_t blocksize = get_i32(c->p + 8);
	int32_t cbytes = get_i32(c->p + 12);
	bool old = c->version <= 2;
	/* Special chunks note their nbytes there, whatever that is. */
	bool special = c->header_len == 32 && (c->p[31] >> 4 & 7);

	if (cbytes < (int32_t)c->header_len || (size_t)cbytes > len)
		return BAD(c->err, "cbytes %d of %zu", cbytes, len);
	if (nbytes < 0 || nbytes > (old ? MAX_NBYTES_1 : MAX_NBYTES_2))
		return BAD(c->err, "nbytes %d", nbytes);
	if (blocksize <= 0 ||
	    (!special && blocksize > (old ? MAX_BLOCK_1 : MAX_BLOCK_2)))
		return BAD(c->err, "blocksize %d", blocksize);
	if (c->typesize == 0)
		return BAD(c->err, "typesize 0");
	c->nbytes = (uint32_t)nbytes;
	c->blocksize = (uint32_t)blocksize;
	c->cbytes = (uint32_t)cbytes;
	if (!c->vl && nbytes > 0 && blocksize > nbytes)
		c->blocksize = c->nbytes;
	return ORACLE_GOOD;
}

static enum oracle_verdict check_kind(struct chunk *c)
{
	if (c->special > UNINIT)
		return BAD(c->err, "special type %u", c->special);
	if (c->flags3 & 8)
		return BAD(c->err, "a lazy chunk in a file");
	if (c->flags >> 5 == 7 && !c->raw && !c->special && c->nbytes > 0)
		return BAD(c->err, "codec format 7");
	if (c->version <= 2 && c->header_len == 16 && (c->flags & 8) && !c->raw)
		return fail(c->err, ORACLE_UNSUPPORTED, "reserved flag");
	if (c->vl && (c->raw || c->special))
		return BAD(c->err, "VL blocks in a stored or special chunk");
	if (c->raw && c->special)
		return BAD(c->err, "stored and special");
	if (c->raw && is_stored_by_mistake(c)) {
		c->raw = false;
		c->mistaken = true;
		c->codec = c->p[22] == LZ4HC ? LZ4 : c->p[22];
	}
	if (c->raw && c->cbytes - c->header_len != c->nbytes)
		return BAD(c->err, "stored chunk of %u bytes for %u",
			   c->cbytes, c->nbytes);
	return ORACLE_GOOD;
}

static enum oracle_verdict read_header(struct chunk *c, size_t len)
{
	if (len < 16)
		return BAD(c->err, "%zu bytes are no header", len);
	c->version = c->p[0];
	c->flags = c->p[2];
	c->typesize = c->p[3];
	if (c->version == 1 && c->typesize == 0)
		c->typesize = 256;
	c->header_len = (c->flags & 5) == 5 ? 32 : 16;
	if (len < c->header_len)
		return BAD(c->err, "%zu bytes are no long header", len);
	if (c->header_len == 32) {
		c->flags2 = c->p[30];
		c->flags3 = c->p[31];
	}
	c->vl = c->flags2 & 1;
	c->raw = c->flags & 2;
	c->special = c->flags3 >> 4 & 7;
	c->instrumented = c->flags3 & 0x80;
	c->codec = codec_of_format(c);
	read_filters(c);
	TRY(check_version(c));
	TRY(check_sizes(c, len));
	return check_kind(c);
}

/* ---- tables: block starts and dictionary ---- */

static uint32_t start_of(const struct chunk *c, uint32_t k)
{
	return (uint32_t)get_le(c->p + c->header_len + 4 * (size_t)k, 4);
}

/* Where the tables end with n blocks, or 0 if they do not fit. */
static uint32_t find_tables_end(const struct chunk *c, uint64_t n)
{
	uint64_t end = c->header_len + 4 * n;
	int32_t dict_len;

	if (end > c->cbytes)
		return 0;
	if (!(c->flags3 & 1))
		return (uint32_t)end;
	if (end + 4 > c->cbytes)
		return 0;
	dict_len = get_i32(c->p + end);
	if (dict_len < 1 || dict_len > MAX_DICT ||
	    end + 4 + (uint64_t)dict_len > c->cbytes)
		return 0;
	return (uint32_t)(end + 4 + (uint64_t)dict_len);
}

static bool tables_meet_data(const struct chunk *c, uint64_t n)
{
	uint32_t end = find_tables_end(c, n);
	uint32_t least = UINT32_MAX;

	for (uint32_t k = 0; end && k < n; k++)
		if (start_of(c, k) < least)
			least = start_of(c, k);
	return end && least == end;
}

/* Some C-Blosc2 3.x writers record the block size they were asked for but cut
 * by a multiple of the typesize. The tables show which one is true. */
static void mend_blocksize(struct chunk *c)
{
	uint32_t t = c->typesize, true_size;

	if (t == 1 && c->frame_typesize > 255)
		t = c->frame_typesize;
	if (c->version < 5 || c->vl || c->blocksize % t == 0)
		return;
	if (c->nbytes < t)
		true_size = 1;
	else if (c->blocksize > t)
		true_size = c->blocksize - c->blocksize % t;
	else
		return;
	if (tables_meet_data(c, (c->nbytes - 1) / true_size + 1))
		c->blocksize = true_size;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Checks every start; a block ends where the next one in the file begins. */
static enum oracle_verdict read_starts(struct chunk *c)
{
	uint32_t *sorted = must_alloc(4 * (uint64_t)c->n_blocks);
	uint32_t tail = c->vl ? 5 : 4;
	uint32_t k;

	for (k = 0; k < c->n_blocks; k++) {
		sorted[k] = start_of(c, k);
		if (sorted[k] < c->tables_end || c->cbytes < tail ||
		    sorted[k] > c->cbytes - tail)
			break;
		if (c->vl && k > 0 && sorted[k] < sorted[k - 1] + 5)
			break;
	}
	if (k < c->n_blocks) {
		free(sorted);
		return BAD(c->err, "block %u starts at %u", k, start_of(c, k));
	}
	qsort(sorted, c->n_blocks, sizeof(*sorted), compare_u32);
	/* Nobody but the chunk itself tells how many blocks it has. */
	if (c->alone && !c->vl && sorted[0] != c->tables_end) {
		free(sorted);
		return BAD(c->err, "no block behind the tables");
	}
	c->ends = must_alloc(4 * (uint64_t)c->n_blocks);
	for (k = 0; k < c->n_blocks; k++) {
		uint32_t lo = 0, hi = c->n_blocks;

		while (lo < hi) {
			uint32_t mid = lo + (hi - lo) / 2;

			if (sorted[mid] <= start_of(c, k))
				lo = mid + 1;
			else
				hi = mid;
		}
		c->ends[k] = lo < c->n_blocks ? sorted[lo] : c->cbytes;
	}
	free(sorted);
	return ORACLE_GOOD;
}

static enum oracle_verdict read_tables(struct chunk *c)
{
	uint32_t end;

	/* Of that mistake, the tables are as the writer leaves them. */
	end = c->mistaken ? find_tables_end(c, (c->nbytes - 1) /
						 c->blocksize + 1) : 0;
	if (c->mistaken && (!end || start_of(c, 0) != end))
		return BAD(c->err, "stored chunk of %u bytes for %u",
			   c->cbytes, c->nbytes);
	mend_blocksize(c);
	c->n_blocks = c->vl ? c->blocksize : (c->nbytes - 1) / c->blocksize + 1;
	c->tables_end = find_tables_end(c, c->n_blocks);
	if (!c->tables_end)
		return BAD(c->err, "tables of %u blocks do not fit",
			   c->n_blocks);
	if (c->flags3 & 1) {
		end = c->header_len + 4 * c->n_blocks;
		c->dict = c->p + end + 4;
		c->dict_len = c->tables_end - end - 4;
	}
	for (int i = 0; i < N_SLOTS && !c->instrumented; i++) {
		if (!filter_known(c->filters[i]))
			return fail(c->err, ORACLE_UNSUPPORTED, "filter %u",
				    c->filters[i]);
		if (c->filters[i] >= 34 && c->filters[i] <= 35 &&
		    !c->metas[i] && !c->frame_typesize)
			return BAD(c->err, "bytedelta without a width");
	}
	return read_starts(c);
}

/* ---- blocks ---- */

static enum oracle_verdict read_stream(const struct chunk *c, uint32_t *pos,
				       uint32_t end, uint8_t *out, size_t len)
{
	int32_t csize;

	if (end - *pos < 4)
		return BAD(c->err, "no size of the stream at %u", *pos);
	csize = get_i32(c->p + *pos);
	*pos += 4;
	if (csize <= 0) {
		if (c->version <= 2 || csize < -255)
			return BAD(c->err, "stream of %d bytes", csize);
		if (csize < 0) {
			if (*pos == end || !(c->p[*pos] & 1))
				return BAD(c->err, "run without a token");
			*pos += 1;
		}
		memset(out, -csize, len);
		return ORACLE_GOOD;
	}
	if ((uint32_t)csize > end - *pos)
		return BAD(c->err, "stream of %d bytes at %u", csize, *pos);
	if ((size_t)csize == len)
		memcpy(out, c->p + *pos, len);
	else if (!codec_known(c->codec))
		return fail(c->err, ORACLE_UNSUPPORTED, "codec %u", c->codec);
	else if (!undo_codec(c, c->p + *pos, (size_t)csize, out, len))
		return BAD(c->err, "stream at %u does not decode", *pos);
	*pos += (uint32_t)csize;
	return ORACLE_GOOD;
}

static enum oracle_verdict read_streams(const struct chunk *c, uint32_t k,
					uint32_t n, uint8_t *out, size_t len)
{
	uint32_t pos = start_of(c, k);

	if (len / n == 0 || len % n != 0)
		return BAD(c->err, "%zu bytes in %u streams", len, n);
	for (uint32_t i = 0; i < n; i++)
		TRY(read_stream(c, &pos, c->ends[k], out + i * (len / n),
				len / n));
	return ORACLE_GOOD;
}

static enum oracle_verdict read_block(const struct chunk *c, uint32_t k,
				      uint8_t *out, size_t len)
{
	uint32_t t = c->typesize;
	enum oracle_verdict verdict;

	if (len < c->blocksize || (c->flags & 0x10))
		return read_streams(c, k, 1, out, len);
	if (c->version >= 3)
		return read_streams(c, k, t, out, len);
	if (t <= 16 && len / t >= 128)
		return read_streams(c, k, t, out, len);
	/* Old writers had no flag for "not split"; one later mode broke the
	 * rule that stood in for it. */
	verdict = read_streams(c, k, 1, out, len);
	if (verdict == ORACLE_BAD)
		verdict = read_streams(c, k, t, out, len);
	return verdict;
}

static enum oracle_verdict read_vl_block(const struct chunk *c, uint32_t k,
					 uint8_t *out, size_t len)
{
	uint32_t pos = start_of(c, k) + 4;
	size_t span = c->ends[k] - pos;

	if (span == len)
		memcpy(out, c->p + pos, len);
	else if (!codec_known(c->codec))
		return fail(c->err, ORACLE_UNSUPPORTED, "codec %u", c->codec);
	else if (!undo_codec(c, c->p + pos, span, out, len))
		return BAD(c->err, "VL block %u does not decode", k);
	return ORACLE_GOOD;
}

static enum oracle_verdict find_block_starts(const struct chunk *c,
					     struct oracle_bytes *ret)
{
	uint64_t at = 0;

	ret->n_blocks = c->n_blocks;
	ret->starts = must_alloc(sizeof(size_t) * (uint64_t)c->n_blocks);
	for (uint32_t k = 0; k < c->n_blocks; k++) {
		int32_t len = (int32_t)c->blocksize;

		ret->starts[k] = at;
		if (c->vl)
			len = get_i32(c->p + start_of(c, k));
		if (len < 1)
			return BAD(c->err, "VL block %u of %d bytes", k, len);
		at += (uint32_t)len;
		if (c->vl && at > c->nbytes)
			return BAD(c->err, "VL blocks exceed %u", c->nbytes);
	}
	if (c->vl && at != c->nbytes)
		return BAD(c->err, "VL blocks give %llu of %u",
			   (unsigned long long)at, c->nbytes);
	return ORACLE_GOOD;
}

static enum oracle_verdict read_blocks(struct chunk *c,
				       struct oracle_bytes *ret)
{
	TRY(read_tables(c));
	TRY(find_block_starts(c, ret));
	for (uint32_t k = 0; k < c->n_blocks; k++) {
		size_t begin = ret->starts[k];
		bool last = k + 1 == c->n_blocks, own_ref = c->vl || k == 0;
		size_t end = last ? ret->len : ret->starts[k + 1];
		uint8_t *out = ret->data + begin;

		if (c->vl)
			TRY(read_vl_block(c, k, out, end - begin));
		else
			TRY(read_block(c, k, out, end - begin));
		undo_filters(c, out, end - begin, own_ref ? NULL : ret->data);
	}
	return ORACLE_GOOD;
}

static enum oracle_verdict fill_special(const struct chunk *c,
					struct oracle_bytes *ret)
{
	static const uint8_t nan4[] = { 0, 0, 0xc0, 0x7f };
	static const uint8_t nan8[] = { 0, 0, 0, 0, 0, 0, 0xf8, 0x7f };
	const uint8_t *value = NULL;
	size_t width = c->typesize;

	if (c->special != VALUE && c->cbytes != 32)
		return BAD(c->err, "a special chunk of %u bytes", c->cbytes);
	if (c->special == ZEROS || c->special == UNINIT)
		return ORACLE_GOOD;
	if (c->special == VALUE) {
		value = c->p + 32;
		width = c->cbytes - 32;
		if (width < 1 || width > MAX_BLOCK_2 ||
		    (c->typesize > 1 && width != c->typesize))
			return BAD(c->err, "value of %zu bytes", width);
	} else if (c->special == NANS) {
		if (width != 4 && width != 8)
			return BAD(c->err, "NaN of %zu bytes", width);
		value = width == 4 ? nan4 : nan8;
	}
	if (c->nbytes % width != 0)
		return BAD(c->err, "%u bytes of items of %zu", c->nbytes,
			   width);
	for (size_t i = 0; value && i < ret->len; i++)
		ret->data[i] = value[i % width];
	return ORACLE_GOOD;
}

static enum oracle_verdict read_chunk(struct chunk *c, size_t len,
				      struct oracle_bytes *ret)
{
	TRY(read_header(c, len));
	if (c->nbytes > ORACLE_MAX)
		return fail(c->err, ORACLE_LIMIT, "%u bytes", c->nbytes);
	ret->data = must_alloc(c->nbytes);
	ret->len = c->nbytes;
	if (c->special)
		return fill_special(c, ret);
	if (c->raw) {
		memcpy(ret->data, c->p + c->header_len, c->nbytes);
		return ORACLE_GOOD;
	}
	if (c->nbytes == 0 && !c->vl)
		return c->cbytes == c->header_len ? ORACLE_GOOD :
			fail(c->err, ORACLE_BAD, "no bytes in %u",
			     c->cbytes);
	return read_blocks(c, ret);
}

enum oracle_verdict oracle_chunk(const uint8_t *chunk, size_t len,
				 const struct oracle_env *env,
				 struct oracle_bytes *ret, char err[ORACLE_ERR])
{
	struct chunk c = { .p = chunk, .err = err };
	enum oracle_verdict verdict;

	memset(ret, 0, sizeof(*ret));
	err[0] = '\0';
	c.frame_typesize = env ? env->typesize : 0;
	c.alone = !env;
	verdict = read_chunk(&c, len, ret);
	free(c.ends);
	if (verdict != ORACLE_GOOD)
		oracle_release(ret);
	return verdict;
}
