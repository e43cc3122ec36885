/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * build2.c - hand-made containers, opened under a bound of memory.
 */
#include "support/build2.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

/* ---- bytes ----------------------------------------------------------- */

void patch_le(struct build *b, size_t at, uint64_t v, unsigned n)
{
	assert_true(at + n <= b->len);
	for (unsigned i = 0; i < n; i++)
		b->p[at + i] = (uint8_t)(v >> 8 * i);
}

void patch_be(struct build *b, size_t at, uint64_t v, unsigned n)
{
	assert_true(at + n <= b->len);
	for (unsigned i = 0; i < n; i++)
		b->p[at + i] = (uint8_t)(v >> 8 * (n - 1 - i));
}

struct build build_copy(const struct build *b)
{
	struct build copy = { 0 };

	build_bytes(&copy, b->p, b->len);
	return copy;
}

struct build build_sample(const char *name)
{
	struct build b = { 0 };
	char path[4096];
	uint8_t buf[4096];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", TEST_DATA_DIR, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		build_bytes(&b, buf, n);
	fclose(f);
	return b;
}

static void put_head(struct build *b, unsigned version, unsigned flags,
		     unsigned typesize, size_t len, size_t cbytes)
{
	build_byte(b, version);
	build_byte(b, 1);
	build_byte(b, flags);
	build_byte(b, typesize);
	build_le32(b, (uint32_t)len);
	build_le32(b, len ? (uint32_t)len : 1);
	build_le32(b, (uint32_t)cbytes);
}

void build_plain(struct build *b, unsigned version, unsigned typesize,
		 const void *p, size_t len)
{
	put_head(b, version, 0x02, typesize, len, len + 16);
	build_bytes(b, p, len);
}

void build_stored(struct build *b, unsigned version, bool extended,
		  unsigned typesize, const void *p, size_t len)
{
	static const uint8_t rest[16] = { 0, 0, 0, 0, 0, 0, 1 };
	size_t head = extended ? 32 : 16;

	/* LZ4, not split. */
	put_head(b, version, extended ? 0x35 : 0x30, typesize, len,
		 head + 8 + len);
	if (extended)
		build_bytes(b, rest, 16);
	build_le32(b, (uint32_t)head + 4);
	build_le32(b, (uint32_t)len);
	build_bytes(b, p, len);
}

/* ---- ZIP ------------------------------------------------------------- */

static void build_le16(struct build *b, unsigned v)
{
	build_byte(b, v & 255);
	build_byte(b, v >> 8 & 255);
}

static void put_zip64(struct build *b, const struct zip_member *m)
{
	build_le16(b, 1);
	build_le16(b, 16);
	build_le64(b, m->len);
	build_le64(b, m->len);
}

static void put_sizes(struct build *b, const struct zip_member *m,
		      uint32_t crc, bool absent)
{
	uint32_t len = m->zip64 ? UINT32_MAX : (uint32_t)m->len;

	build_le32(b, absent ? 0 : crc);
	build_le32(b, absent ? 0 : len);
	build_le32(b, absent ? 0 : len);
}

size_t zip_add(struct zip *z, const struct zip_member *m)
{
	static const uint8_t zeros[64];
	size_t at = z->out.len, name_len = m->name_len ? m->name_len :
							 strlen(m->name);
	uint32_t crc = m->len ? (uint32_t)crc32_z(0, m->p, m->len) : 0;
	unsigned flags = m->flags | (m->descriptor ? 8 : 0);
	unsigned extra = m->zip64 ? 20 : 0;
	struct build *b = &z->out;

	build_bytes(b, "PK\3\4\x14\0", 6);
	build_le16(b, flags);
	build_le16(b, m->method);
	build_le32(b, 0);
	put_sizes(b, m, crc, m->descriptor);
	build_le16(b, (unsigned)name_len);
	build_le16(b, extra + m->extra_len);
	build_bytes(b, m->name, name_len);
	if (m->zip64)
		put_zip64(b, m);
	build_bytes(b, zeros, m->extra_len);
	build_bytes(b, m->p, m->len);
	if (m->descriptor) {
		build_bytes(b, "PK\7\10", 4);
		put_sizes(b, m, crc, false);
	}
	b = &z->central;
	build_bytes(b, "PK\1\2\x14\0\x14\0", 8);
	build_le16(b, flags);
	build_le16(b, m->method);
	build_le32(b, 0);
	put_sizes(b, m, crc, false);
	build_le16(b, (unsigned)name_len);
	build_le16(b, extra);
	build_bytes(b, zeros, 10);
	build_le32(b, (uint32_t)at);
	build_bytes(b, m->name, name_len);
	if (m->zip64)
		put_zip64(b, m);
	z->n++;
	return at;
}

