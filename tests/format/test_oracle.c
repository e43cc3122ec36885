/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_oracle.c - the library and the oracle over whole files: both against
 * the answers of a manifest, and against each other on every chunk.
 *
 * Directories with a MANIFEST.tsv (tests/data/README.md) come as arguments,
 * else in BLOSCFS_TEST_DATA, else it is tests/data; BLOSCFS_CORPUS names one
 * more. Bare chunks, contiguous frames and arrays are looked at; the chunks of
 * the other containers are test_oracle_chunks.c's.
 */
#include "container/container.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "array/nd.h"
#include "support/decode.h"
#include "support/manifest.h"
#include "support/oracle.h"

#include <dirent.h>
#include <openssl/sha.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* Of a frame with more chunks, the first ones are compared. */
#define MAX_COMPARED 256
/* And so many bytes of them: special chunks make much of nothing. */
#define MAX_COMPARED_LEN (UINT64_C(64) << 20)

/* One answer: bytes, or why there are none. */
struct answer {
	uint8_t *data;
	size_t len;
	enum bfs_err err;	/* UNSUPPORTED, LIMIT: known; else CORRUPT */
	char why[ORACLE_ERR];
};

/* One file, opened by both. */
struct pair {
	const char *path;
	uint8_t *file;
	size_t len;
	struct bfs_source *source;
	struct bfs_container *container; /* NULL: would not open */
	struct oracle_frame oracle;
	enum oracle_verdict oracle_open;
	char why[ORACLE_ERR];
};

static struct manifest manifests[16];
static size_t n_manifests;

static bool is_ours(const struct manifest_row *row)
{
	return !strcmp(row->kind, "chunk1") || !strcmp(row->kind, "chunk2") ||
	       !strcmp(row->kind, "cframe") || !strcmp(row->kind, "b2nd");
}

static bool is_bare(const struct manifest_row *row)
{
	return row->kind[0] == 'c' && row->kind[1] == 'h';
}

/* ---- answers ---- */

static enum bfs_err err_of(enum oracle_verdict verdict)
{
	switch (verdict) {
	case ORACLE_GOOD:
		return BFS_OK;
	case ORACLE_UNSUPPORTED:
		return BFS_ERR_UNSUPPORTED;
	case ORACLE_LIMIT:
		return BFS_ERR_LIMIT;
	case ORACLE_BAD:
		break;
	}
	return BFS_ERR_CORRUPT;
}

static struct answer answer_of(enum oracle_verdict verdict,
			       struct oracle_bytes *bytes, const char *why)
{
	struct answer a = { bytes->data, bytes->len, err_of(verdict), "" };

	free(bytes->starts);
	if (verdict != ORACLE_GOOD) {
		a.data = NULL;
		a.len = 0;
		snprintf(a.why, sizeof(a.why), "%s", why);
	}
	return a;
}

static struct answer refusal(enum bfs_err err, const char *why)
{
	struct answer a = { .err = err };

	snprintf(a.why, sizeof(a.why), "%s", why);
	return a;
}

static void release_answer(struct answer *a)
{
	free(a->data);
	a->data = NULL;
}

