/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * container.c - the table of containers, opening one, and what all frames
 * share: chunk sizes, joined offsets, metalayer lists.
 */
#include "container/container.h"

#include "base/bytes.h"
#include "base/call.h"
#include "container/index.h"
#include "container/nametree.h"
#include "base/mem.h"
#include "base/moment.h"
#include "source/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

/* More variable chunks than this are not sized one by one. */
#define MAX_SIZED (UINT64_C(1) << 24)
#define MAX_SIZED_FILES (UINT64_C(1) << 22)
#define MAX_SHARED (UINT64_C(1) << 16)

const struct bfs_container *const bfs_containers[] = {
#define BFS_CONTAINER_ROW(stem) &bfs_container_##stem,
#include "container/rows.def"
#undef BFS_CONTAINER_ROW
};
const size_t bfs_n_containers = BFS_ARRAY_LEN(bfs_containers);

/* head holds BFS_CONTAINER_PROBE bytes. */
static const struct bfs_container *find_row(struct bfs_source *source,
					    const char *name, uint8_t *head,
					    size_t *ret_len)
{
	size_t len = (size_t)bfs_min(BFS_CONTAINER_PROBE,
				     bfs_source_len(source));
	size_t i;

	if (len < BFS_CONTAINER_MIN ||
	    bfs_source_read(source, 0, head, len, NULL) != BFS_OK)
		return NULL;
	*ret_len = len;
	for (i = 0; i < bfs_n_containers; i++)
		if (bfs_containers[i]->probe &&
		    bfs_containers[i]->probe(source, head, len, name))
			return bfs_containers[i];
	return NULL;
}

const struct bfs_container *bfs_container_probe(struct bfs_source *source,
						const char *name)
{
	const struct bfs_container *row;
	uint8_t head[BFS_CONTAINER_PROBE];
	struct bfs_source *sweep = NULL;
	size_t len;

	if (bfs_source_sweep(source, &sweep, NULL) != BFS_OK)
		return NULL;
	row = find_row(sweep, name, head, &len);
	bfs_source_unref(sweep);
	return row;
}

bool bfs_container_is_short(struct bfs_source *source, const char *name)
{
	uint8_t head[BFS_CONTAINER_PROBE];
	const struct bfs_container *row;
	size_t len;

	row = find_row(source, name, head, &len);
	return row && row->is_short &&
	       row->is_short(head, len, bfs_source_len(source));
}

const struct bfs_container *bfs_container_probe_dir(int dirfd)
{
	size_t i;

	for (i = 0; i < bfs_n_containers; i++)
		if (bfs_containers[i]->probe_dir &&
		    bfs_containers[i]->probe_dir(dirfd))
			return bfs_containers[i];
	return NULL;
}

struct bfs_source *bfs_meta_source(const struct bfs_frame *frame,
				   const struct bfs_meta *meta)
{
	return meta->source ? meta->source : frame->source;
}

static struct bfs_frame *new_frame(const struct bfs_container *ops)
{
	struct bfs_frame *frame = bfs_zalloc(1, sizeof(*frame));

	if (!frame)
		return NULL;
	pthread_mutex_init(&frame->sizes_lock, NULL);
	frame->ops = ops;
	frame->dirfd = -1;
	frame->format = ops->name;
	frame->typesize = 1;
	return frame;
}

/* What was read of a source that changed meanwhile may be of two files. */
static enum bfs_err open_row(struct bfs_frame *frame, const char *name,
			     struct bfs_diag *diag)
{
	BFS_TRY(frame->ops->open(frame, name, diag));
	BFS_TRY(bfs_kind_find(frame, diag));
	return bfs_source_check(frame->source, diag);
}

static enum bfs_err open_dir(int dirfd, const struct bfs_container *ops,
			     const struct bfs_guard *guard,
			     struct bfs_frame **ret_frame,
			     struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	struct bfs_frame *frame;
	enum bfs_err err;

	if (!ops)
		ops = bfs_container_probe_dir(dirfd);
	if (!ops)
		return bfs_moment_settle(mark, bfs_fail(
				diag, BFS_ERR_NOT_FORMAT, 0,
				"not a Blosc container"), diag);
	frame = new_frame(ops);
	if (!frame)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a frame");
	frame->guard = *guard;
	do {
		frame->dirfd = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
	} while (frame->dirfd < 0 && bfs_fd_may_retry(errno));
	if (frame->dirfd >= 0)
		frame->dir = bfs_fd_new(frame->dirfd);
	if (frame->dirfd >= 0 && !frame->dir) {
		close(frame->dirfd);
		err = bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	} else if (frame->dirfd < 0)
		err = bfs_source_errno(errno, "the directory cannot be opened "
				       "again", 0, diag);
	else
		err = bfs_moment_settle(mark, open_row(frame, NULL, diag),
					diag);
	if (err != BFS_OK) {
		bfs_frame_close(frame);
		return err;
	}
	*ret_frame = frame;
	return BFS_OK;
}

