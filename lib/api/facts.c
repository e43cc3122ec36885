/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * facts.c - the public interface to what is known about a container as a
 * whole: the facts that info.json shows, as values.
 */
#include "api/priv.h"

#include "container/kind.h"
#include "base/bytes.h"
#include "base/moment.h"
#include "view/facts.h"
#include "view/kept.h"

#include <string.h>

#define SAME(pub, own) \
	_Static_assert((int)(pub) == (int)(own), #pub " is not " #own)

SAME(BLOSCFS_KIND_FRAME, BFS_KIND_FRAME);
SAME(BLOSCFS_KIND_ARRAY, BFS_KIND_ARRAY);
SAME(BLOSCFS_KIND_COLUMN, BFS_KIND_COLUMN);
SAME(BLOSCFS_KIND_OBJECTS, BFS_KIND_OBJECTS);
SAME(BLOSCFS_KIND_TENSOR, BFS_KIND_TENSOR);
SAME(BLOSCFS_KIND_STORE, BFS_KIND_STORE);
SAME(BLOSCFS_KIND_EXPRESSION, BFS_KIND_EXPRESSION);
SAME(BLOSCFS_KIND_PROXY, BFS_KIND_PROXY);
SAME(BLOSCFS_MAX_DIM, BFS_MAX_DIM);
SAME(BLOSCFS_MAX_FILTERS, BFS_N_FILTER_SLOTS);
_Static_assert(BLOSCFS_NOT_KNOWN == BFS_NOT_KNOWN, "nothing is known so");
_Static_assert(sizeof(((struct bloscfs_facts *)0)->codec) == BFS_FACT_NAME &&
	       sizeof(((struct bloscfs_filter *)0)->name) == BFS_FACT_NAME,
	       "names fit");

const char *bloscfs_kind_name(enum bloscfs_kind kind)
{
	return (unsigned)kind <= BLOSCFS_KIND_PROXY ?
	       bfs_kind_name((enum bfs_kind)kind) : "unknown";
}

/* As much of a text as cap - 1 bytes hold without half a character. */
static void cut_text(const char *text, size_t len, char *buf, size_t cap)
{
	if (len >= cap) {
		len = cap - 1;
		while (len > 0 && ((uint8_t)text[len] & 0xc0) == 0x80)
			len--;
	}
	if (len)
		memcpy(buf, text, len);
	buf[len] = '\0';
}

static void tell_array(const struct bfs_array_meta *meta,
		       struct bloscfs_facts *pub)
{
	if (!meta->present)
		return;
	pub->is_array = true;
	pub->ndim = meta->ndim < BFS_MAX_DIM ? meta->ndim : BFS_MAX_DIM;
	pub->is_tiled = !meta->linear;
	pub->order = meta->fortran ? 'F' : 'C';
	for (unsigned i = 0; i < pub->ndim; i++) {
		pub->shape[i] = meta->shape[i];
		if (meta->linear)
			continue;
		pub->chunk_shape[i] = meta->chunkshape[i];
		pub->block_shape[i] = meta->blockshape[i];
	}
	if (!meta->dtype)
		return;
	pub->dtype_len = meta->dtype_len;
	cut_text(meta->dtype, meta->dtype_len, pub->dtype, sizeof(pub->dtype));
}

static void tell_codec(const struct bfs_facts *facts,
		       struct bloscfs_facts *pub)
{
	memcpy(pub->codec, facts->codec, sizeof(pub->codec));
	pub->clevel = facts->clevel;
	pub->n_filters = facts->n_filters;
	for (unsigned i = 0; i < facts->n_filters; i++) {
		memcpy(pub->filters[i].name, facts->filters[i].name,
		       sizeof(pub->filters[i].name));
		pub->filters[i].id = facts->filters[i].id;
		pub->filters[i].meta = facts->filters[i].meta;
	}
}

static enum bfs_err tell_facts(struct bfs_file *file,
			       struct bloscfs_facts *pub,
			       struct bfs_diag *diag)
{
	const struct bfs_container *container = file->array->container;
	struct bfs_facts facts;

	BFS_TRY(bfs_file_find_facts(file, &facts, diag));
	memset(pub, 0, sizeof(*pub));
	pub->format = container->format;
	memcpy(pub->format_detail, container->format_detail,
	       sizeof(container->format_detail));
	pub->kind = (enum bloscfs_kind)container->kind;
	pub->status = (enum bloscfs_status)facts.verdict->status;
	pub->why.chunk = -1;
	if (facts.verdict->status != BFS_GOOD)
		bfs_api_show(&facts.verdict->why, &pub->why);
	pub->source_size = bfs_source_len(container->source);
	pub->data_size = facts.data_len;
	pub->nbytes = facts.nbytes;
	pub->cbytes = container->cbytes;
	pub->n_chunks = container->n_chunks;
	pub->n_fetched = container->kind == BFS_KIND_PROXY ?
			 container->n_fetched : BLOSCFS_NOT_KNOWN;
	pub->chunksize = container->chunksize;
	pub->blocksize = facts.blocksize;
	pub->typesize = container->typesize;
	pub->has_vlblocks = container->vlblocks;
	pub->n_metas = container->n_metas;
	pub->n_vlmetas = container->n_vlmetas;
	tell_codec(&facts, pub);
	tell_array(&container->array, pub);
	return BFS_OK;
}

static enum bfs_err find_dtype(struct bfs_file *file, char *buf, size_t cap,
			       size_t *ret_len, struct bfs_diag *diag)
{
	const struct bfs_array_meta *meta = &file->array->container->array;

	if (!meta->present || !meta->dtype)
		return bfs_fail(diag, BFS_ERR_RANGE, 0,
				"the container says no dtype");
	if (cap)
		cut_text(meta->dtype, meta->dtype_len, buf, cap);
	*ret_len = meta->dtype_len;
	return BFS_OK;
}

/* What one of the two calls below asks a container. */
struct question {
	struct bloscfs_facts *facts;	/* NULL: for the dtype */
	char *buf;
	size_t cap;
	size_t *ret_len;
};

static enum bfs_err ask_one(struct bloscfs_file *file, uint32_t child,
			    const struct question *q, struct bfs_diag *diag)
{
	struct bfs_file *inner;
	enum bfs_err err;

	BFS_TRY(bfs_nesting_take(file->nesting, child, &inner, diag));
	err = q->facts ? tell_facts(inner, q->facts, diag) :
	      find_dtype(inner, q->buf, q->cap, q->ret_len, diag);
	bfs_nesting_give(file->nesting, child);
	return err;
}

static enum bloscfs_err ask(struct bloscfs_file *file,
			    const struct bloscfs_node *node,
			    const struct question *q,
			    struct bloscfs_diag *diag)
{
	struct bfs_diag own = { .chunk = -1 };
	uint64_t mark = bfs_moment_mark();
	struct bfs_turn turn;
	enum bfs_err err;

	bfs_turn_begin(&turn, file->budget, true);
	do {
		err = ask_one(file, node ? node->child : 0, q, &own);
	} while (bfs_api_again(&turn, mark, &err, &own));
	bfs_turn_end(&turn);
	return bfs_api_answer(err, &own, diag);
}

enum bloscfs_err bloscfs_facts(struct bloscfs_file *file,
			       const struct bloscfs_node *node,
			       struct bloscfs_facts *ret_facts,
			       struct bloscfs_diag *diag)
{
	struct bloscfs_facts pub;
	struct question q = { .facts = &pub };
	enum bloscfs_err err;

	if (!file || !ret_facts)
		return bfs_api_refuse(diag);
	err = ask(file, node, &q, diag);
	if (err != BLOSCFS_OK)
		return err;
	bfs_api_give(&pub, sizeof(pub), ret_facts, ret_facts->size);
	return BLOSCFS_OK;
}

enum bloscfs_err bloscfs_dtype(struct bloscfs_file *file,
			       const struct bloscfs_node *node, char *buf,
			       size_t cap, size_t *ret_len,
			       struct bloscfs_diag *diag)
{
	struct question q = { .buf = buf, .cap = cap, .ret_len = ret_len };

	if (!file || !ret_len || (!buf && cap))
		return bfs_api_refuse(diag);
	return ask(file, node, &q, diag);
}
