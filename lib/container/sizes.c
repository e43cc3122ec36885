/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sizes.c - the lengths of decoded chunks, and where each begins in the joined
 * bytes. Where they vary they are summed once, when first asked for.
 */
#include "container/container.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/moment.h"
#include "source/sweep.h"

#include <inttypes.h>

/* More variable chunks than this are not sized one by one. */
#define MAX_SIZED (UINT64_C(1) << 24)
#define MAX_SIZED_FILES (UINT64_C(1) << 22)
#define MAX_SHARED (UINT64_C(1) << 16)

/* The decoded length that the header of a stored chunk tells. sweep: a sweep of
 * the container's only source, or NULL. */
static enum bfs_err peek_len(struct bfs_container *container,
			     struct bfs_source *sweep,
			     const struct bfs_span *span, uint32_t *ret_len,
			     struct bfs_diag *diag)
{
	struct bfs_chunk_head h;

	BFS_TRY(sweep ? bfs_container_peek_in(sweep, span, &h, diag)
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
		return bfs_container_no_chunk(container, n, diag);
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
		return bfs_diag_chunk(diag, bfs_fail(
				diag, BFS_ERR_CORRUPT, 0,
				"a special chunk would have %" PRIu64 " bytes",
				starts[n + 1] - starts[n]), n);
	*ret_len = (uint32_t)(starts[n + 1] - starts[n]);
	return BFS_OK;
}

enum bfs_err bfs_container_chunk_off(struct bfs_container *container,
				     uint64_t n, uint64_t *ret_off,
				     struct bfs_diag *diag)
{
	const uint64_t *starts;

	if (n > container->n_chunks)
		return bfs_container_no_chunk(container, n, diag);
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
				"there are %" PRIu64 " bytes of data",
				container->nbytes);
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