enum bfs_err bfs_frame_open_dir(int dirfd, const struct bfs_container *ops,
				struct bfs_frame **ret_frame,
				struct bfs_diag *diag)
{
	return open_dir(dirfd, ops, &(struct bfs_guard){ 0 }, ret_frame,
			diag);
}

enum bfs_err bfs_frame_open_guarded(int dirfd, const struct bfs_guard *guard,
				    struct bfs_frame **ret_frame,
				    struct bfs_diag *diag)
{
	return open_dir(dirfd, NULL, guard, ret_frame, diag);
}

static enum bfs_err open_swept(struct bfs_source *sweep, const char *name,
			       const struct bfs_container *ops,
			       struct bfs_frame **ret_frame,
			       struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	struct bfs_frame *frame;
	uint8_t head[BFS_CONTAINER_PROBE];
	enum bfs_err err;
	size_t len;

	if (!ops)
		ops = find_row(sweep, name, head, &len);
	if (!ops)
		return bfs_moment_settle(mark, bfs_fail(
				diag, BFS_ERR_NOT_FORMAT, 0,
				"not a Blosc container"), diag);
	frame = new_frame(ops);
	if (!frame)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a frame");
	frame->source = bfs_source_ref(sweep);
	frame->cbytes = bfs_source_len(sweep);
	err = bfs_moment_settle(mark, open_row(frame, name, diag), diag);
	if (err != BFS_OK) {
		bfs_frame_close(frame);
		return err;
	}
	*ret_frame = frame;
	return BFS_OK;
}

enum bfs_err bfs_frame_open(struct bfs_source *source, const char *name,
			    const struct bfs_container *ops,
			    struct bfs_frame **ret_frame,
			    struct bfs_diag *diag)
{
	struct bfs_source *sweep;
	enum bfs_err err;

	BFS_TRY(bfs_source_sweep(source, &sweep, diag));
	err = open_swept(sweep, name, ops, ret_frame, diag);
	if (err == BFS_OK) {
		/* What of it the frame has kept goes on as the source. */
		bfs_source_sweep_end(sweep);
		bfs_source_unref((*ret_frame)->source);
		(*ret_frame)->source = bfs_source_ref(source);
	}
	bfs_source_unref(sweep);
	return err;
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

void bfs_frame_close(struct bfs_frame *frame)
{
	if (!frame)
		return;
	if (frame->ops->close)
		frame->ops->close(frame);
	bfs_index_close(frame->index);
	free_metas(frame->metas, frame->n_metas);
	free_metas(frame->vlmetas, frame->n_vlmetas);
	bfs_nametree_free(frame->tree);
	bfs_free(frame->members);
	bfs_free(frame->array.dtype);
	bfs_free(frame->starts);
	bfs_source_unref(frame->source);
	bfs_fd_unref(frame->dir);
	pthread_mutex_destroy(&frame->sizes_lock);
	bfs_free(frame);
}

bool bfs_frame_set_how(struct bfs_frame *frame, const struct bfs_fd_how *how)
{
	if (!frame->dir)
		return bfs_source_set_how(frame->source, how);
	frame->dirfd = -1;
	bfs_fd_set_how(frame->dir, how);
	return true;
}

enum bfs_err bfs_frame_gone(uint64_t mark, const char *what,
			    struct bfs_diag *diag)
{
	enum bfs_err err = bfs_moment_settle(mark, BFS_OK, diag);

