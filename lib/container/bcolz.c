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
#include "container/metajson.h"
#include "container/openfiles.h"

#include "bytes.h"
#include "dtype.h"
#include "mem.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define HEADER 16
#define MAX_JSON (256 << 10)
#define MAX_CHUNKS (UINT64_C(1) << 26)

struct column {
	struct bfs_openfiles files;
	int datafd;
};

static int open_below(int dirfd, const char *name)
{
	return openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
				   O_CLOEXEC);
}

static bool probe_dir(int dirfd)
{
	struct bfs_source *source;
	int meta = open_below(dirfd, "meta"), data;
	bool found;

	if (meta < 0)
		return false;
	found = bfs_source_member(meta, "storage", &source, NULL) == BFS_OK;
	if (found)
		bfs_source_unref(source);
	close(meta);
	data = found ? open_below(dirfd, "data") : -1;
	if (data >= 0)
		close(data);
	return data >= 0;
}

/* One JSON file of meta/, as a metalayer and as a tree. */
static enum bfs_err read_json(struct bfs_frame *f, int metafd,
			      const char *name, struct json_object **ret_root,
			      struct bfs_diag *why)
{
	BFS_CLEANUP(bfs_freep) char *text = NULL;
	struct bfs_source *source;
	size_t len;

	BFS_TRY(bfs_source_member(metafd, name, &source, why));
	len = (size_t)bfs_min(MAX_JSON, bfs_source_len(source));
	if (bfs_frame_add_meta(&f->metas, &f->n_metas, name, strlen(name), 0,
			       len, false)) {
		bfs_source_unref(source);
		return bfs_fail(why, BFS_ERR_NOMEM, 0, "no memory");
	}
	f->metas[f->n_metas - 1].source = source;
	f->metas[f->n_metas - 1].is_json = true;
	if (!f->source)
		f->source = bfs_source_ref(source);
	text = bfs_zalloc(1, len + 1);
	if (!text)
		return bfs_fail(why, BFS_ERR_NOMEM, 0, "no memory");
	BFS_TRY(bfs_source_read(source, 0, text, len, why));
	*ret_root = json_tokener_parse(text);
	if (!json_object_is_type(*ret_root, json_type_object)) {
		json_object_put(*ret_root);
		*ret_root = NULL;
		return bfs_fail(why, BFS_ERR_CORRUPT, 0,
				"meta/%s is no JSON object", name);
	}
	return BFS_OK;
}

/* bcolz writes the names that NumPy prints. */
static const char *spell_dtype(const char *name)
{
	static const char *const names[][2] = {
		{ "bool", "|b1" }, { "int8", "|i1" }, { "int16", "<i2" },
		{ "int32", "<i4" }, { "int64", "<i8" }, { "uint8", "|u1" },
		{ "uint16", "<u2" }, { "uint32", "<u4" }, { "uint64", "<u8" },
		{ "float16", "<f2" }, { "float32", "<f4" },
		{ "float64", "<f8" }, { "float128", "<f16" },
		{ "complex64", "<c8" }, { "complex128", "<c16" },
	};
	size_t i;

	for (i = 0; i < BFS_ARRAY_LEN(names); i++)
		if (!strcmp(names[i][0], name))
			return names[i][1];
	return name;
}

static int64_t take_int(struct json_object *root, const char *key)
{
	struct json_object *v;

	if (!json_object_object_get_ex(root, key, &v) ||
	    !json_object_is_type(v, json_type_int))
		return -1;
	return json_object_get_int64(v);
}

/* Shape and dtype as the side files tell them. */
static enum bfs_err take_array(struct bfs_frame *f, struct json_object *sizes,
			       struct json_object *storage,
			       struct bfs_diag *why)
{
	struct bfs_array_meta a = { .linear = true };
	struct json_object *shape, *dtype;
	const char *text;

	if (!json_object_object_get_ex(sizes, "shape", &shape) ||
	    !bfs_meta_shape(shape, &a) || a.ndim == 0 ||
	    !json_object_object_get_ex(storage, "dtype", &dtype) ||
	    !json_object_is_type(dtype, json_type_string))
		return bfs_fail(why, BFS_ERR_CORRUPT, 0,
				"meta/ does not tell shape and dtype");
	text = spell_dtype(json_object_get_string(dtype));
	a.dtype_len = strlen(text);
	a.dtype = bfs_memdup0(text, a.dtype_len);
	if (!a.dtype)
		return bfs_fail(why, BFS_ERR_NOMEM, 0, "no memory");
	f->array = a;
	return BFS_OK;
}

/* Sizes of rows and chunks, all in checked arithmetic. */
static enum bfs_err size_column(struct bfs_frame *f, int64_t chunklen,
				struct bfs_diag *why)
{
	const struct bfs_array_meta *a = &f->array;
	struct bfs_dtype dtype;
	uint64_t row, total, chunk, i;
	unsigned d;