void zip_finish(struct zip *z, bool zip64)
{
	struct build *b = &z->out;
	size_t off = b->len, len = z->central.len;

	build_bytes(b, z->central.p, len);
	if (zip64) {
		size_t record = b->len;

		build_bytes(b, "PK\6\6", 4);
		build_le64(b, 44);
		build_bytes(b, "\x2d\0\x2d\0\0\0\0\0\0\0\0\0", 12);
		build_le64(b, z->n);
		build_le64(b, z->n);
		build_le64(b, len);
		build_le64(b, off);
		build_bytes(b, "PK\6\7\0\0\0\0", 8);
		build_le64(b, record);
		build_le32(b, 1);
	}
	build_bytes(b, "PK\5\6\0\0\0\0", 8);
	build_le16(b, zip64 ? 0xffff : (unsigned)z->n);
	build_le16(b, zip64 ? 0xffff : (unsigned)z->n);
	build_le32(b, zip64 ? UINT32_MAX : (uint32_t)len);
	build_le32(b, zip64 ? UINT32_MAX : (uint32_t)off);
	build_le16(b, 0);
	free(z->central.p);
	z->central = (struct build){ 0 };
}

/* ---- opening --------------------------------------------------------- */

struct bfs_engine *hostile_engine;

int hostile_setup(void **state)
{
	struct bfs_engine_options options = { .cache_len = 4 << 20,
					      .n_threads = 1 };

	(void)state;
	bfs_budget_set_limit(&bfs_process_budget, HOSTILE_MEMORY);
	return bfs_engine_new(&options, &hostile_engine) != BFS_OK;
}

int hostile_teardown(void **state)
{
	(void)state;
	bfs_engine_free(hostile_engine);
	bfs_budget_set_limit(&bfs_process_budget, 0);
	return bfs_mem_used() != 0;
}

enum bfs_err hostile_try(const void *p, size_t len, const char *name,
			 struct bfs_array **ret_array, struct bfs_diag *diag)
{
	uint8_t *copy = bfs_alloc(len);
	struct bfs_source *source;
	struct bfs_container *container;
	enum bfs_err err;

	assert_non_null(copy);
	if (len)
		memcpy(copy, p, len);
	err = bfs_source_memory(copy, len, true, &source, diag);
	assert_int_equal(err, BFS_OK);
	err = bfs_container_open(source, name, NULL,
				 bfs_engine_cache(hostile_engine), &container,
				 diag);
	bfs_source_unref(source);
	if (err == BFS_OK)
		err = bfs_array_open(hostile_engine, container, ret_array,
				     diag);
	return err;
}

struct bfs_array *hostile_open(const struct build *b, const char *name)
{
	struct bfs_array *a = NULL;
	struct bfs_diag diag = { 0 };
	enum bfs_err err = hostile_try(b->p, b->len, name, &a, &diag);

	if (err != BFS_OK)
		print_message("# %s: %s\n", bfs_err_name(err), diag.text);
	assert_int_equal(err, BFS_OK);
	return a;
}

struct bfs_file *hostile_file(const struct build *b, const char *name)
{
	struct bfs_file *file;
	uint32_t views;

	assert_int_equal(bfs_view_parse(NULL, &views, NULL), BFS_OK);
	assert_int_equal(bfs_file_new(hostile_open(b, name), views, &file,
				      NULL), BFS_OK);
	return file;
}

/* ---- what must be true ----------------------------------------------- */

void expect_good(const struct bfs_array *a)
{
	if (a->container->status != BFS_GOOD)
		print_message("# %s\n", a->container->why.text);
	assert_int_equal(a->container->status, BFS_GOOD);
}