	return err != BFS_OK ? err :
	       bfs_fail(diag, BFS_ERR_CHANGED, 0, "%s no longer there", what);
}

bool bfs_frame_is_removed(const struct bfs_frame *frame)
{
	return frame->dir ? bfs_fd_is_nameless(frame->dir) :
			    bfs_source_is_nameless(frame->source);
}

void bfs_frame_blame(struct bfs_frame *frame, const struct bfs_diag *why)
{
	if (frame->status != BFS_GOOD)
		return;
	frame->status = why->err == BFS_ERR_UNSUPPORTED ? BFS_UNSUPPORTED :
							  BFS_DAMAGED;
	frame->why = *why;
}

void bfs_frame_doubt(struct bfs_frame *frame, const struct bfs_diag *why)
{
	if (!frame->in_doubt)
		frame->doubt = *why;
	frame->in_doubt = true;
	bfs_frame_blame(frame, why);
}

enum bfs_err bfs_frame_settle(struct bfs_frame *frame, enum bfs_err err,
			      const struct bfs_diag *why,
			      struct bfs_diag *diag)
{
	if (err == BFS_OK)
		return BFS_OK;
	if (!bfs_err_passes(err)) {
		bfs_frame_blame(frame, why);
		return BFS_OK;
	}
	if (diag)
		*diag = *why;
	return err;
}

static enum bfs_err no_such_chunk(const struct bfs_frame *frame, uint64_t n,
				  struct bfs_diag *diag)
{
	return bfs_fail(diag, BFS_ERR_RANGE, 0,
			"there is no chunk %" PRIu64 " among %" PRIu64, n,
			frame->n_chunks);
}

enum bfs_err bfs_frame_span(struct bfs_frame *frame, uint64_t n,
			    struct bfs_span *ret_span, struct bfs_diag *diag)
{
	if (n >= frame->n_chunks)
		return no_such_chunk(frame, n, diag);
	BFS_TRY(bfs_call_check(diag));
	return bfs_diag_chunk(diag, frame->ops->span(frame, n, ret_span, diag),
			      n);
}

enum bfs_err bfs_frame_source(struct bfs_frame *frame,
			      const struct bfs_span *span,
			      struct bfs_source **ret_source,
			      struct bfs_diag *diag)
{
	if (frame->ops->source)
		return frame->ops->source(frame, span, ret_source, diag);
	*ret_source = bfs_source_ref(frame->source);
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

enum bfs_err bfs_frame_peek(struct bfs_frame *frame,
			    const struct bfs_span *span,
			    struct bfs_chunk_head *ret_head,
			    struct bfs_diag *diag)
{
	struct bfs_source *source;
	enum bfs_err err;

	BFS_TRY(bfs_frame_source(frame, span, &source, diag));
	err = peek_in(source, span, ret_head, diag);
	bfs_source_unref(source);
	return err;
}

/* The decoded length that the header of a stored chunk tells. sweep: the
 * frame's only source, or NULL. */
static enum bfs_err peek_len(struct bfs_frame *frame, struct bfs_source *sweep,
			     const struct bfs_span *span, uint32_t *ret_len,
			     struct bfs_diag *diag)
{
	struct bfs_chunk_head h;

	BFS_TRY(sweep ? peek_in(sweep, span, &h, diag) :
			bfs_frame_peek(frame, span, &h, diag));
	*ret_len = h.nbytes;
	return BFS_OK;
}

/* Sizes of all chunks where they vary, as running sums. One special chunk
 * has lost its size and gets what the others leave; several cannot be told
 * apart (docs/errata.md). */
static enum bfs_err sum_sizes(struct bfs_frame *frame,
			      struct bfs_source *sweep, uint64_t *starts,
			      struct bfs_diag *diag)
{
	uint64_t n = frame->n_chunks, i, sum = 0, n_special = 0, special = 0;

	for (i = 0; i < n; i++) {
		struct bfs_span span;
		uint32_t len = 0;

		starts[i] = sum;
		BFS_TRY(bfs_frame_span(frame, i, &span, diag));
		if (span.special != BFS_CHUNK_BLOCKS) {
			n_special++;
			special = i;
		} else {
			BFS_TRY(bfs_diag_chunk(diag, peek_len(frame, sweep,
							      &span, &len,
							      diag), i));
		}
		sum += len;
		if (sum > frame->nbytes)
			break;
	}
	starts[n] = sum;
	if (sum > frame->nbytes || (n_special == 0 && sum < frame->nbytes))
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0x1e,
				"the chunks have %" PRIu64 " bytes, the frame "
				"says %" PRIu64, sum, frame->nbytes);
	if (sum == frame->nbytes)
		return BFS_OK;
	if (n_special > 1)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"special chunk without size: %" PRIu64
				" of them share %" PRIu64 " bytes", n_special,
				frame->nbytes - sum);
	for (i = special + 1; i <= n; i++)
		starts[i] += frame->nbytes - sum;
	return BFS_OK;
}

/* Headers lie in one file about in order, or in files of their own. */
static enum bfs_err sweep_sizes(struct bfs_frame *frame, uint64_t *starts,
				struct bfs_diag *diag)
{
	struct bfs_source *sweep = NULL;
	enum bfs_err err;

	if (!frame->ops->source)
		BFS_TRY(bfs_source_sweep(frame->source, &sweep, diag));
	err = sum_sizes(frame, sweep, starts, diag);
	bfs_source_unref(sweep);
	return err;
}

/* How many chunks are sized: as many as there is room for in the file, which
 * a few bytes of index can exceed by far, and some that share their place. */
static uint64_t most_sized(const struct bfs_frame *frame)
{
	if (frame->ops->source)
		return MAX_SIZED_FILES;
	return bfs_min(MAX_SIZED, MAX_SHARED + bfs_source_len(frame->source) /
						BFS_CHUNK_MIN_HEADER);
}

