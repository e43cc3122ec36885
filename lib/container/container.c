/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * container.c - what containers of all formats share: closing, verdicts, where
 * a chunk lies and what its header says, lists of metalayers.
 */
#include "container/container.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/call.h"
#include "container/index.h"
#include "container/nametree.h"
#include "base/mem.h"
#include "base/moment.h"

#include <inttypes.h>
#include <string.h>

bool bfs_format_claims(const struct bfs_format *format, const char *name)
{
	const char *dot = name ? strrchr(name, '.') : NULL;
	size_t i;

	for (i = 0; dot && format->endings[i]; i++)
		if (!strcmp(dot, format->endings[i]))
			return true;
	return false;
}

struct bfs_source *bfs_meta_source(const struct bfs_container *container,
				   const struct bfs_meta *meta)
{
	return meta->source ? meta->source : container->source;
}

static void free_metas(struct bfs_meta *metas, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		bfs_source_unref(metas[i].source);
		bfs_free(metas[i].name);
	}
	bfs_free(metas);
}

enum bfs_err bfs_container_new(const struct bfs_format *ops,
			       struct bfs_cache *cache,
			       struct bfs_container **ret_container,
			       struct bfs_diag *diag)
{
	struct bfs_container *container = bfs_zalloc(1, sizeof(*container));

	if (!container)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a container");
	pthread_mutex_init(&container->sizes_lock, NULL);
	container->ops = ops;
	container->cache = cache;
	container->format = ops->name;
	container->typesize = 1;
	*ret_container = container;
	return BFS_OK;
}

void bfs_container_close(struct bfs_container *container)
{
	if (!container)
		return;
	if (container->ops->close)
		container->ops->close(container);
	bfs_index_close(container->index);
	free_metas(container->metas, container->n_metas);
	free_metas(container->vlmetas, container->n_vlmetas);
	bfs_nametree_free(container->tree);
	bfs_free(container->members);
	bfs_free(container->array.dtype);
	bfs_free(container->starts);
	bfs_free(container->name);
	bfs_source_unref(container->source);
	bfs_dir_unref(container->dir);
	pthread_mutex_destroy(&container->sizes_lock);
	bfs_free(container);
}

bool bfs_container_set_how(struct bfs_container *container,
			   const struct bfs_fd_how *how)
{
	if (!container->dir)
		return bfs_source_set_how(container->source, how);
	return bfs_dir_set_how(container->dir, how);
}

void bfs_container_rest(struct bfs_container *container)
{
	if (container->source)
		bfs_source_rest(container->source);
	if (container->ops->rest)
		container->ops->rest(container);
}

enum bfs_err bfs_container_gone(uint64_t mark, const char *what,
				struct bfs_diag *diag)
{
	enum bfs_err err = bfs_moment_settle(mark, BFS_OK, diag);

	return err != BFS_OK ? err :
	       bfs_fail(diag, BFS_ERR_CHANGED, 0, "%s no longer there", what);
}

bool bfs_container_is_removed(const struct bfs_container *container)
{
	return container->dir ? bfs_dir_is_nameless(container->dir)
			      : bfs_source_is_nameless(container->source);
}

void bfs_container_blame(struct bfs_container *container,
			 const struct bfs_diag *why)
{
	if (container->status != BFS_GOOD)
		return;
	container->status =
		why->err == BFS_ERR_UNSUPPORTED ? BFS_UNSUPPORTED : BFS_DAMAGED;
	container->why = *why;
}

void bfs_container_doubt(struct bfs_container *container,
			 const struct bfs_diag *why)
{
	if (!container->in_doubt)
		container->doubt = *why;
	container->in_doubt = true;
	bfs_container_blame(container, why);
}

void bfs_container_disbelieve(struct bfs_container *container,
			      const struct bfs_diag *why)
{
	container->nbytes = 0;
	container->claim = 0;
	container->chunksize = -1;
	container->typesize = (uint32_t)bfs_max(1, container->typesize);
	bfs_container_blame(container, why);
}