static bool same_answer(const struct answer *a, const struct answer *b)
{
	return a->len == b->len &&
	       (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* Decodes an opened plan. */
static struct answer read_plan(struct bfs_chunk *chunk,
			       struct bfs_source *source, uint64_t off)
{
	struct bfs_scratch *scratch = bfs_scratch_new();
	struct bfs_diag diag = { 0 };
	struct answer a = { 0 };

	if (chunk->head.nbytes > DECODE_MAX) {
		a = refusal(BFS_ERR_LIMIT, "too big for a test");
	} else {
		a.len = chunk->head.nbytes;
		a.data = decode_alloc(a.len);
		a.err = bfs_chunk_read_all(chunk, source, off, a.data,
					   scratch, &diag);
	}
	if (a.err != BFS_OK && a.data) {
		free(a.data);
		a = refusal(a.err, diag.text);
	}
	bfs_scratch_free(scratch);
	bfs_chunk_unref(chunk);
	return a;
}

static struct answer lib_chunk(struct bfs_container *f, uint64_t n)
{
	struct bfs_diag diag = { 0 };
	struct bfs_chunk *chunk = NULL;
	struct bfs_span span;
	uint32_t len;
	enum bfs_err err = bfs_container_span(f, n, &span, &diag);

	if (err == BFS_OK && span.special != BFS_CHUNK_BLOCKS) {
		err = bfs_container_chunk_len(f, n, &len, &diag);
		if (err == BFS_OK)
			err = bfs_chunk_special(span.special, len, f->typesize,
						f->blocksize, &chunk, &diag);
	} else if (err == BFS_OK) {
		err = bfs_chunk_open(f->source, span.off, span.avail,
				     span.nbytes, &f->env, &chunk, &diag);
	}
	if (err != BFS_OK)
		return refusal(err, diag.text);
	return read_plan(chunk, f->source, span.off);
}

static struct answer oracle_chunk_of(const struct pair *p, uint64_t n)
{
	struct oracle_bytes bytes;
	char why[ORACLE_ERR] = "";
	enum oracle_verdict v = oracle_frame_chunk(&p->oracle, n, &bytes, why);

	return answer_of(v, &bytes, why);
}

/* Bytes [off, off + len) of the chunks joined, one chunk after the other. */
static struct answer lib_range(struct bfs_container *f, uint64_t off,
			       uint64_t len)
{
	struct answer a = { 0 };
	uint64_t end, n = 0;
	struct bfs_diag diag = { 0 };

	if (f->status != BFS_GOOD && f->n_chunks == 0 && f->nbytes > 0)
		return refusal(f->why.err, f->why.text);
	off = bfs_min(off, f->nbytes);
	end = off + bfs_min(len, f->nbytes - off);
	if (end - off > DECODE_MAX)
		return refusal(BFS_ERR_LIMIT, "too big for a test");
	a.data = decode_alloc((size_t)(end - off));
	if (end > off && bfs_container_chunk_at(f, off, &n, &diag) != BFS_OK) {
		free(a.data);
		return refusal(diag.err, diag.text);
	}
	while (off + a.len < end) {
		struct answer chunk = lib_chunk(f, n);
		uint64_t begin = 0, skip, take;

		if (chunk.err == BFS_OK)
			chunk.err =
				bfs_container_chunk_off(f, n, &begin, &diag);
		if (chunk.err != BFS_OK) {
			free(a.data);
			return chunk;
		}
		skip = off + a.len - begin;
		take = bfs_min(chunk.len - skip, end - off - a.len);
		memcpy(a.data + a.len, chunk.data + skip, (size_t)take);
		a.len += (size_t)take;
		release_answer(&chunk);
		n++;
	}
	return a;
}

static struct answer lib_meta(struct bfs_container *f, const struct bfs_meta *m)
{
	struct bfs_diag diag = { 0 };
	struct answer a = { 0 };
	struct bfs_chunk *chunk = NULL;

	if (m->is_chunk) {
		struct bfs_codec_env env = { 0 };

		a.err = bfs_chunk_open(f->source, m->off, m->len, UINT32_MAX,
				       &env, &chunk, &diag);
		if (a.err != BFS_OK)
			return refusal(a.err, diag.text);
		if (chunk->head.cbytes != m->len) {
			bfs_chunk_unref(chunk);
			return refusal(BFS_ERR_CORRUPT, "length of the chunk");
		}
		return read_plan(chunk, f->source, m->off);
	}
	a.len = (size_t)m->len;
	a.data = decode_alloc(a.len);
	a.err = bfs_source_read(f->source, m->off, a.data, a.len, &diag);
	return a;
}

/* ---- both at once ---- */

static void open_pair(const char *dir, const char *path, struct pair *p)
{
	struct bfs_diag diag = { 0 };

	memset(p, 0, sizeof(*p));
	p->path = path;
	p->file = manifest_file(dir, path, &p->len);
	assert_int_equal(bfs_source_memory(p->file, p->len, false, &p->source,
					   NULL), BFS_OK);
	if (bfs_container_open(p->source, path, NULL, NULL, &p->container,
			       &diag) !=
	    BFS_OK)
		p->container = NULL;
	p->oracle_open = oracle_frame_open(p->file, p->len, &p->oracle,
					   p->why);
}

static void close_pair(struct pair *p)
{
	bfs_container_close(p->container);
	bfs_source_unref(p->source);
	oracle_frame_release(&p->oracle);
	free(p->file);
}

static bool lib_array_fits(struct bfs_container *f)
{
	struct bfs_nd nd;

	return f->array.present &&
	       bfs_nd_init(f->array.ndim, f->array.shape, f->array.chunkshape,
			   f->array.blockshape, f->typesize, &nd, NULL) ==
	       BFS_OK && nd.n_chunks == f->n_chunks &&
	       (nd.n_chunks == 0 || nd.chunk_len == (uint64_t)f->chunksize) &&
	       (!f->nbytes_known || f->nbytes == nd.n_chunks * nd.chunk_len);
}

/* Whether anything about the frame itself is wrong. */
static bool lib_blames(struct bfs_container *f)
{
	uint64_t end;

	return f->status != BFS_GOOD ||
	       (f->chunksize == 0 &&
		bfs_container_chunk_off(f, f->n_chunks, &end, NULL) != BFS_OK);
}

static void compare_metas(const struct pair *p, bool vl)
{
	const struct bfs_meta *lib =
		vl ? p->container->vlmetas : p->container->metas;
	const struct oracle_meta *own = vl ? p->oracle.vlmetas :
					     p->oracle.metas;
	size_t n = vl ? p->container->n_vlmetas : p->container->n_metas;

	if (n != (vl ? p->oracle.n_vlmetas : p->oracle.n_metas))
		fail_msg("%s: %zu metalayers", p->path, n);
	for (size_t i = 0; i < n; i++) {
		struct answer a = lib_meta(p->container, &lib[i]);
		struct oracle_bytes bytes;
		char why[ORACLE_ERR];

		if (lib[i].name_len != own[i].name_len ||
		    memcmp(lib[i].name, own[i].name, own[i].name_len) != 0)
			fail_msg("%s: name of metalayer %zu", p->path, i);
		if (!vl) {
			if (a.err != BFS_OK || a.len != own[i].len ||
			    memcmp(a.data, own[i].data, a.len) != 0)
				fail_msg("%s: metalayer %zu", p->path, i);
			release_answer(&a);
			continue;
		}
		if ((oracle_frame_vlmeta(&p->oracle, i, &bytes, why) ==
		     ORACLE_GOOD) != (a.err == BFS_OK))
			fail_msg("%s: vlmetalayer %zu: '%s', '%s'", p->path, i,
				 a.why, why);
		if (a.len != bytes.len ||
		    (a.len && memcmp(a.data, bytes.data, a.len) != 0))
			fail_msg("%s: vlmetalayer %zu differs", p->path, i);
		oracle_release(&bytes);
		release_answer(&a);
	}
}

/* `sound`: the frame has no fault of its own, so both must answer alike.
 * Returns how many chunks the library refuses. */
static unsigned compare_chunks(const struct pair *p, bool sound)
{
	unsigned n_refused = 0;
	uint64_t len = 0;

	for (uint64_t i = 0; i < p->container->n_chunks && i < MAX_COMPARED &&
			     len < MAX_COMPARED_LEN;
	     i++) {
		struct answer a = lib_chunk(p->container, i);
		struct answer b;

		if (a.err == BFS_ERR_LIMIT)
			continue;
		n_refused += a.err != BFS_OK;
		len += a.len;
		b = oracle_chunk_of(p, i);
		/* What the oracle has not, the manifest alone can judge. */
		if (sound && b.err != BFS_ERR_UNSUPPORTED &&
		    (a.err == BFS_OK) != (b.err == BFS_OK))
			fail_msg("%s: chunk %llu: library '%s', oracle '%s'",
				 p->path, (unsigned long long)i,
				 a.err ? a.why : "good",
				 b.err ? b.why : "good");
		if (a.err == BFS_OK && b.err == BFS_OK && !same_answer(&a, &b))
			fail_msg("%s: chunk %llu: other bytes", p->path,
				 (unsigned long long)i);
		release_answer(&a);
		release_answer(&b);
	}
	return n_refused;
}

static void compare_arrays(const struct pair *p)
{
	const struct oracle_array *own = &p->oracle.array;
	const struct bfs_array_meta *lib = &p->container->array;

	if (!own->present) {
		if (p->oracle.array_verdict != ORACLE_GOOD &&
		    lib_array_fits(p->container))
			fail_msg("%s: a false array", p->path);
		return;
	}
	assert_true(lib->present);
	assert_int_equal(lib->ndim, own->ndim);
	for (unsigned d = 0; d < own->ndim; d++) {
		assert_int_equal(lib->shape[d], own->shape[d]);
		assert_int_equal(lib->chunkshape[d], own->chunkshape[d]);
		assert_int_equal(lib->blockshape[d], own->blockshape[d]);
	}
	if (!own->linear && own->nbytes > 0)
		assert_true(lib_array_fits(p->container));
}

static void compare_pair(const struct pair *p)
{
	unsigned n_refused;
	bool sound, blames;

	if (p->oracle_open != ORACLE_GOOD) {
		if (p->container && !lib_blames(p->container))
			fail_msg("%s: only the oracle says '%s'", p->path,
				 p->why);
		return;
	}
	/* The oracle does not expand huge indexes. */
	if (p->oracle.verdict == ORACLE_LIMIT)
		return;
	if (!p->container)
		fail_msg("%s: only the library does not open it", p->path);
	sound = p->oracle.verdict == ORACLE_GOOD;
	n_refused = compare_chunks(p, sound);
	/* The library finds damage of an index when it gets there. A bad
	 * array metalayer may be blamed on the frame or not. */
	blames = lib_blames(p->container) || (!sound && n_refused > 0);
	if (sound == blames &&
	    (!sound || p->oracle.array_verdict == ORACLE_GOOD))
		fail_msg("%s: library '%s', oracle '%s'", p->path,
			 p->container->why.text, p->oracle.why);
	if (!sound)
		return;
	assert_int_equal(p->container->n_chunks, p->oracle.n_chunks);
	assert_int_equal(p->container->nbytes, p->oracle.nbytes);
	compare_metas(p, false);
	compare_metas(p, true);
	compare_arrays(p);
}

static void compare_bare(const char *dir, const char *path)
{
	struct oracle_bytes bytes;
	struct bfs_diag diag = { 0 };
	char why[ORACLE_ERR];
	size_t len, got_len = 0;
	uint8_t *file = manifest_file(dir, path, &len), *got = NULL;
	enum bfs_err err = decode_chunk(file, len, 0, &got, &got_len, &diag);
	enum oracle_verdict v = oracle_chunk(file, len, NULL, &bytes, why);

	if (err == BFS_OK && v == ORACLE_GOOD) {
		if (got_len != bytes.len ||
		    (got_len && memcmp(got, bytes.data, got_len) != 0))
			fail_msg("%s: other bytes", path);
	} else if (v != ORACLE_LIMIT && v != ORACLE_UNSUPPORTED &&
		   err != BFS_ERR_LIMIT &&
		   (err == BFS_OK) != (v == ORACLE_GOOD)) {
		fail_msg("%s: library '%s', oracle '%s'", path,
			 err ? diag.text : "good", v ? why : "good");
	}
	oracle_release(&bytes);
	free(got);
	free(file);
}

static void both_decoders_agree_on_every_file(void **state)
{
	size_t n = 0;

	(void)state;
	for (size_t m = 0; m < n_manifests; m++) {
		const char *last = "";

		for (size_t i = 0; i < manifests[m].n_rows; i++) {
			const struct manifest_row *row = &manifests[m].rows[i];
			struct pair pair;

			if (!is_ours(row) || !strcmp(row->path, last))
				continue;
			last = row->path;
			n++;
			if (is_bare(row)) {
				compare_bare(manifests[m].dir, row->path);
				continue;
			}
			open_pair(manifests[m].dir, row->path, &pair);
			compare_pair(&pair);
			close_pair(&pair);
		}
	}
	assert_true(n > 0);
}

/* ---- against the manifest ---- */

static void print_sha(const struct answer *a, char hex[65])
{
	uint8_t sum[SHA256_DIGEST_LENGTH];

	SHA256(a->data, a->len, sum);
	for (size_t i = 0; i < sizeof(sum); i++)
		snprintf(hex + 2 * i, 3, "%02x", sum[i]);
}

/* Codecs and filters that the oracle has not, nor every build. */
static bool may_be_unsupported(const struct manifest_row *row)
{
	static const char *const words[] = { "snappy", "ndlz", "zfp", "ndcell",
					     "ndmean", "unsupported-" };

	for (size_t i = 0; i < BFS_ARRAY_LEN(words); i++)
		if (strstr(row->path, words[i]) || strstr(row->notes, words[i]))
			return true;
	return false;
}

static void check_answer(const struct manifest_row *row, const char *who,
			 struct answer *a)
{
	char hex[65];

	if (a->err == BFS_ERR_LIMIT ||
	    (a->err == BFS_ERR_UNSUPPORTED && may_be_unsupported(row)))
		return;
	if (a->err != BFS_OK)
		fail_msg("%s, %s: %s: %s", row->path, row->what, who, a->why);
	if (a->len != strtoull(row->len, NULL, 10))
		fail_msg("%s, %s: %s: %zu bytes, not %s", row->path, row->what,
			 who, a->len, row->len);
	print_sha(a, hex);
	if (strcmp(row->sha, "-") != 0 && strcmp(row->sha, hex) != 0)
		fail_msg("%s, %s: %s: other bytes", row->path, row->what, who);
	release_answer(a);
}

static size_t unescape(const char *s, char *out)
{
	size_t n = 0;
	unsigned v;

	while (*s) {
		if (*s == '%' && sscanf(s + 1, "%2x", &v) == 1) {
			out[n++] = (char)v;
			s += 3;
		} else {
			out[n++] = *s++;
		}
	}
	return n;
}

static void check_meta(const struct pair *p, const struct manifest_row *row,
		       bool vl)
{
	const struct bfs_meta *metas =
		vl ? p->container->vlmetas : p->container->metas;
	size_t n = vl ? p->container->n_vlmetas : p->container->n_metas;
	char name[256];
	size_t len = unescape(strchr(row->what, ':') + 1, name);

	for (size_t i = 0; i < n; i++) {
		struct answer a;

		if (metas[i].name_len != len ||
		    memcmp(metas[i].name, name, len) != 0)
			continue;
		a = lib_meta(p->container, &metas[i]);
		check_answer(row, "library", &a);
		return;
	}
	fail_msg("%s: no %s", row->path, row->what);
}

static void check_range(const struct pair *p, const struct manifest_row *row,
			uint64_t off, uint64_t len, bool items)
{
	struct oracle_bytes bytes;
	char why[ORACLE_ERR] = "";
	enum oracle_verdict v;
	struct answer a;

	v = items ? oracle_frame_items(&p->oracle, off, len, &bytes, why) :
		    oracle_frame_range(&p->oracle, off, len, &bytes, why);
	a = answer_of(v, &bytes, why);
	check_answer(row, "oracle", &a);
	if (items)
		return;
	a = lib_range(p->container, off, len);
	check_answer(row, "library", &a);
}

/* Some part of the file must fail, in both decoders. */
static void check_damage(const struct pair *p, const struct manifest_row *row)
{
	bool lib = !p->container || lib_blames(p->container);
	bool own = p->oracle_open != ORACLE_GOOD ||
		   p->oracle.verdict != ORACLE_GOOD ||
		   p->oracle.array_verdict != ORACLE_GOOD;
	struct oracle_bytes bytes;
	char why[ORACLE_ERR];

	if (!strstr(row->notes, "expect=error"))
		return;
	for (uint64_t i = 0;
	     p->container && i < p->container->n_chunks && i < 64; i++) {
		struct answer a = lib_chunk(p->container, i);

		lib = lib || a.err != BFS_OK;
		release_answer(&a);
	}
	for (size_t i = 0; p->container && i < p->container->n_vlmetas; i++) {
		struct answer a =
			lib_meta(p->container, &p->container->vlmetas[i]);

		lib = lib || a.err != BFS_OK;
		release_answer(&a);
	}
	if (p->container && !strcmp(row->kind, "b2nd"))
		lib = lib || !lib_array_fits(p->container);
	for (uint64_t i = 0; i < p->oracle.n_chunks && i < 64; i++) {
		own = oracle_frame_chunk(&p->oracle, i, &bytes, why) || own;
		oracle_release(&bytes);
	}
	for (size_t i = 0; i < p->oracle.n_vlmetas; i++) {
		own = oracle_frame_vlmeta(&p->oracle, i, &bytes, why) || own;
		oracle_release(&bytes);
	}
	if (!lib || !own)
		fail_msg("%s (%s): no error from the %s", row->path,
			 row->notes, lib ? "oracle" : "library");
}

static void check_frame_row(const struct pair *p,
			    const struct manifest_row *row)
{
	const char *colon = strchr(row->what, ':');
	unsigned long long off, len;

	if (!strcmp(row->what, "corrupt")) {
		check_damage(p, row);
		return;
	}
	if (!p->container || p->oracle_open != ORACLE_GOOD)
		fail_msg("%s does not open: %s", row->path, p->why);
	if (!strcmp(row->what, "data")) {
		check_range(p, row, 0, UINT64_MAX, false);
	} else if (!strcmp(row->what, "npy")) {
		check_range(p, row, 0, UINT64_MAX, true);
	} else if (colon && sscanf(colon, ":%llu+%llu", &off, &len) == 2) {
		check_range(p, row, off, len, row->what[0] == 'n');
	} else if (!strncmp(row->what, "chunk:", 6)) {
		struct answer a =
			lib_chunk(p->container, strtoull(colon + 1, NULL, 10));
		struct answer b = oracle_chunk_of(p, strtoull(colon + 1, NULL,
							      10));

		check_answer(row, "library", &a);
		check_answer(row, "oracle", &b);
	} else {
		check_meta(p, row, row->what[0] == 'v');
	}
}

static struct answer bare_answer(const struct manifest_row *row,
				 const uint8_t *file, size_t file_len)
{
	struct bfs_diag diag = { 0 };
	struct answer a = { 0 };
	struct bfs_source *source = NULL;
	struct bfs_chunk *chunk = NULL;
	uint32_t k;

	a.err = decode_chunk(file, file_len, 0, &a.data, &a.len, &diag);
	if (a.err != BFS_OK)
		return refusal(a.err, diag.text);
	if (strncmp(row->what, "vlblock:", 8) != 0)
		return a;
	k = (uint32_t)strtoul(row->what + 8, NULL, 10);
	assert_int_equal(decode_open(file, file_len, 0, &source, &chunk,
				     &diag), BFS_OK);
	assert_int_equal(chunk->head.kind, BFS_CHUNK_VLBLOCKS);
	assert_true(k < chunk->head.n_blocks);
	a.len = bfs_chunk_block_len(chunk, k);
	memmove(a.data, a.data + bfs_chunk_block_off(chunk, k), a.len);
	bfs_chunk_unref(chunk);
	bfs_source_unref(source);
	return a;
}

static struct answer bare_oracle_answer(const struct manifest_row *row,
					const uint8_t *file, size_t file_len)
{
	struct oracle_bytes bytes;
	char why[ORACLE_ERR] = "";
	enum oracle_verdict v = oracle_chunk(file, file_len, NULL, &bytes,
					     why);
	size_t k, end;

	if (v == ORACLE_GOOD && !strncmp(row->what, "vlblock:", 8)) {
		k = strtoul(row->what + 8, NULL, 10);
		assert_true(k < bytes.n_blocks);
		end = k + 1 < bytes.n_blocks ? bytes.starts[k + 1] : bytes.len;
		bytes.len = end - bytes.starts[k];
		memmove(bytes.data, bytes.data + bytes.starts[k], bytes.len);
	}
	return answer_of(v, &bytes, why);
}

static void check_bare_row(const char *dir, const struct manifest_row *row)
{
	size_t len;
	uint8_t *file = manifest_file(dir, row->path, &len);
	struct answer a = bare_answer(row, file, len);
	struct answer b = bare_oracle_answer(row, file, len);

	free(file);
	if (strcmp(row->what, "corrupt") != 0) {
		check_answer(row, "library", &a);
		check_answer(row, "oracle", &b);
	} else if (strstr(row->notes, "expect=error") &&
		   (a.err == BFS_OK || b.err == BFS_OK)) {
		fail_msg("%s: no error", row->path);
	}
	release_answer(&a);
	release_answer(&b);
}

static void both_decoders_give_what_the_manifest_says(void **state)
{
	(void)state;
	for (size_t m = 0; m < n_manifests; m++) {
		struct pair pair = { .path = "" };
		size_t n_checked = 0;

		for (size_t i = 0; i < manifests[m].n_rows; i++) {
			const struct manifest_row *row = &manifests[m].rows[i];

			if (!is_ours(row))
				continue;
			n_checked++;
			if (is_bare(row)) {
				check_bare_row(manifests[m].dir, row);
				continue;
			}
			if (strcmp(row->path, pair.path) != 0) {
				close_pair(&pair);
				open_pair(manifests[m].dir, row->path, &pair);
			}
			check_frame_row(&pair, row);
		}
		close_pair(&pair);
		assert_true(n_checked > 100);
	}
}

/* ---- the samples themselves ---- */

static bool is_sample(const char *name)
{
	return !strncmp(name, "good-", 5) || !strncmp(name, "bad-", 4) ||
	       !strncmp(name, "unsupported-", 12);
}

static void every_sample_is_listed(void **state)
{
	const struct manifest *m = &manifests[0];
	size_t len, n = 0;
	uint8_t *raw = manifest_file(TEST_DATA_DIR, "README.md", &len);
	char *readme = decode_alloc(len + 1);
	DIR *dir = opendir(TEST_DATA_DIR);
	struct dirent *entry;

	(void)state;
	memcpy(readme, raw, len);
	readme[len] = '\0';
	free(raw);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		bool listed = strcmp(m->dir, TEST_DATA_DIR) != 0;

		if (!is_sample(entry->d_name))
			continue;
		n++;
		for (size_t i = 0; i < m->n_rows; i++)
			listed |= !strcmp(m->rows[i].path, entry->d_name);
		if (!listed || !strstr(readme, entry->d_name))
			fail_msg("%s is not listed", entry->d_name);
	}
	assert_true(n >= 40);
	closedir(dir);
	free(readme);
}

static void add_directory(const char *dir)
{
	if (dir && *dir && n_manifests < BFS_ARRAY_LEN(manifests))
		manifest_load(dir, &manifests[n_manifests++]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sample_is_listed),
		cmocka_unit_test(both_decoders_agree_on_every_file),
		cmocka_unit_test(both_decoders_give_what_the_manifest_says),
	};
	const char *data = getenv("BLOSCFS_TEST_DATA");
	int failed;

	for (int i = 1; i < argc; i++)
		add_directory(argv[i]);
	if (argc < 2)
		add_directory(data && *data ? data : TEST_DATA_DIR);
	add_directory(getenv("BLOSCFS_CORPUS"));
	failed = cmocka_run_group_tests_name("oracle", tests, NULL, NULL);
	while (n_manifests > 0)
		manifest_release(&manifests[--n_manifests]);
	return failed;
}
