/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * meta.c - the metadata section of Bloscpack 3: checksum, zlib,
 * JSON, and what the JSON says of a NumPy array.
 *
 * See docs/formats/bloscpack.md, metadata.
 */
#include "container/bloscpack/meta.h"

#include "base/bytes.h"
#include "codec/codec.h"
#include "container/metajson.h"
#include "base/mem.h"

#include <inttypes.h>

#define SECTION 32
#define MAX_META (UINT32_C(16) << 20)
#define MAX_JSON (UINT32_C(256) << 10)	/* that is taken apart */

/* The numbers of the section's own header. */
struct section {
	enum bfs_digest_kind digest;
	unsigned codec;
	uint32_t size, max, stored;
};

static enum bfs_err parse_section(const uint8_t *p, struct section *s,
				  struct bfs_diag *diag)
{
	if (p[9] >= BFS_N_DIGESTS)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 9,
				"checksum %u of the metadata is unknown", p[9]);
	s->digest = (enum bfs_digest_kind)p[9];
	s->codec = p[10];
	s->size = bfs_le32(p + 12);
	s->max = bfs_le32(p + 16);
	s->stored = bfs_le32(p + 20);
	if (s->stored > s->max)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 20,
				"%" PRIu32 " bytes of metadata in room for %"
				PRIu32, s->stored, s->max);
	return BFS_OK;
}

static enum bfs_err check_digest(struct bfs_container *f, uint64_t at,
				 const struct section *s, const uint8_t *buf,
				 struct bfs_diag *why)
{
	uint8_t want[BFS_DIGEST_MAX], have[BFS_DIGEST_MAX];
	size_t len = bfs_digest_len(s->digest);
	struct bfs_digest d;

	BFS_TRY(bfs_source_read(f->source, at + SECTION + s->max, want, len,
				why));
	BFS_TRY(bfs_digest_init(&d, s->digest));
	bfs_digest_add(&d, buf, s->stored);
	BFS_TRY(bfs_digest_finish(&d, have));
	if (memcmp(want, have, len))
		return bfs_fail(why, BFS_ERR_CORRUPT, at + SECTION,
				"the metadata does not match its %s",
				bfs_digest_name(s->digest));
	return BFS_OK;
}

/* Gives the content, decompressed; the caller frees it. */
static enum bfs_err unpack(const struct section *s, uint8_t **buf,
			   struct bfs_diag *why)
{
	static const struct bfs_codec_env none;
	struct bfs_codec_states *states;
	struct bfs_codec_job job = { .src = *buf, .src_len = s->stored,
				     .dst_len = s->size, .env = &none };
	enum bfs_err err = BFS_ERR_NOMEM;
	uint8_t *out;

	if (s->codec == 0)
		return s->size == s->stored ? BFS_OK :
			bfs_fail(why, BFS_ERR_CORRUPT, 12,
				 "metadata of %" PRIu32 " bytes is stored in %"
				 PRIu32, s->size, s->stored);
	if (s->codec != 1)
		return bfs_fail(why, BFS_ERR_UNSUPPORTED, 10,
				"codec %u of the metadata is unknown",
				s->codec);
	out = bfs_alloc(s->size);
	states = bfs_codec_states_new();
	job.dst = out;
	if (out && states)
		err = bfs_codec_decode(bfs_codec_find(3, 0), &job, states);
	bfs_codec_states_free(states);
	if (err != BFS_OK) {
		bfs_free(out);
		return bfs_fail(why, err, SECTION,
				"the metadata does not decompress");
	}
	bfs_free(*buf);
	*buf = out;
	return BFS_OK;
}

static enum bfs_err read_content(struct bfs_container *f, uint64_t at,
				 const struct section *s, uint8_t **ret_buf,
				 struct bfs_diag *why)
{
	uint8_t *buf;
	enum bfs_err err;

	if (s->size > MAX_META || s->stored > MAX_META)
		return bfs_fail(why, BFS_ERR_LIMIT, at + 12,
				"%" PRIu32 " bytes of metadata", s->size);
	buf = bfs_alloc(s->stored);
	if (!buf)
		return bfs_fail(why, BFS_ERR_NOMEM, 0, "no memory");
	err = bfs_source_read(f->source, at + SECTION, buf, s->stored, why);
	if (err == BFS_OK)
		err = check_digest(f, at, s, buf, why);
	if (err == BFS_OK)
		err = unpack(s, &buf, why);
	if (err != BFS_OK) {
		bfs_free(buf);
		return err;
	}
	*ret_buf = buf;
	return BFS_OK;
}

