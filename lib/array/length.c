/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * length.c - how long the streams of an opened container are, from headers and
 * the index alone, and whether they can be read at all.
 */
#include "array/priv.h"

#include "base/bytes.h"
#include "container/places.h"

#include <inttypes.h>

/* Whether the chunks make bytes of known length in known order. */
static enum bfs_err check_doubt(const struct bfs_array *a,
				struct bfs_diag *diag)
{
	if (!a->container->in_doubt)
		return BFS_OK;
	if (diag)
		*diag = a->container->doubt;
	return a->container->doubt.err;
}

static enum bfs_err joined_len(struct bfs_array *a, uint64_t *ret_len,
			       struct bfs_diag *diag)
{
	BFS_TRY(check_doubt(a, diag));
	if (!a->container->nbytes_known) {
		if (a->container->status != BFS_GOOD && diag)
			*diag = a->container->why;
		return a->container->status == BFS_UNSUPPORTED
			       ? BFS_ERR_UNSUPPORTED
			       : BFS_ERR_CORRUPT;
	}
	*ret_len = a->container->nbytes;
	return BFS_OK;
}

/* The length of a metalayer: of its bytes, or from its chunk's header. */
static enum bfs_err meta_len(struct bfs_array *a, const struct bfs_meta *metas,
			     size_t n, uint64_t i, uint64_t *ret_len,
			     struct bfs_diag *diag)
{
	uint8_t head[BFS_CHUNK_HEADER];
	struct bfs_chunk_head h;
	const struct bfs_meta *m;
	size_t len;

	if (i >= n)
		return bfs_fail(diag, BFS_ERR_RANGE, 0,
				"there is no metalayer %" PRIu64, i);
	m = &metas[i];
	if (!m->is_chunk) {
		*ret_len = m->len;
		return BFS_OK;
	}
	len = (size_t)bfs_min(sizeof(head), m->len);
	BFS_TRY(bfs_source_read(bfs_meta_source(a->container, m), m->off, head,
				len, diag));
	BFS_TRY(bfs_diag_shift(diag, bfs_chunk_parse(head, len, m->len, &h,
						     diag), m->off));
	*ret_len = h.nbytes;
	return BFS_OK;
}

static enum bfs_err tile_len(struct bfs_array *a, uint64_t n,
			     uint64_t *ret_len, struct bfs_diag *diag)
{
	if (!a->has_nd || n >= a->nd.n_chunks)
		return bfs_fail(diag, BFS_ERR_RANGE, 0,
				"the array has no chunk %" PRIu64, n);
	*ret_len = a->nd.tile_len;
	return BFS_OK;
}

enum bfs_err bfs_array_len(struct bfs_array *a, const struct bfs_stream *s,
			   uint64_t *ret_len, struct bfs_diag *diag)
{
	uint32_t len;

	switch (s->kind) {
	case BFS_STREAM_DATA:
		if (!a->has_nd)
			return joined_len(a, ret_len, diag);
		BFS_TRY(check_doubt(a, diag));
		*ret_len = a->nd.array_len;
		return BFS_OK;
	case BFS_STREAM_JOINED:
		return joined_len(a, ret_len, diag);
	case BFS_STREAM_CHUNK:
		BFS_TRY(bfs_container_chunk_len(a->container, s->index, &len,
						diag));
		*ret_len = len;
		return BFS_OK;
	case BFS_STREAM_TILE:
		return tile_len(a, s->index, ret_len, diag);
	case BFS_STREAM_META:
		return meta_len(a, a->container->metas, a->container->n_metas,
				s->index, ret_len, diag);
	case BFS_STREAM_VLMETA:
		return meta_len(a, a->container->vlmetas,
				a->container->n_vlmetas, s->index, ret_len,
				diag);
	case BFS_STREAM_SOURCE:
		*ret_len = bfs_source_len(a->container->source);
		return BFS_OK;
	case BFS_STREAM_RAW_CHUNK:
		return bfs_array_raw_len(a, s->index, ret_len, diag);
	case BFS_STREAM_LAZY_CHUNK:
		return bfs_array_lazy_len(a, s->index, ret_len, diag);
	}
	return bfs_fail(diag, BFS_ERR_INVALID, 0, "no such stream");
}

enum bfs_err bfs_array_ready(struct bfs_array *a, const struct bfs_stream *s,
			     struct bfs_diag *diag)
{
	uint64_t len, off;

	BFS_TRY(bfs_array_len(a, s, &len, diag));
	if ((s->kind != BFS_STREAM_DATA && s->kind != BFS_STREAM_JOINED) ||
	    a->container->n_chunks == 0)
		return BFS_OK;
	BFS_TRY(bfs_places_check(a->container, diag));
	if (s->kind == BFS_STREAM_DATA && a->has_nd)
		return BFS_OK;
	/* Joined chunks of varying sizes can only be found by their sums. */
	return bfs_container_chunk_off(a->container, a->container->n_chunks,
				       &off, diag);
}
