/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * container.c - what containers of all formats share: closing, verdicts, where a
 * chunk lies, chunk sizes, joined offsets, lists of metalayers.
 */
#include "container/container.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/call.h"
#include "container/index.h"
#include "container/nametree.h"
#include "base/mem.h"
#include "base/moment.h"
#include "source/sweep.h"

#include <inttypes.h>

/* More variable chunks than this are not sized one by one. */
#define MAX_SIZED (UINT64_C(1) << 24)
#define MAX_SIZED_FILES (UINT64_C(1) << 22)
#define MAX_SHARED (UINT64_C(1) << 16)

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
	bfs_source_unref(container->source);
	bfs_fd_unref(container->dir);
	pthread_mutex_destroy(&container->sizes_lock);
	bfs_free(container);
}

bool bfs_container_set_how(struct bfs_container *container,
			   const struct bfs_fd_how *how)
{
	if (!container->dir)
		return bfs_source_set_how(container->source, how);
	container->dirfd = -1;
	bfs_fd_set_how(container->dir, how);
	return true;
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
	return container->dir ? bfs_fd_is_nameless(container->dir)
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

static enum bfs_err no_such_chunk(const struct bfs_container *container,
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
		return no_such_chunk(container, n, diag);
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

static enum bfs_err peek_in(struct bfs_source *source,
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
	err = peek_in(source, span, ret_head, diag);
	bfs_source_unref(source);
	return err;
}

/* The decoded length that the header of a stored chunk tells. sweep: a sweep of
 * the container's only source, or NULL. */
static enum bfs_err peek_len(struct bfs_container *container,
			     struct bfs_source *sweep,
			     const struct bfs_span *span, uint32_t *ret_len,
			     struct bfs_diag *diag)
{
	struct bfs_chunk_head h;

	BFS_TRY(sweep ? peek_in(sweep, span, &h, diag)
		      : bfs_container_peek(container, span, &h, diag));
	*ret_len = h.nbytes;
	return BFS_OK;
}

/* Sizes of all chunks where they vary, as running sums. The index has no size
 * for a special chunk: a single one gets what the others leave of nbytes; of
 * several the sizes cannot be known (docs/errata.md). */
static enum bfs_err sum_sizes(struct bfs_container *container,
			      struct bfs_source *sweep, uint64_t *starts,
			      struct bfs_diag *diag)
{
	uint64_t n = container->n_chunks, i, sum = 0, n_special = 0,
		 special = 0;

	for (i = 0; i < n; i++) {
		struct bfs_span span;
		uint32_t len = 0;

		starts[i] = sum;
		BFS_TRY(bfs_container_span(container, i, &span, diag));
		if (span.special != BFS_CHUNK_BLOCKS) {
			n_special++;
			special = i;
		} else {
			BFS_TRY(bfs_diag_chunk(
				diag,
				peek_len(container, sweep, &span, &len, diag),
				i));
		}
		sum += len;
		if (sum > container->nbytes)
			break;
	}
	starts[n] = sum;
	if (sum > container->nbytes ||
	    (n_special == 0 && sum < container->nbytes))
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0x1e,
				"the chunks have %" PRIu64 " bytes, the frame "
				"says %" PRIu64,
				sum, container->nbytes);
	if (sum == container->nbytes)
		return BFS_OK;
	if (n_special > 1)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"special chunk without size: %" PRIu64
				" of them share %" PRIu64 " bytes",
				n_special, container->nbytes - sum);
	for (i = special + 1; i <= n; i++)
		starts[i] += container->nbytes - sum;
	return BFS_OK;
}

/* Headers that lie in one file, about in order, are read through a sweep. */
static enum bfs_err sweep_sizes(struct bfs_container *container,
				uint64_t *starts, struct bfs_diag *diag)
{
	struct bfs_source *sweep = NULL;
	enum bfs_err err;

	if (!container->ops->source)
		BFS_TRY(bfs_source_sweep(container->source, &sweep, diag));
	err = sum_sizes(container, sweep, starts, diag);
	bfs_source_unref(sweep);
	return err;
}

/* The most chunks that are sized one by one: as many as the file has room for,
 * and some more, since entries may share a chunk. A few bytes of index can name
 * far more than that. */
static uint64_t most_sized(const struct bfs_container *container)
{
	if (container->ops->source)
		return MAX_SIZED_FILES;
	return bfs_min(MAX_SIZED,
		       MAX_SHARED + bfs_source_len(container->source) /
					    BFS_CHUNK_MIN_HEADER);
}

