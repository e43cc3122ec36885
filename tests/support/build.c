/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * build.c - a small writer of chunks and frames for tests. It knows one way
 * to write each thing; see docs/formats/chunk.md and b2frame.md.
 */
#include "support/build.h"

#include <lz4.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static void grow(struct build *b, size_t more)
{
	if (b->len + more <= b->cap)
		return;
	b->cap = (b->len + more) * 2;
	b->p = realloc(b->p, b->cap);
	if (!b->p)
		abort();
}

void build_bytes(struct build *b, const void *p, size_t len)
{
	grow(b, len);
	if (len)
		memcpy(b->p + b->len, p, len);
	b->len += len;
}

void build_byte(struct build *b, unsigned v)
{
	uint8_t byte = (uint8_t)v;

	build_bytes(b, &byte, 1);
}

void build_le32(struct build *b, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		build_byte(b, v >> 8 * i & 255);
}

void build_le64(struct build *b, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		build_byte(b, v >> 8 * i & 255);
}

void build_be16(struct build *b, unsigned v)
{
	build_byte(b, v >> 8 & 255);
	build_byte(b, v & 255);
}

void build_be32(struct build *b, uint32_t v)
{
	build_be16(b, v >> 16);
	build_be16(b, v & 0xffff);
}

void build_be64(struct build *b, uint64_t v)
{
	build_be32(b, (uint32_t)(v >> 32));
	build_be32(b, (uint32_t)v);
}

static void shuffle_block(const uint8_t *src, uint8_t *dst, size_t len,
			  size_t width)
{
	size_t n = len / width;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < width; j++)
			dst[j * n + i] = src[i * width + j];
	memcpy(dst + n * width, src + n * width, len - n * width);
}

/* XOR with the first block, or with the item before in that block itself. */
static void delta_block(uint8_t *p, size_t len, const uint8_t *ref, size_t g)
{
	if (ref) {
		for (size_t i = 0; i < len / g * g; i++)
			p[i] ^= ref[i];
		return;
	}
	for (size_t i = len / g * g; i-- > g;)
		p[i] ^= p[i - g];
}

/* Each byte less the one before, in each plane; from the end. */
static void bytedelta_block(uint8_t *p, size_t len, size_t width)
{
	size_t n = len / width;

	for (size_t k = 0; k < width; k++)
		for (size_t i = n; i-- > 1;)
			p[k * n + i] -= p[k * n + i - 1];
}

static void pack_stream(struct build *b, enum build_codec codec,
			const uint8_t *src, size_t len)
{
	size_t room = ZSTD_compressBound(len) + 64, n;
	uint8_t *out = malloc(room);

	if (!out)
		abort();
	if (codec == BUILD_LZ4)
		n = (size_t)LZ4_compress_default((const char *)src,
						 (char *)out, (int)len,
						 (int)room);
	else
		n = ZSTD_compress(out, room, src, len, 1);
	if (n == 0 || n >= len) {
		build_le32(b, (uint32_t)len);
		build_bytes(b, src, len);
	} else {
		build_le32(b, (uint32_t)n);
		build_bytes(b, out, n);
	}
	free(out);
}

static void put_le32(struct build *b, size_t at, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		b->p[at + (size_t)i] = (uint8_t)(v >> 8 * i);
}

static void build_header(struct build *b, const struct build_chunk *c)
{
	static const uint8_t formats[] = { 0, 1, 4 }, codes[] = { 0, 1, 5 };
	unsigned flags = 0x15 | (unsigned)formats[c->codec] << 5;

	if (c->delta)
		flags |= 8;
	if (c->codec == BUILD_RAW)
		flags = 7;
	build_bytes(b, "\5\1", 2);
	build_byte(b, flags);
	build_byte(b, c->typesize > 255 ? 1 : c->typesize);
	build_le32(b, (uint32_t)c->len);
	build_le32(b, c->blocksize);
	build_le32(b, 0);
	build_bytes(b, "\0\0\0\0", 4);
	build_byte(b, c->bytedelta ? 1 : c->delta ? 3 : 0);
	build_byte(b, c->bytedelta ? 35 : c->shuffle ? 1 : 0);
	build_byte(b, codes[c->codec]);
	build_bytes(b, "\0\0\0\0\0\0", 6);
	build_byte(b, c->bytedelta ? c->typesize : 0);
	build_bytes(b, "\0\0", 2);
}

void build_chunk(struct build *b, const struct build_chunk *c)
{
	size_t start = b->len, n = (c->len + c->blocksize - 1) / c->blocksize;
	uint8_t *a = malloc(c->blocksize), *s = malloc(c->blocksize);
	size_t g = c->typesize == 2 || c->typesize == 4 || c->typesize == 8 ?
			   c->typesize : 1;

	if (!a || !s)
		abort();
	build_header(b, c);
	if (c->codec == BUILD_RAW) {
		build_bytes(b, c->data, c->len);
		n = 0;
	}
	for (size_t k = 0; k < n; k++)
		build_le32(b, 0);
	for (size_t k = 0; k < n; k++) {
		size_t off = k * c->blocksize, len = c->len - off;

		if (len > c->blocksize)
			len = c->blocksize;
		put_le32(b, start + 32 + 4 * k, (uint32_t)(b->len - start));
		memcpy(a, c->data + off, len);
		if (c->delta)
			delta_block(a, len, k ? c->data : NULL, g);
		if (c->shuffle)
			shuffle_block(a, s, len, c->typesize);
		if (c->bytedelta)
			bytedelta_block(s, len, c->typesize);
		pack_stream(b, c->codec, c->shuffle ? s : a, len);
	}
	put_le32(b, start + 12, (uint32_t)(b->len - start));
	free(a);
	free(s);
}

