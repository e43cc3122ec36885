/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kind.c - kinds are told by well-known metalayers (docs/formats/msgpack.md). A
 * recipe is one only if, besides, no chunk holds data; of a proxy the chunks
 * that were fetched are counted.
 */
#include "container/kind.h"

#include "base/bytes.h"
#include "container/container.h"
#include "container/metajson.h"

#include <inttypes.h>

/* So many chunks are looked at; those behind them count as never written. */
#define MAX_COUNTED (UINT64_C(1) << 20)
/* Of so many stored chunks the header is read, which may say that the chunk has
 * no data; those behind them count as written. */
#define MAX_PEEKED (UINT64_C(1) << 16)

static bool has_meta(const struct bfs_container *f, const char *name)
{
	return bfs_meta_find(f->metas, f->n_metas, name) != NULL;
}

static bool has_vlmeta(const struct bfs_container *f, const char *name)
{
	return bfs_meta_find(f->vlmetas, f->n_vlmetas, name) != NULL;
}

/* Whether chunk n was ever written. Damage counts as written. */
static enum bfs_err is_written(struct bfs_container *f, uint64_t n,
			       bool *ret_is, struct bfs_diag *diag)
{
	struct bfs_chunk_head head;
	struct bfs_span span;
	enum bfs_err err = bfs_container_span(f, n, &span, diag);

	*ret_is = true;
	if (err == BFS_OK && span.special != BFS_CHUNK_BLOCKS) {
		*ret_is = !bfs_kind_is_blank(span.special);
		return BFS_OK;
	}
	if (err == BFS_OK && n < MAX_PEEKED) {
		err = bfs_container_peek(f, &span, &head, diag);
		if (err == BFS_OK)
			*ret_is = head.kind != BFS_CHUNK_UNINIT;
	}
	return bfs_err_passes(err) ? err : BFS_OK;
}

static enum bfs_err is_recipe(struct bfs_container *f, bool *ret_is,
			      struct bfs_diag *diag)
{
	uint64_t n, n_scan = bfs_min(f->n_chunks, MAX_COUNTED);
	bool written = false;

	for (n = 0; n < n_scan && !written; n++)
		BFS_TRY(is_written(f, n, &written, diag));
	*ret_is = n_scan > 0 && !written;
	return BFS_OK;
}

/* Where single blocks were fetched, a bitmap in base64 tells which; unless all
 * of its bits are set ('/' is 63) we cannot tell what a chunk holds. */
static enum bfs_err blocks_are_whole(struct bfs_container *f, bool *ret_are,
				     struct bfs_diag *diag)
{
	const struct bfs_meta *m = bfs_meta_find(f->vlmetas, f->n_vlmetas,
						 "proxy-fetched-blocks");
	struct bfs_document *doc;
	const struct bfs_value *text;
	const char *digits;
	enum bfs_err err;

	*ret_are = !m;
	if (!m)
		return BFS_OK;
	err = bfs_meta_decode(f, m, &doc, diag);
	if (err != BFS_OK)
		return bfs_err_passes(err) ? err : BFS_OK;
	text = bfs_value_get(bfs_document_root(doc), "base64");
	if (bfs_value_is(text, BFS_VALUE_STRING)) {
		digits = text->s.text;
		*ret_are = *digits && digits[strspn(digits, "/")] == '\0';
	}
	bfs_document_free(doc);
	return BFS_OK;
}

static enum bfs_err count_fetched(struct bfs_container *f,
				  struct bfs_diag *diag)
{
	uint64_t n, n_scan = bfs_min(f->n_chunks, MAX_COUNTED);
	bool written, whole;

	BFS_TRY(blocks_are_whole(f, &whole, diag));
	for (n = 0; n < n_scan; n++) {
		BFS_TRY(is_written(f, n, &written, diag));
		f->n_fetched += written;
	}
	f->no_blank = true;
	f->no_blocks = !whole;
	return BFS_OK;
}

enum bfs_err bfs_kind_check(const struct bfs_container *f,
			    struct bfs_diag *diag)
{
	if (f->kind != BFS_KIND_PROXY ||
	    (f->n_fetched == f->n_chunks && !f->no_blocks))
		return BFS_OK;
	return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0,
			"a proxy: %" PRIu64 " of %" PRIu64 " chunks were "
			"fetched%s", f->n_fetched, f->n_chunks,
			f->no_blocks ? ", not all of them whole" : "");
}

enum bfs_err bfs_kind_find(struct bfs_container *f, struct bfs_diag *diag)
{
	bool recipe = false;

	if (f->array.present)
		f->kind = f->array.linear && has_vlmeta(f, "__pack_tensor__") ?
			  BFS_KIND_TENSOR : BFS_KIND_ARRAY;
	if (f->ops == &bfs_container_bcolz)
		f->kind = BFS_KIND_COLUMN;
	if (f->is_store || f->tree)
		f->kind = BFS_KIND_STORE;
	if (has_meta(f, "vlarray") || has_meta(f, "batcharray") ||
	    has_meta(f, "listarray"))
		f->kind = BFS_KIND_OBJECTS;
	if (has_meta(f, "b2o") || has_meta(f, "LazyArray"))
		BFS_TRY(is_recipe(f, &recipe, diag));
	if (recipe) {
		f->kind = BFS_KIND_EXPRESSION;
		f->no_blank = true;
	} else if (has_meta(f, "proxy-source")) {
		f->kind = BFS_KIND_PROXY;
		return count_fetched(f, diag);
	}
	return BFS_OK;
}

const char *bfs_kind_name(enum bfs_kind kind)
{
	static const char *const names[] = {
		[BFS_KIND_FRAME] = "frame", [BFS_KIND_ARRAY] = "array",
		[BFS_KIND_COLUMN] = "column", [BFS_KIND_OBJECTS] = "objects",
		[BFS_KIND_TENSOR] = "tensor", [BFS_KIND_STORE] = "store",
		[BFS_KIND_EXPRESSION] = "expression",
		[BFS_KIND_PROXY] = "proxy",
	};

	return names[kind];
}

enum bfs_err bfs_kind_refuse(const struct bfs_container *f,
			     struct bfs_diag *diag)
{
	return bfs_fail(diag, BFS_ERR_UNSUPPORTED, 0, "%s",
			f->kind == BFS_KIND_EXPRESSION ?
			"a recipe, which is not evaluated here" :
			f->no_blocks ?
			"the proxy may not have fetched all of the chunk" :
			"the proxy never fetched the chunk");
}
