/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bcolz.c - a column of bcolz 1.x: a directory with data/__N.blp, one chunk
 * in each behind a Bloscpack header of 16 bytes, and JSON files in meta/ that
 * tell shape, dtype and items per chunk.
 *
 * Files are opened relative to the directory, never through symlinks. See
 * docs/formats/bcolz.md.
 */
#include "container/container.h"
#include "container/chunkfiles.h"
#include "container/metajson.h"
#include "container/openfiles.h"

#include "base/bytes.h"
#include "text/dtype.h"
#include "base/mem.h"
#include "base/moment.h"
#include "source/dir.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define HEADER 16
#define MAX_JSON (256 << 10)
#define MAX_CHUNKS (UINT64_C(1) << 26)
#define MAX_COUNTED 4096	/* chunk files whose sizes are asked for */
#define CHUNK_NAME "__%" PRIu64 ".blp"
#define ATTRS "__attrs__"

struct column {
	struct bfs_openfiles files;
	struct bfs_dir *data, *meta;	/* or NULL */
};

static bool probe_dir(struct bfs_dir *dir)
{
	struct bfs_dir *meta = bfs_dir_below(dir, "meta"), *data = NULL;
	struct bfs_source *source;

	if (meta && bfs_dir_file(meta, "storage", NULL, &source, NULL) ==
			    BFS_OK) {
		bfs_source_unref(source);
		data = bfs_dir_below(dir, "data");
	}
	bfs_dir_unref(meta);
	bfs_dir_unref(data);
	return data != NULL;
}

/* A file of the column as a metalayer; *ret_source is borrowed. */
static enum bfs_err add_file(struct bfs_container *f, struct bfs_dir *dir,
			     const char *name, struct bfs_source **ret_source,
			     struct bfs_diag *why)
{
	struct bfs_source *source;

	BFS_TRY(bfs_dir_file(dir, name, &f->guard, &source, why));
	if (bfs_container_add_meta(&f->metas, &f->n_metas, name, strlen(name),
				   0, bfs_source_len(source), false)) {
		bfs_source_unref(source);
		return bfs_fail(why, BFS_ERR_NOMEM, 0, "no memory");
	}
	f->metas[f->n_metas - 1].source = source;
	f->metas[f->n_metas - 1].is_json = true;
	f->cbytes += bfs_source_len(source);
	*ret_source = source;
	return BFS_OK;
}

/* One JSON file of meta/, as a metalayer and as a tree. */
static enum bfs_err read_json(struct bfs_container *f, struct bfs_dir *meta,
			      const char *name,
			      struct bfs_document **ret_document,
			      struct bfs_diag *why)
{
	BFS_CLEANUP(bfs_freep) char *text = NULL;
	struct bfs_document *doc;
	struct bfs_source *source;
	size_t len;

	BFS_TRY(add_file(f, meta, name, &source, why));
	if (!f->source)
		f->source = bfs_source_ref(source);
	if (bfs_source_len(source) > MAX_JSON)
		return bfs_fail(why, BFS_ERR_CORRUPT, MAX_JSON,
				"meta/%s is too long", name);
	len = (size_t)bfs_source_len(source);
	text = bfs_zalloc(1, len + 1);
	if (!text)
		return bfs_fail(why, BFS_ERR_NOMEM, 0, "no memory");
	BFS_TRY(bfs_source_read(source, 0, text, len, why));
	BFS_TRY(bfs_json_read(text, len, &doc, why));
	if (!bfs_value_is(bfs_document_root(doc), BFS_VALUE_OBJECT)) {
		bfs_document_free(doc);
		return bfs_fail(why, BFS_ERR_CORRUPT, 0,
				"meta/%s is no JSON object", name);
	}
	*ret_document = doc;
	return BFS_OK;
}

/* What the user noted; may be missing. */
static enum bfs_err add_attrs(struct bfs_container *f, struct bfs_diag *diag)
{
	struct bfs_source *source;
	uint64_t len;

	if (!bfs_dir_has(f->dir, ATTRS, &len))
		return BFS_OK;
	return add_file(f, f->dir, ATTRS, &source, diag);
}

static int64_t take_int(const struct bfs_document *doc, const char *key)
{
	const struct bfs_value *v = bfs_value_get(bfs_document_root(doc), key);

	return bfs_value_is(v, BFS_VALUE_INT) ? v->i : -1;
}

/* Shape and dtype as the side files tell them. */
static enum bfs_err take_array(struct bfs_container *f,
			       const struct bfs_document *sizes,
			       const struct bfs_document *storage,
			       struct bfs_diag *why)
{
	struct bfs_array_meta a = { .linear = true };
	const struct bfs_value *shape, *dtype;
	const char *text;

	shape = bfs_value_get(bfs_document_root(sizes), "shape");
	dtype = bfs_value_get(bfs_document_root(storage), "dtype");
	if (!bfs_meta_shape(shape, &a) || a.ndim == 0 ||
	    !bfs_value_is(dtype, BFS_VALUE_STRING))
		return bfs_fail(why, BFS_ERR_CORRUPT, 0,
				"meta/ does not tell shape and dtype");
	text = dtype->s.text;
	a.dtype_len = strlen(text);
	a.dtype = bfs_memdup0(text, a.dtype_len);
	if (!a.dtype)
		return bfs_fail(why, BFS_ERR_NOMEM, 0, "no memory");
	f->array = a;
	return BFS_OK;
}