static enum bfs_err find_sizes(struct bfs_container *container,
			       const uint64_t **ret_starts,
			       struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	struct bfs_diag why = { 0 };
	uint64_t *starts;
	enum bfs_err err;

	pthread_mutex_lock(&container->sizes_lock);
	starts = container->starts;
	err = container->starts_err;
	if (err != BFS_OK && diag)
		*diag = container->starts_why;
	pthread_mutex_unlock(&container->sizes_lock);
	if (starts || err != BFS_OK) {
		*ret_starts = starts;
		return err;
	}
	if (container->n_chunks > most_sized(container))
		return bfs_fail(diag, BFS_ERR_LIMIT, 0,
				"%" PRIu64 " chunks of unknown size",
				container->n_chunks);
	starts = bfs_alloc((size_t)(container->n_chunks + 1) * sizeof(*starts));
	if (!starts)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for chunk sizes");
	err = bfs_moment_settle(mark, sweep_sizes(container, starts, &why),
				&why);
	pthread_mutex_lock(&container->sizes_lock);
	if (!container->starts && container->starts_err == BFS_OK) {
		if (err == BFS_OK) {
			container->starts = starts;
			starts = NULL;
		} else if (!bfs_err_passes(err)) {
			container->starts_err = err;
			container->starts_why = why;
		}
	} else if (!container->starts && err == BFS_OK) {
		/* Another thread found that they cannot be told. */
		err = container->starts_err;
		why = container->starts_why;
	}
	*ret_starts = container->starts;
	pthread_mutex_unlock(&container->sizes_lock);
	bfs_free(starts);
	if (err != BFS_OK && diag)
		*diag = why;
	return err;
}

enum bfs_err bfs_container_chunk_len(struct bfs_container *container,
				     uint64_t n, uint32_t *ret_len,
				     struct bfs_diag *diag)
{
	struct bfs_span span;
	const uint64_t *starts;

	if (n >= container->n_chunks)
		return no_such_chunk(container, n, diag);
	if (container->chunksize > 0) {
		*ret_len = (uint32_t)bfs_min(
			(uint64_t)container->chunksize,
			container->nbytes - n * (uint64_t)container->chunksize);
		return BFS_OK;
	}
	BFS_TRY(bfs_container_span(container, n, &span, diag));
	if (span.special == BFS_CHUNK_BLOCKS)
		return bfs_diag_chunk(
			diag, peek_len(container, NULL, &span, ret_len, diag),
			n);
	BFS_TRY(bfs_diag_chunk(diag, find_sizes(container, &starts, diag), n));
	if (starts[n + 1] - starts[n] > BFS_CHUNK_MAX_NBYTES)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"special chunk %" PRIu64 " would have %" PRIu64
				" bytes", n, starts[n + 1] - starts[n]);
	*ret_len = (uint32_t)(starts[n + 1] - starts[n]);
	return BFS_OK;
}

enum bfs_err bfs_container_chunk_off(struct bfs_container *container,
				     uint64_t n, uint64_t *ret_off,
				     struct bfs_diag *diag)
{
	const uint64_t *starts;

	if (n > container->n_chunks)
		return no_such_chunk(container, n, diag);
	if (container->chunksize > 0) {
		*ret_off = n == container->n_chunks
				   ? container->nbytes
				   : n * (uint64_t)container->chunksize;
		return BFS_OK;
	}
	BFS_TRY(find_sizes(container, &starts, diag));
	*ret_off = starts[n];
	return BFS_OK;
}

enum bfs_err bfs_container_chunk_at(struct bfs_container *container,
				    uint64_t off, uint64_t *ret_n,
				    struct bfs_diag *diag)
{
	const uint64_t *starts;
	uint64_t lo = 0, hi = container->n_chunks;

	BFS_ASSERT(container->nbytes_known);
	if (off >= container->nbytes)
		return bfs_fail(diag, BFS_ERR_RANGE, off,
				"byte %" PRIu64 " lies beyond the data", off);
	if (container->chunksize > 0) {
		*ret_n = off / (uint64_t)container->chunksize;
		return BFS_OK;
	}
	BFS_TRY(find_sizes(container, &starts, diag));
	/* The last chunk that begins at or before off: empty ones before it
	 * are skipped. */
	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (starts[mid] <= off)
			lo = mid;
		else
			hi = mid;
	}
	*ret_n = lo;
	return BFS_OK;
}

void bfs_container_note_sizes(struct bfs_container *f)
{
	const uint64_t *starts = f->starts;
	uint64_t n = f->n_chunks, size, i;

	if (!starts || n == 0)
		return;
	size = starts[1];
	if (size == 0 || size > BFS_CHUNK_MAX_NBYTES)
		return;
	for (i = 1; i < n; i++)
		if (starts[i] != i * size)
			return;
	if (starts[n] - starts[n - 1] > size || starts[n] == starts[n - 1])
		return;
	f->chunksize = (int64_t)size;
	bfs_free(f->starts);
	f->starts = NULL;
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
