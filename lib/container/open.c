/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open.c - the table of formats, probing them, and opening a container.
 */
#include "container/container.h"

#include "container/kind.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/moment.h"
#include "source/sweep.h"

#include <string.h>

const struct bfs_format *const bfs_formats[] = {
#define BFS_CONTAINER_ROW(stem) &bfs_container_##stem,
#include "container/rows.def"
#undef BFS_CONTAINER_ROW
};
const size_t bfs_n_formats = BFS_ARRAY_LEN(bfs_formats);

/* head has room for BFS_CONTAINER_PROBE bytes. */
static const struct bfs_format *find_row(struct bfs_source *source,
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
	for (i = 0; i < bfs_n_formats; i++)
		if (bfs_formats[i]->probe &&
		    bfs_formats[i]->probe(source, head, len, name))
			return bfs_formats[i];
	return NULL;
}

const struct bfs_format *bfs_container_probe(struct bfs_source *source,
					     const char *name)
{
	const struct bfs_format *row;
	uint8_t head[BFS_CONTAINER_PROBE];
	struct bfs_source *sweep = NULL;
	size_t len;

	if (bfs_source_sweep(source, &sweep, NULL) != BFS_OK)
		return NULL;
	row = find_row(sweep, name, head, &len);
	bfs_source_unref(sweep);
	return row;
}

const char *bfs_claimed_container(const char *name)
{
	size_t i;

	for (i = 0; i < bfs_n_formats; i++)
		if (bfs_format_claims(bfs_formats[i], name))
			return bfs_formats[i]->name;
	return NULL;
}

bool bfs_container_is_short(struct bfs_source *source, const char *name)
{
	uint8_t head[BFS_CONTAINER_PROBE];
	const struct bfs_format *row;
	size_t len;

	row = find_row(source, name, head, &len);
	return row && row->is_short &&
	       row->is_short(head, len, bfs_source_len(source));
}

static const struct bfs_format *probe_rows(struct bfs_dir *dir, bool beside)
{
	size_t i;

	for (i = 0; i < bfs_n_formats; i++)
		if (bfs_formats[i]->probe_dir &&
		    bfs_formats[i]->beside == beside &&
		    bfs_formats[i]->probe_dir(dir))
			return bfs_formats[i];
	return NULL;
}

const struct bfs_format *bfs_container_probe_in(struct bfs_dir *dir)
{
	return probe_rows(dir, false);
}

/* Of the row that was found, or NULL: none was, or the error of the moment met
 * since the mark hides it. */
static enum bfs_err new_container(const struct bfs_format *ops, uint64_t mark,
				  struct bfs_cache *cache,
				  struct bfs_container **ret_container,
				  struct bfs_diag *diag)
{
	if (!ops)
		return bfs_moment_settle(mark, bfs_fail(
				diag, BFS_ERR_NOT_FORMAT, 0,
				"not a Blosc container"), diag);
	return bfs_container_new(ops, cache, ret_container, diag);
}

/* Fails if the source changed meanwhile: what was read may then be half of the
 * old file and half of the new one. */
static enum bfs_err read_row(struct bfs_container *container, const char *name,
			     struct bfs_diag *diag)
{
	BFS_TRY(container->ops->open(container, name, diag));
	BFS_TRY(bfs_kind_find(container, diag));
	return bfs_source_check(container->source, diag);
}

/* Takes the container, which is closed where it cannot be opened. */
static enum bfs_err open_row(struct bfs_container *container, const char *name,
			     uint64_t mark,
			     struct bfs_container **ret_container,
			     struct bfs_diag *diag)
{
	enum bfs_err err = bfs_moment_settle(
			mark, read_row(container, name, diag), diag);

	if (err == BFS_OK)
		*ret_container = container;
	else
		bfs_container_close(container);
	return err;
}

enum bfs_err bfs_container_open_in(struct bfs_dir *dir,
				   const struct bfs_guard *guard,
				   struct bfs_cache *cache,
				   struct bfs_container **ret_container,
				   struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	const struct bfs_format *row = bfs_container_probe_in(dir);
	struct bfs_container *container;

	if (!row)
		row = probe_rows(dir, true);
	BFS_TRY(new_container(row, mark, cache, &container, diag));
	container->guard = *guard;
	container->dir = bfs_dir_ref(dir);
	return open_row(container, NULL, mark, ret_container, diag);
}

static enum bfs_err open_swept(struct bfs_source *sweep, const char *name,
			       const struct bfs_format *ops,
			       struct bfs_cache *cache,
			       struct bfs_container **ret_container,
			       struct bfs_diag *diag)
{
	uint64_t mark = bfs_moment_mark();
	struct bfs_container *container;
	uint8_t head[BFS_CONTAINER_PROBE];
	size_t len;

	if (!ops)
		ops = find_row(sweep, name, head, &len);
	BFS_TRY(new_container(ops, mark, cache, &container, diag));
	container->source = bfs_source_ref(sweep);
	container->cbytes = bfs_source_len(sweep);
	container->name = name ? bfs_memdup0(name, strlen(name)) : NULL;
	if (name && !container->name) {
		bfs_container_close(container);
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for a container's name");
	}
	return open_row(container, name, mark, ret_container, diag);
}

enum bfs_err bfs_container_open(struct bfs_source *source, const char *name,
				const struct bfs_format *ops,
				struct bfs_cache *cache,
				struct bfs_container **ret_container,
				struct bfs_diag *diag)
{
	struct bfs_source *sweep;
	enum bfs_err err;

	BFS_TRY(bfs_source_sweep(source, &sweep, diag));
	err = open_swept(sweep, name, ops, cache, ret_container, diag);
	if (err == BFS_OK) {
		/* What the container has opened on the sweep reads through it
		 * to the source from now on. */
		bfs_source_sweep_end(sweep);
		bfs_source_unref((*ret_container)->source);
		(*ret_container)->source = bfs_source_ref(source);
	}
	bfs_source_unref(sweep);
	return err;
}