/* How many bytes a row has: by its dtype, and where that is unknown, by what
 * all rows have. */
static enum bfs_err size_row(const struct bfs_array_meta *a, int64_t nbytes,
			     uint64_t *ret_row, struct bfs_diag *why)
{
	struct bfs_dtype dtype;
	uint64_t row, total;
	enum bfs_err err;
	unsigned d;

	err = bfs_dtype_parse(a->dtype, a->dtype_len, &dtype, why);
	if (err == BFS_ERR_NOMEM)
		return err;
	if (err != BFS_OK) {
		if (a->shape[0] == 0 || nbytes <= 0 || nbytes % a->shape[0])
			return err;
		*ret_row = (uint64_t)(nbytes / a->shape[0]);
		return BFS_OK;
	}
	row = dtype.itemsize;
	bfs_dtype_release(&dtype);
	for (d = 1; d < a->ndim; d++)
		if (!bfs_mul(row, (uint64_t)a->shape[d], &row))
			row = 0;
	if (row == 0 || !bfs_mul(row, (uint64_t)a->shape[0], &total) ||
	    total > INT64_MAX)
		return bfs_fail(why, BFS_ERR_CORRUPT, 0,
				"%" PRId64 " rows of %" PRIu64 " bytes",
				a->shape[0], row);
	if (nbytes >= 0 && (uint64_t)nbytes != total)
		return bfs_fail(why, BFS_ERR_CORRUPT, 0,
				"meta/sizes says %" PRId64 " bytes where the "
				"shape has %" PRIu64, nbytes, total);
	*ret_row = row;
	return BFS_OK;
}

/* The number of chunks; each chunk tells its own length. */
static enum bfs_err count_chunks(struct bfs_container *f, int64_t chunklen,
				 struct bfs_diag *why)
{
	uint64_t n_rows = (uint64_t)f->array.shape[0];

	if (chunklen <= 0 ||
	    bfs_div_up(n_rows, (uint64_t)chunklen) > MAX_CHUNKS)
		return bfs_fail(why, BFS_ERR_CORRUPT, 0,
				"%" PRIu64 " rows, %" PRId64 " in a chunk",
				n_rows, chunklen);
	f->n_chunks = bfs_div_up(n_rows, (uint64_t)chunklen);
	return BFS_OK;
}

static enum bfs_err size_column(struct bfs_container *f, int64_t nbytes,
				int64_t chunklen, struct bfs_diag *why)
{
	uint64_t row = 0, chunk;
	bool has_object;
	enum bfs_err err;

	BFS_TRY(count_chunks(f, chunklen, why));
	/* Each chunk is a pickle then, of any length. */
	if (bfs_dtype_has_object(f->array.dtype, f->array.dtype_len,
				 &has_object))
		return bfs_fail(why, BFS_ERR_NOMEM, 0, "no memory");
	if (has_object)
		return bfs_fail(why, BFS_ERR_UNSUPPORTED, 0,
				"a column of Python objects, one pickle in "
				"each chunk");
	err = size_row(&f->array, nbytes, &row, why);
	if (err != BFS_OK && (err != BFS_ERR_UNSUPPORTED || f->n_chunks > 0))
		return err;
	if (!bfs_mul(row, (uint64_t)chunklen, &chunk) ||
	    chunk > BFS_CHUNK_MAX_NBYTES)
		return bfs_fail(why, BFS_ERR_CORRUPT, 0,
				"chunks of %" PRId64 " rows of %" PRIu64
				" bytes", chunklen, row);
	f->chunksize = (int64_t)chunk;
	f->nbytes = row * (uint64_t)f->array.shape[0];
	f->nbytes_known = true;
	return BFS_OK;
}

/* What the chunk files take; of very many, what bcolz last noted. */
static void count_stored(struct bfs_container *f, struct bfs_dir *data,
			 int64_t claimed)
{
	uint64_t i, len;
	char name[32];

	if (f->n_chunks > MAX_COUNTED) {
		f->cbytes += claimed > 0 ? (uint64_t)claimed : 0;
		return;
	}
	for (i = 0; i < f->n_chunks; i++) {
		snprintf(name, sizeof(name), CHUNK_NAME, i);
		if (bfs_dir_has(data, name, &len))
			f->cbytes += len;
	}
}

static enum bfs_err open_meta(struct bfs_container *f, struct bfs_diag *diag)
{
	const struct column *c = f->priv;
	struct bfs_document *sizes = NULL, *storage = NULL;
	struct bfs_diag why;
	enum bfs_err err;