enum bfs_err bfs_container_settle(struct bfs_container *container,
				  enum bfs_err err, const struct bfs_diag *why,
				  struct bfs_diag *diag)
{
	if (err == BFS_OK)
		return BFS_OK;
	if (!bfs_err_passes(err)) {
		bfs_container_blame(container, why);
		return BFS_OK;
	}
	if (diag)
		*diag = *why;
	return err;
}

enum bfs_err bfs_container_settle_doubt(struct bfs_container *container,
					enum bfs_err err,
					const struct bfs_diag *why,
					struct bfs_diag *diag)
{
	if (err != BFS_OK && !bfs_err_passes(err))
		bfs_container_doubt(container, why);
	return bfs_container_settle(container, err, why, diag);
}

enum bfs_err bfs_container_no_chunk(const struct bfs_container *container,
				    uint64_t n, struct bfs_diag *diag)
{
	return bfs_fail(diag, BFS_ERR_RANGE, 0,
			"there is no chunk %" PRIu64 " among %" PRIu64, n,
			container->n_chunks);
}

enum bfs_err bfs_container_span(struct bfs_container *container, uint64_t n,
				struct bfs_span *ret_span,
				struct bfs_diag *diag)
{
	if (n >= container->n_chunks)
		return bfs_container_no_chunk(container, n, diag);
	/* Stores without chunks have no such call. */
	BFS_CHECK(container->ops->span);
	BFS_TRY(bfs_call_check(diag));
	return bfs_diag_chunk(
		diag, container->ops->span(container, n, ret_span, diag), n);
}

enum bfs_err bfs_container_source(struct bfs_container *container,
				  const struct bfs_span *span,
				  struct bfs_source **ret_source,
				  struct bfs_diag *diag)
{
	if (container->ops->source)
		return container->ops->source(container, span, ret_source,
					      diag);
	*ret_source = bfs_source_ref(container->source);
	return BFS_OK;
}

enum bfs_err bfs_container_peek_in(struct bfs_source *source,
				   const struct bfs_span *span,
				   struct bfs_chunk_head *ret_head,
				   struct bfs_diag *diag)
{
	uint8_t head[BFS_CHUNK_HEADER];
	uint64_t avail = span->off < bfs_source_len(source) ?
			 bfs_source_len(source) - span->off : 0;
	size_t len;

	avail = bfs_min(avail, span->avail);
	len = (size_t)bfs_min(sizeof(head), avail);
	BFS_TRY(bfs_source_read(source, span->off, head, len, diag));
	return bfs_diag_shift(diag, bfs_chunk_parse(head, len, avail, ret_head,
						    diag), span->off);
}

enum bfs_err bfs_container_peek(struct bfs_container *container,
				const struct bfs_span *span,
				struct bfs_chunk_head *ret_head,
				struct bfs_diag *diag)
{
	struct bfs_source *source;
	enum bfs_err err;

	BFS_TRY(bfs_container_source(container, span, &source, diag));
	err = bfs_container_peek_in(source, span, ret_head, diag);
	bfs_source_unref(source);
	return err;
}

enum bfs_err bfs_container_add_meta(struct bfs_meta **metas, size_t *n_metas,
				    const void *name, size_t name_len,
				    uint64_t off, uint64_t len, bool is_chunk)
{
	size_t n = *n_metas;
	struct bfs_meta *list = *metas;

	/* The list is full where n is 0 or a power of two. */
	if ((n & (n - 1)) == 0) {
		list = bfs_realloc(list, (n ? 2 * n : 1) * sizeof(*list));
		if (!list)
			return BFS_ERR_NOMEM;
		*metas = list;
	}
	list[n].name = bfs_memdup0(name, name_len);
	if (!list[n].name)
		return BFS_ERR_NOMEM;
	list[n].source = NULL;
	list[n].name_len = name_len;
	list[n].off = off;
	list[n].len = len;
	list[n].is_chunk = is_chunk;
	list[n].is_json = false;
	*n_metas = n + 1;
	return BFS_OK;
}