static void expect_text(const char *text, const char *word)
{
	if (!strstr(text, word))
		print_message("# '%s' has no '%s'\n", text, word);
	assert_true(text[0] != '\0');
	assert_non_null(strstr(text, word));
}

void expect_blamed(const struct bfs_array *a, enum bfs_status status,
		   const char *word)
{
	if (a->container->status != status)
		print_message("# %s\n", a->container->why.text);
	assert_int_equal(a->container->status, status);
	assert_int_equal(a->container->why.err == BFS_ERR_UNSUPPORTED,
			 status == BFS_UNSUPPORTED);
	expect_text(a->container->why.text, word);
}

void expect_useless(const struct build *b, const char *name,
		    enum bfs_status status, const char *word)
{
	struct bfs_array *a = hostile_open(b, name);

	expect_blamed(a, status, word);
	expect_failure(a, BFS_STREAM_CHUNK, 0, BFS_ERR_RANGE, "no chunk");
	read_all_streams(a, 4096);
	bfs_array_close(a);
}

void expect_stream(struct bfs_array *a, enum bfs_stream_kind kind,
		   uint64_t index, const void *want, size_t len)
{
	struct bfs_stream s = { kind, index };
	uint8_t *got = malloc(len + 1);
	struct bfs_diag diag = { 0 };
	uint64_t n = 0;
	enum bfs_err err;

	assert_non_null(got);
	err = bfs_array_len(a, &s, &n, &diag);
	if (err == BFS_OK) {
		assert_int_equal(n, len);
		err = bfs_array_read(a, &s, 0, got, len, &diag);
	}
	if (err != BFS_OK)
		print_message("# %s\n", diag.text);
	assert_int_equal(err, BFS_OK);
	if (len)
		assert_memory_equal(got, want, len);
	free(got);
}

void expect_failure(struct bfs_array *a, enum bfs_stream_kind kind,
		    uint64_t index, enum bfs_err want, const char *word)
{
	struct bfs_stream s = { kind, index };
	struct bfs_diag diag = { 0 };
	uint8_t byte;
	enum bfs_err err = bfs_array_read(a, &s, 0, &byte, 1, &diag);

	if (err != want)
		print_message("# %s: %s\n", bfs_err_name(err), diag.text);
	assert_int_equal(err, want);
	expect_text(diag.text, word);
}

static void read_stream(struct bfs_array *a, enum bfs_stream_kind kind,
			uint64_t index, uint8_t *buf, size_t most)
{
	struct bfs_stream s = { kind, index };
	struct bfs_diag diag = { 0 };
	uint64_t len = 0;
	enum bfs_err err = bfs_array_len(a, &s, &len, &diag);

	for (int i = 0; err == BFS_OK && i < 2; i++) {
		size_t n = len < most ? (size_t)len : most;

		err = bfs_array_read(a, &s, i ? len - n : 0, buf, n, &diag);
		assert_int_not_equal(err, BFS_ERR_RANGE);
	}
	assert_int_not_equal(err, BFS_ERR_NOMEM);
	if (err != BFS_OK)
		assert_true(diag.text[0] != '\0');
}

void read_all_streams(struct bfs_array *a, size_t most)
{
	const struct bfs_container *f = a->container;
	uint8_t *buf = malloc(most);

	assert_non_null(buf);
	if (f->nbytes_known) {
		read_stream(a, BFS_STREAM_DATA, 0, buf, most);
		read_stream(a, BFS_STREAM_JOINED, 0, buf, most);
	}
	for (uint64_t n = 0; n < f->n_chunks && n < 64; n++) {
		read_stream(a, BFS_STREAM_CHUNK, n, buf, most);
		read_stream(a, BFS_STREAM_RAW_CHUNK, n, buf, most);
		read_stream(a, BFS_STREAM_LAZY_CHUNK, n, buf, most);
	}
	for (size_t i = 0; i < f->n_metas; i++)
		read_stream(a, BFS_STREAM_META, i, buf, most);
	for (size_t i = 0; i < f->n_vlmetas; i++)
		read_stream(a, BFS_STREAM_VLMETA, i, buf, most);
	assert_true(bfs_mem_used() <= HOSTILE_MEMORY);
	free(buf);
}