	f->cbytes = 0;
	err = read_json(f, c->meta, "sizes", &sizes, &why);
	err = bfs_container_settle(f, err, &why, diag);
	if (err == BFS_OK) {
		err = read_json(f, c->meta, "storage", &storage, &why);
		err = bfs_container_settle(f, err, &why, diag);
	}
	if (err == BFS_OK && sizes && storage) {
		err = take_array(f, sizes, storage, &why);
		if (err == BFS_OK)
			err = size_column(f, take_int(sizes, "nbytes"),
					  take_int(storage, "chunklen"),
					  &why);
		err = bfs_container_settle(f, err, &why, diag);
		count_stored(f, c->data, take_int(sizes, "cbytes"));
		bfs_meta_check_linear(f);
	}
	bfs_document_free(sizes);
	bfs_document_free(storage);
	return err;
}

static enum bfs_err open_column(struct bfs_container *f, const char *name,
				struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	struct column *c = bfs_zalloc(1, sizeof(*c));
	enum bfs_err err;

	(void)name;
	if (!c)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	bfs_openfiles_init(&c->files, &f->guard);
	f->priv = c;
	c->data = bfs_dir_below(f->dir, "data");
	c->meta = bfs_dir_below(f->dir, "meta");
	if (!c->data || !c->meta)
		return bfs_container_gone(mark, "the column is", diag);
	err = open_meta(f, diag);
	/* A container has a source, whatever is wrong with its files. */
	if (err == BFS_OK && !f->source)
		err = bfs_dir_file(c->meta, "storage", &f->guard,
				   &f->source, diag);
	return err == BFS_OK ? add_attrs(f, diag) : err;
}

static enum bfs_err span(struct bfs_container *f, uint64_t n,
			 struct bfs_span *ret_span, struct bfs_diag *diag)
{
	struct bfs_span s = { .special = BFS_CHUNK_BLOCKS, .file = n,
			      .off = HEADER, .avail = UINT64_MAX,
			      .nbytes = UINT32_MAX };

	(void)diag;
	if (f->chunksize > 0)
		s.nbytes = (uint32_t)bfs_min(
			(uint64_t)f->chunksize,
			f->nbytes - n * (uint64_t)f->chunksize);
	*ret_span = s;
	return BFS_OK;
}

static enum bfs_err source(struct bfs_container *f,
			   const struct bfs_span *span_,
			   struct bfs_source **ret_source,
			   struct bfs_diag *diag)
{
	struct column *c = f->priv;
	char name[32];

	snprintf(name, sizeof(name), CHUNK_NAME, span_->file);
	return bfs_openfiles_get(&c->files, c->data, span_->file, name,
				 ret_source, diag);
}

/* ---- how it is laid out ---------------------------------------------- */

/* A column without rows has one chunk file all the same. */
static bool is_named(const void *arg, const char *name)
{
	uint64_t n_files = bfs_max(*(const uint64_t *)arg, 1), number;
	char own[32];

	if (strncmp(name, "__", 2) != 0)
		return false;
	number = strtoull(name + 2, NULL, 10);
	snprintf(own, sizeof(own), CHUNK_NAME, number);
	return number < n_files && !strcmp(name, own);
}

/* One chunk, of a size that the header need not tell, at any place. */
static void look_at_header(const struct bfs_examiner *x, uint64_t chunk,
			   const uint8_t *head, size_t len)
{
	if (len < HEADER || memcmp(head, "blpk\1", 5) != 0)
		bfs_examine_tell(x, false, 0, (int64_t)chunk, "what comes "
				 "before it is no Bloscpack header of version "
				 "1");
	else if (bfs_le64(head + 8) != 1)
		bfs_examine_tell(x, false, 8, (int64_t)chunk, "the header "
				 "before it says %" PRIu64 " chunks where one "
				 "is", bfs_le64(head + 8));
}

static enum bfs_err examine(struct bfs_container *f,
			    const struct bfs_examiner *x,
			    struct bfs_diag *diag)
{
	const struct column *c = f->priv;
	const struct bfs_chunkfiles files = { c->data, is_named, &f->n_chunks,
					      look_at_header };

	/* Without its number of chunks all files would be too many. */
	if (!f->nbytes_known)
		return BFS_OK;
	return bfs_chunkfiles_examine(f, &files, x, diag);
}

/* ---- its life --------------------------------------------------------- */

static void rest(struct bfs_container *f)
{
	struct column *c = f->priv;

	if (c)
		bfs_openfiles_rest(&c->files);
}

static void close_column(struct bfs_container *f)
{
	struct column *c = f->priv;

	if (!c)
		return;
	bfs_openfiles_release(&c->files);
	bfs_dir_unref(c->data);
	bfs_dir_unref(c->meta);
	bfs_free(c);
}

static const struct bfs_dir_part parts[] = {
	{ "", ATTRS }, { "meta", "" }, { "data", ".blp" }, { NULL, NULL },
};

const struct bfs_format bfs_container_bcolz = {
	.name = "bcolz",
	.probe_dir = probe_dir,
	.index_name = "meta/sizes",
	.index_else = "meta/storage",
	.parts = parts,
	.open = open_column,
	.span = span,
	.source = source,
	.examine = examine,
	.rest = rest,
	.close = close_column,
};