	BFS_TRY(bfs_dtype_parse(a->dtype, a->dtype_len, &dtype, why));
	row = dtype.itemsize;
	bfs_dtype_release(&dtype);
	for (d = 1; d < a->ndim; d++)
		if (!bfs_mul(row, (uint64_t)a->shape[d], &row))
			row = 0;
	if (row == 0 || chunklen <= 0 ||
	    !bfs_mul(row, (uint64_t)a->shape[0], &total) ||
	    total > INT64_MAX || !bfs_mul(row, (uint64_t)chunklen, &chunk) ||
	    chunk > BFS_CHUNK_MAX_NBYTES ||
	    bfs_div_up(total, chunk) > MAX_CHUNKS)
		return bfs_fail(why, BFS_ERR_CORRUPT, 0,
				"chunks of %" PRId64 " rows of %" PRIu64
				" bytes", chunklen, row);
	f->n_chunks = bfs_div_up(total, chunk);
	f->starts = bfs_alloc((size_t)(f->n_chunks + 1) * sizeof(*f->starts));
	if (!f->starts)
		return bfs_fail(why, BFS_ERR_NOMEM, 0, "no memory");
	for (i = 0; i < f->n_chunks; i++)
		f->starts[i] = i * chunk;
	f->starts[i] = total;
	f->nbytes = total;
	f->nbytes_known = true;
	return BFS_OK;
}

static enum bfs_err open_meta(struct bfs_frame *f, int metafd,
			      struct bfs_diag *why)
{
	struct json_object *sizes = NULL, *storage = NULL;
	enum bfs_err err;

	err = read_json(f, metafd, "sizes", &sizes, why);
	if (err == BFS_OK)
		err = read_json(f, metafd, "storage", &storage, why);
	if (err == BFS_OK)
		err = take_array(f, sizes, storage, why);
	if (err == BFS_OK)
		err = size_column(f, take_int(storage, "chunklen"), why);
	if (err == BFS_OK)
		bfs_meta_check_linear(f);
	if (sizes)
		json_object_put(sizes);
	if (storage)
		json_object_put(storage);
	return err;
}

static enum bfs_err open_column(struct bfs_frame *f, const char *name,
				struct bfs_diag *diag)
{
	struct column *c = bfs_zalloc(1, sizeof(*c));
	struct bfs_diag why;
	enum bfs_err err;
	int metafd;

	(void)name;
	if (!c)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	bfs_openfiles_init(&c->files);
	c->datafd = open_below(f->dirfd, "data");
	f->priv = c;
	metafd = open_below(f->dirfd, "meta");
	if (c->datafd < 0 || metafd < 0) {
		if (metafd >= 0)
			close(metafd);
		return bfs_fail(diag, BFS_ERR_CHANGED, 0,
				"the column is no longer there");
	}
	err = open_meta(f, metafd, &why);
	/* Whatever is wrong with them, the source is one of the side files. */
	if (!f->source && bfs_source_member(metafd, "storage", &f->source,
					    diag) != BFS_OK)
		err = BFS_ERR_NOMEM;
	close(metafd);
	if (err == BFS_ERR_NOMEM)
		return bfs_fail(diag, err, 0, "meta/ cannot be read");
	if (err != BFS_OK)
		bfs_frame_blame(f, &why);
	return BFS_OK;
}

static enum bfs_err span(struct bfs_frame *f, uint64_t n,
			 struct bfs_span *ret_span, struct bfs_diag *diag)
{
	(void)f;
	(void)diag;
	*ret_span = (struct bfs_span){ .special = BFS_CHUNK_BLOCKS, .file = n,
				       .off = HEADER, .avail = UINT64_MAX,
				       .nbytes = UINT32_MAX };
	return BFS_OK;
}

static enum bfs_err source(struct bfs_frame *f, const struct bfs_span *span_,
			   struct bfs_source **ret_source,
			   struct bfs_diag *diag)
{
	struct column *c = f->priv;
	char name[32];

	snprintf(name, sizeof(name), "__%" PRIu64 ".blp", span_->file);
	return bfs_openfiles_get(&c->files, c->datafd, span_->file, name,
				 ret_source, diag);
}

static void close_column(struct bfs_frame *f)
{
	struct column *c = f->priv;

	if (!c)
		return;
	bfs_openfiles_release(&c->files);
	if (c->datafd >= 0)
		close(c->datafd);
	bfs_free(c);
}

const struct bfs_container bfs_container_bcolz = {
	.name = "bcolz",
	.probe_dir = probe_dir,
	.index_name = "meta/sizes",
	.open = open_column,
	.span = span,
	.source = source,
	.close = close_column,
};
