/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chunkfacts.c - facts about one chunk, from index and header alone.
 */
#include "view/chunkfacts.h"

#include "container/kind.h"
#include "codec/codec.h"
#include "filter/filter.h"

const char *bfs_special_name(enum bfs_chunk_kind kind)
{
	switch (kind) {
	case BFS_CHUNK_ZEROS:
		return "zeros";
	case BFS_CHUNK_NAN:
		return "nan";
	case BFS_CHUNK_VALUE:
		return "value";
	case BFS_CHUNK_UNINIT:
		return "uninit";
	case BFS_CHUNK_BLOCKS:
	case BFS_CHUNK_VLBLOCKS:
	case BFS_CHUNK_RAW:
		break;
	}
	return NULL;
}

static void blame(struct bfs_chunk_facts *facts, enum bfs_err err)
{
	if (facts->status == BFS_GOOD)
		facts->status = err == BFS_ERR_UNSUPPORTED ? BFS_UNSUPPORTED :
							     BFS_DAMAGED;
}

static bool can_undo(unsigned id)
{
	const struct bfs_filter *filter = bfs_filter_find(id);

	return id == 0 || (filter && (filter->identity ||
				      filter->undo[BFS_CPU_SCALAR]));
}

/* Codec and filters matter only to chunks that hold compressed streams. */
static bool can_decode(const struct bfs_chunk_head *head)
{
	const struct bfs_codec *codec;

	if (head->kind != BFS_CHUNK_BLOCKS && head->kind != BFS_CHUNK_VLBLOCKS)
		return true;
	codec = bfs_codec_find(head->codec_format, head->codec_id);
	if (!codec || !codec->decode)
		return false;
	for (size_t i = 0; i < BFS_N_FILTER_SLOTS; i++)
		if (!can_undo(head->filters[i]))
			return false;
	return true;
}

static enum bfs_err find_head(struct bfs_container *container,
			      struct bfs_chunk_facts *facts,
			      struct bfs_diag *diag)
{
	struct bfs_chunk_head *head = &facts->head;
	enum bfs_err err =
		bfs_container_peek(container, &facts->span, head, diag);

	if (bfs_err_passes(err))
		return err;
	if (err != BFS_OK) {
		blame(facts, err);
		return BFS_OK;
	}
	facts->has_head = true;
	facts->kind = head->kind;
	facts->nbytes = head->nbytes;
	facts->has_len = true;
	if (facts->span.nbytes != UINT32_MAX &&
	    facts->span.nbytes != head->nbytes)
		blame(facts, BFS_ERR_CORRUPT);
	else if (!can_decode(head))
		blame(facts, BFS_ERR_UNSUPPORTED);
	return BFS_OK;
}

static enum bfs_err find_len(struct bfs_container *container, uint64_t n,
			     struct bfs_chunk_facts *facts,
			     struct bfs_diag *diag)
{
	enum bfs_err err;

	/* A stored chunk whose header cannot tell its size has been found
	 * damaged already. */
	if (facts->has_len || (facts->stored && container->chunksize <= 0))
		return BFS_OK;
	err = bfs_container_chunk_len(container, n, &facts->nbytes, diag);
	if (bfs_err_passes(err))
		return err;
	facts->has_len = err == BFS_OK;
	if (err != BFS_OK)
		blame(facts, err);
	return BFS_OK;
}

enum bfs_err bfs_chunk_find_facts(struct bfs_container *container, uint64_t n,
				  struct bfs_chunk_facts *ret_facts,
				  struct bfs_diag *diag)
{
	struct bfs_chunk_facts facts = { .status = BFS_GOOD };
	enum bfs_err err = bfs_container_span(container, n, &facts.span, diag);

	if (bfs_err_passes(err))
		return err;
	if (err != BFS_OK) {
		blame(&facts, err);
		*ret_facts = facts;
		return BFS_OK;
	}
	facts.placed = true;
	facts.kind = facts.span.special;
	facts.stored = facts.span.special == BFS_CHUNK_BLOCKS;
	if (facts.stored)
		BFS_TRY(find_head(container, &facts, diag));
	BFS_TRY(find_len(container, n, &facts, diag));
	*ret_facts = facts;
	return BFS_OK;
}

bool bfs_chunk_is_hole(struct bfs_container *container, uint64_t n)
{
	struct bfs_span span;

	return !container->no_blank &&
	       bfs_container_span(container, n, &span, NULL) == BFS_OK &&
	       bfs_kind_is_blank(span.special);
}
