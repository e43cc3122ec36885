/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chunk.c - the public interface to what index and header tell about one
 * chunk, without a byte of it decoded.
 */
#include "api/priv.h"

#include "base/bytes.h"
#include "base/moment.h"
#include "chunk/head.h"
#include "view/chunkfacts.h"
#include "view/kept.h"

#include <string.h>

#define SAME(pub, own) \
	_Static_assert((int)(pub) == (int)(own), #pub " is not " #own)

SAME(BLOSCFS_CHUNK_BLOCKS, BFS_CHUNK_BLOCKS);
SAME(BLOSCFS_CHUNK_VLBLOCKS, BFS_CHUNK_VLBLOCKS);
SAME(BLOSCFS_CHUNK_PLAIN, BFS_CHUNK_RAW);
SAME(BLOSCFS_CHUNK_ZEROS, BFS_CHUNK_ZEROS);
SAME(BLOSCFS_CHUNK_NAN, BFS_CHUNK_NAN);
SAME(BLOSCFS_CHUNK_VALUE, BFS_CHUNK_VALUE);
SAME(BLOSCFS_CHUNK_UNINIT, BFS_CHUNK_UNINIT);

/* Whether all items are the same, which a last stage of the container may
 * change. */
static bool repeats(const struct bfs_container *container,
		    const struct bfs_chunk_facts *facts)
{
	return bfs_special_name(facts->kind) && !container->no_blank;
}

static void show(const struct bfs_container *container,
		 const struct bfs_chunk_facts *facts,
		 struct bloscfs_chunk_facts *pub)
{
	const struct bfs_chunk_head *head = &facts->head;

	*pub = (struct bloscfs_chunk_facts){
		.status = (enum bloscfs_status)facts->status,
		.is_known = facts->placed &&
			    (facts->has_head || !facts->stored),
		.nbytes = facts->has_len ? facts->nbytes : BLOSCFS_NOT_KNOWN,
		.offset = BLOSCFS_NOT_KNOWN,
	};
	if (!pub->is_known)
		return;
	pub->kind = (enum bloscfs_chunk_kind)facts->kind;
	pub->repeats = repeats(container, facts);
	if (!facts->has_head)
		return;
	pub->is_stored = true;
	pub->file = facts->span.file;
	pub->offset = facts->span.off;
	pub->cbytes = head->cbytes;
	pub->blocksize = head->blocksize;
	pub->n_blocks = head->n_blocks;
	pub->typesize = head->typesize;
	pub->value_len = head->kind == BFS_CHUNK_VALUE ? head->value_len : 0;
}

static enum bfs_err ask(struct bloscfs_file *file, uint32_t child, uint64_t n,
			struct bloscfs_chunk_facts *pub, struct bfs_diag *diag)
{
	struct bfs_container *container;
	struct bfs_chunk_facts facts;
	struct bfs_file *inner;
	enum bfs_err err;

	BFS_TRY(bfs_nesting_take(file->nesting, child, &inner, diag));
	container = inner->array->container;
	if (n < container->n_chunks)
		err = bfs_chunk_find_facts(container, n, &facts, diag);
	else
		err = bfs_fail(diag, BFS_ERR_RANGE, 0, "there is no such "
			       "chunk");
	if (err == BFS_OK)
		show(container, &facts, pub);
	bfs_nesting_give(file->nesting, child);
	return err;
}

enum bloscfs_err bloscfs_chunk_facts(struct bloscfs_file *file,
				     const struct bloscfs_node *node,
				     uint64_t n,
				     struct bloscfs_chunk_facts *ret_facts,
				     struct bloscfs_diag *diag)
{
	struct bfs_diag own = { .chunk = -1 };
	struct bloscfs_chunk_facts pub;
	uint64_t mark = bfs_moment_mark();
	struct bfs_turn turn;
	enum bfs_err err;

	if (!file || !ret_facts)
		return bfs_api_refuse(diag);
	bfs_turn_begin(&turn, file->budget, true);
	do {
		err = ask(file, node ? node->child : 0, n, &pub, &own);
	} while (bfs_api_again(&turn, mark, &err, &own));
	bfs_turn_end(&turn);
	if (err != BFS_OK)
		return bfs_api_answer(err, &own, diag);
	bfs_api_give(&pub, sizeof(pub), ret_facts, ret_facts->size);
	return BLOSCFS_OK;
}