/* A dtype is a Python literal in a string, or (before 0.7.2) JSON itself. */
static bool take_dtype(const struct bfs_value *v, struct bfs_array_meta *a)
{
	BFS_CLEANUP(bfs_freep) char *own = NULL;
	const char *text;
	size_t len;

	if (v->kind == BFS_VALUE_STRING) {
		text = v->s.text;
		len = strlen(text);
	} else {
		text = own = bfs_value_compact(v, &len);
		if (!own)
			return false;
	}
	/* The literal of a plain dtype is in quotes of its own. */
	if (len >= 2 && (text[0] == '\'' || text[0] == '"') &&
	    text[len - 1] == text[0] && !memchr(text + 1, text[0], len - 2)) {
		text++;
		len -= 2;
	}
	a->dtype_len = len;
	a->dtype = bfs_memdup0(text, len);
	return a->dtype;
}

static bool is_text(const struct bfs_value *v, const char *text)
{
	return bfs_value_is(v, BFS_VALUE_STRING) && !strcmp(v->s.text, text);
}

static void read_array(struct bfs_container *f, const struct bfs_value *root)
{
	const struct bfs_value *dtype = bfs_value_get(root, "dtype");
	const struct bfs_value *order = bfs_value_get(root, "order");
	struct bfs_array_meta a = { .linear = true };

	if (!dtype || !is_text(bfs_value_get(root, "container"), "numpy") ||
	    !bfs_meta_shape(bfs_value_get(root, "shape"), &a) ||
	    (!is_text(order, "C") && !is_text(order, "F")) ||
	    !take_dtype(dtype, &a))
		return;
	a.fortran = is_text(order, "F");
	a.present = true;
	f->array = a;
}

/* A longer text describes no array. */
static void parse_json(struct bfs_container *f, const uint8_t *buf,
		       uint32_t len)
{
	struct bfs_document *doc;

	if (len > MAX_JSON || bfs_json_read(buf, len, &doc, NULL) != BFS_OK)
		return;
	read_array(f, bfs_document_root(doc));
	bfs_document_free(doc);
}

static enum bfs_err add_content(struct bfs_container *f, uint8_t *buf,
				uint32_t len, bool is_json,
				struct bfs_diag *diag)
{
	struct bfs_source *source;
	enum bfs_err err = bfs_source_memory(buf, len, true, &source, diag);

	if (err != BFS_OK) {
		bfs_free(buf);
		return err;
	}
	if (bfs_container_add_meta(&f->metas, &f->n_metas, "metadata", 8, 0,
				   len, false)) {
		bfs_source_unref(source);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	}
	f->metas[f->n_metas - 1].source = source;
	f->metas[f->n_metas - 1].is_json = is_json;
	return BFS_OK;
}

enum bfs_err bfs_bloscpack_meta(struct bfs_container *f, uint64_t at,
				uint64_t *ret_end, struct bfs_diag *diag)
{
	uint8_t head[SECTION], *buf;
	struct section s;
	struct bfs_diag why;
	enum bfs_err err;
	bool is_json;

	BFS_TRY(bfs_source_read(f->source, at, head, SECTION, diag));
	BFS_TRY(bfs_diag_shift(diag, parse_section(head, &s, diag), at));
	*ret_end = at + SECTION + s.max + bfs_digest_len(s.digest);
	if (*ret_end > bfs_source_len(f->source))
		return bfs_fail(diag, BFS_ERR_TRUNCATED, at + 16,
				"the metadata ends beyond the file");
	err = read_content(f, at, &s, &buf, &why);
	if (err == BFS_ERR_NOMEM)
		return bfs_fail(diag, err, 0, "no memory");
	if (err != BFS_OK) {
		bfs_container_blame(f, &why);
		return BFS_OK;
	}
	is_json = !memcmp(head, "JSON\0\0\0\0", 8);
	if (is_json)
		parse_json(f, buf, s.size);
	return add_content(f, buf, s.size, is_json, diag);
}
