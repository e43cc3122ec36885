/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * as_source.c - decoded bytes of an opened container as a source, so that a
 * container inside them can be opened like any other.
 *
 * Reading goes through the block cache. A thread that waits for a block of the
 * outer container may hold claims of the inner one, never the other way round,
 * so waiting cannot go in a circle.
 */
#include "array/priv.h"

#include "base/mem.h"

struct decoded {
	struct bfs_source base;
	struct bfs_array *array;	/* borrowed: outlives the source */
	struct bfs_stream stream;
	uint64_t off;
};

static enum bfs_err read_decoded(struct bfs_source *s, uint64_t off, void *buf,
				 size_t len, struct bfs_diag *diag)
{
	struct decoded *d = (struct decoded *)s;

	return bfs_array_read(d->array, &d->stream, d->off + off, buf, len,
			      diag);
}

static enum bfs_err check_decoded(struct bfs_source *s, struct bfs_diag *diag)
{
	return bfs_source_check(((struct decoded *)s)->array->container->source,
				diag);
}

static void close_decoded(struct bfs_source *s)
{
	bfs_free(s);
}

static const struct bfs_source_ops decoded_ops = {
	.read = read_decoded,
	.check = check_decoded,
	.close = close_decoded,
};

enum bfs_err bfs_array_as_source(struct bfs_array *array,
				 const struct bfs_stream *stream, uint64_t off,
				 uint64_t len, struct bfs_source **ret_source,
				 struct bfs_diag *diag)
{
	struct decoded *d;
	uint64_t whole;

	BFS_TRY(bfs_array_len(array, stream, &whole, diag));
	if (off > whole || len > whole - off)
		return bfs_fail(diag, BFS_ERR_RANGE, off,
				"the inner container would end beyond the "
				"decoded bytes");
	d = bfs_zalloc(1, sizeof(*d));
	if (!d)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	d->base.ops = &decoded_ops;
	d->base.len = len;
	d->base.id = array->container->source->id;
	d->base.decoded = true;
	d->base.refs = 1;
	d->array = array;
	d->stream = *stream;
	d->off = off;
	*ret_source = &d->base;
	return BFS_OK;
}