static enum bfs_err find_sizes(struct bfs_frame *frame,
			       const uint64_t **ret_starts,
			       struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	struct bfs_diag why = { 0 };
	uint64_t *starts;
	enum bfs_err err;

	pthread_mutex_lock(&frame->sizes_lock);
	starts = frame->starts;
	err = frame->starts_err;
	if (err != BFS_OK && diag)
		*diag = frame->starts_why;
	pthread_mutex_unlock(&frame->sizes_lock);
	if (starts || err != BFS_OK) {
		*ret_starts = starts;
		return err;
	}
	if (frame->n_chunks > most_sized(frame))
		return bfs_fail(diag, BFS_ERR_LIMIT, 0,
				"%" PRIu64 " chunks of unknown size",
				frame->n_chunks);
	starts = bfs_alloc((size_t)(frame->n_chunks + 1) * sizeof(*starts));
	if (!starts)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for chunk sizes");
	err = bfs_moment_settle(mark, sweep_sizes(frame, starts, &why), &why);
	pthread_mutex_lock(&frame->sizes_lock);
	if (!frame->starts && frame->starts_err == BFS_OK) {
		if (err == BFS_OK) {
			frame->starts = starts;
			starts = NULL;
		} else if (!bfs_err_passes(err)) {
			frame->starts_err = err;
			frame->starts_why = why;
		}
	} else if (!frame->starts && err == BFS_OK) {
		/* Another thread found that they cannot be told. */
		err = frame->starts_err;
		why = frame->starts_why;
	}
	*ret_starts = frame->starts;
	pthread_mutex_unlock(&frame->sizes_lock);
	bfs_free(starts);
	if (err != BFS_OK && diag)
		*diag = why;
	return err;
}

enum bfs_err bfs_frame_chunk_len(struct bfs_frame *frame, uint64_t n,
				 uint32_t *ret_len, struct bfs_diag *diag)
{
	struct bfs_span span;
	const uint64_t *starts;

	if (n >= frame->n_chunks)
		return no_such_chunk(frame, n, diag);
	if (frame->chunksize > 0) {
		*ret_len = (uint32_t)bfs_min(
			(uint64_t)frame->chunksize,
			frame->nbytes - n * (uint64_t)frame->chunksize);
		return BFS_OK;
	}
	BFS_TRY(bfs_frame_span(frame, n, &span, diag));
	if (span.special == BFS_CHUNK_BLOCKS)
		return bfs_diag_chunk(diag, peek_len(frame, NULL, &span,
						     ret_len, diag), n);
	BFS_TRY(bfs_diag_chunk(diag, find_sizes(frame, &starts, diag), n));
	if (starts[n + 1] - starts[n] > BFS_CHUNK_MAX_NBYTES)
		return bfs_fail(diag, BFS_ERR_CORRUPT, 0,
				"special chunk %" PRIu64 " would have %" PRIu64
				" bytes", n, starts[n + 1] - starts[n]);
	*ret_len = (uint32_t)(starts[n + 1] - starts[n]);
	return BFS_OK;
}

enum bfs_err bfs_frame_chunk_off(struct bfs_frame *frame, uint64_t n,
				 uint64_t *ret_off, struct bfs_diag *diag)
{
	const uint64_t *starts;

	if (n > frame->n_chunks)
		return no_such_chunk(frame, n, diag);
	if (frame->chunksize > 0) {
		*ret_off = n == frame->n_chunks ? frame->nbytes :
				n * (uint64_t)frame->chunksize;
		return BFS_OK;
	}
	BFS_TRY(find_sizes(frame, &starts, diag));
	*ret_off = starts[n];
	return BFS_OK;
}

enum bfs_err bfs_frame_chunk_at(struct bfs_frame *frame, uint64_t off,
				uint64_t *ret_n, struct bfs_diag *diag)
{
	const uint64_t *starts;
	uint64_t lo = 0, hi = frame->n_chunks;

	if (off >= frame->nbytes)
		return bfs_fail(diag, BFS_ERR_RANGE, off,
				"byte %" PRIu64 " lies beyond the data", off);
	if (frame->chunksize > 0) {
		*ret_n = off / (uint64_t)frame->chunksize;
		return BFS_OK;
	}
	BFS_TRY(find_sizes(frame, &starts, diag));
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

void bfs_frame_note_sizes(struct bfs_frame *f)
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

enum bfs_err bfs_frame_add_meta(struct bfs_meta **metas, size_t *n_metas,
				const void *name, size_t name_len,
				uint64_t off, uint64_t len, bool is_chunk)
{
	size_t n = *n_metas;
	struct bfs_meta *list = *metas;

	/* Grown at powers of two. */
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