void build_frame_chunk(struct build_frame *f, const struct build_chunk *c)
{
	build_le64(&f->index, f->data.len);
	build_chunk(&f->data, c);
	f->nbytes += c->len;
}

void build_frame_special(struct build_frame *f, uint64_t entry, size_t len)
{
	build_le64(&f->index, entry);
	f->nbytes += len;
}

static void build_b2nd(const struct build_frame *f, struct build *m)
{
	build_byte(m, 0x97);
	build_byte(m, 0);
	build_byte(m, f->ndim);
	build_byte(m, 0x90 + f->ndim);
	for (unsigned i = 0; i < f->ndim; i++) {
		build_byte(m, 0xd3);
		build_be64(m, (uint64_t)f->shape[i]);
	}
	build_byte(m, 0x90 + f->ndim);
	for (unsigned i = 0; i < f->ndim; i++) {
		build_byte(m, 0xd2);
		build_be32(m, (uint32_t)f->chunkshape[i]);
	}
	build_byte(m, 0x90 + f->ndim);
	for (unsigned i = 0; i < f->ndim; i++) {
		build_byte(m, 0xd2);
		build_be32(m, (uint32_t)f->blockshape[i]);
	}
	build_byte(m, 0);
	build_byte(m, 0xdb);
	build_be32(m, (uint32_t)strlen(f->dtype));
	build_bytes(m, f->dtype, strlen(f->dtype));
}

static void build_metas(const struct build_frame *f, struct build *out)
{
	const char *name = f->meta_name ? f->meta_name : "b2nd";
	bool any = f->meta_name || f->dtype;
	struct build m = { 0 };

	if (f->meta_name)
		build_bytes(&m, f->meta, f->meta_len);
	else if (f->dtype)
		build_b2nd(f, &m);
	build_bytes(out, "\x93\xcd", 2);
	build_be16(out, any ? 13 + (unsigned)strlen(name) : 7);
	build_byte(out, 0xde);
	build_be16(out, any);
	if (any) {
		build_byte(out, 0xa0 + (unsigned)strlen(name));
		build_bytes(out, name, strlen(name));
		build_byte(out, 0xd2);
		build_be32(out, (uint32_t)out->len + 7);
	}
	build_byte(out, 0xdc);
	build_be16(out, any);
	if (any) {
		build_byte(out, 0xc6);
		build_be32(out, (uint32_t)m.len);
		build_bytes(out, m.p, m.len);
	}
	free(m.p);
}

static void build_trailer(struct build *out)
{
	build_bytes(out, "\x94\x01\x93\xcd\0\6\xde\0\0\xdc\0\0\xce\0\0\0\x23",
		    17);
	build_bytes(out, "\xd8\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 18);
}

static void put_be64(struct build *b, size_t at, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		b->p[at + (size_t)i] = (uint8_t)(v >> (56 - 8 * i));
}

void build_frame_finish(struct build_frame *f, struct build *out)
{
	struct build_chunk index = { .data = f->index.p, .len = f->index.len,
				     .typesize = 8, .blocksize = 32768,
				     .codec = BUILD_LZ4, .shuffle = 1 };
	size_t start = out->len;

	build_bytes(out, "\x9e\xa8" "b2frame\0\xd2\0\0\0\0\xcf", 16);
	build_be64(out, 0);
	build_byte(out, 0xa4);
	build_byte(out, f->flags ? f->flags : 0x12);
	build_bytes(out, "\0\x51\3\xd3", 4);
	build_be64(out, f->nbytes);
	build_byte(out, 0xd3);
	build_be64(out, f->data.len);
	build_byte(out, 0xd2);
	build_be32(out, f->typesize);
	build_bytes(out, "\xd2\0\0\0\0\xd2", 6);
	build_be32(out, (uint32_t)f->chunksize);
	build_bytes(out, "\xd1\0\1\xd1\0\1\xc2\xd8\6\0\0\0\0\0\1\1\0", 17);
	build_bytes(out, "\0\0\0\0\0\0\0\0", 8);
	build_metas(f, out);
	/* The header length's upper bytes are zero already. */
	out->p[start + 0x0d] = (uint8_t)((out->len - start) >> 8);
	out->p[start + 0x0e] = (uint8_t)(out->len - start);
	build_bytes(out, f->data.p, f->data.len);
	if (f->index.len > 0) {
		if (index.len < index.blocksize)
			index.blocksize = (uint32_t)index.len;
		build_chunk(out, &index);
	}
	build_trailer(out);
	put_be64(out, start + 0x10, out->len - start);
	free(f->data.p);
	free(f->index.p);
	memset(f, 0, sizeof(*f));
}

void build_fill(uint8_t *p, size_t len, uint32_t seed)
{
	uint32_t x = seed * 2654435761u + 1;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525 + 1013904223;
		/* Two bits of noise over a slow ramp. */
		p[i] = (uint8_t)((x >> 30) + i / 64);
	}
}
