/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chunkfiles.c - chunk files and their neighbours.
 */
#include "container/chunkfiles.h"

#include "base/bytes.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- in the files ---------------------------------------------------- */

static enum bfs_err examine_file(struct bfs_container *f, uint64_t n,
				 const struct bfs_span *span,
				 struct bfs_source *source,
				 bfs_chunkfiles_look *look,
				 const struct bfs_examiner *x,
				 struct bfs_diag *diag)
{
	uint8_t head[BFS_CHUNKFILES_HEAD];
	struct bfs_chunk_head h;
	uint64_t end;

	BFS_TRY(bfs_container_peek_in(source, span, &h, diag));
	BFS_TRY(bfs_examine_streams(f, n, source, span, x, diag));
	end = span->off + h.cbytes + f->chunk_tail;
	if (end < bfs_source_len(source))
		bfs_examine_tell(x, true, end, (int64_t)n, "%" PRIu64 " bytes "
				 "behind it that nothing names",
				 bfs_source_len(source) - end);
	if (!look || span->off == 0 || span->off > sizeof(head))
		return BFS_OK;
	BFS_TRY(bfs_source_read(source, 0, head, (size_t)span->off, diag));
	look(x, n, head, (size_t)span->off);
	return BFS_OK;
}

static enum bfs_err examine_files(struct bfs_container *f,
				  bfs_chunkfiles_look *look,
				  const struct bfs_examiner *x,
				  struct bfs_diag *diag)
{
	uint64_t n = bfs_min(f->n_chunks, BFS_EXAMINE_MAX), i;

	for (i = 0; i < n; i++) {
		struct bfs_source *source;
		struct bfs_span span;
		enum bfs_err err = bfs_container_span(f, i, &span, diag);

		if (err == BFS_OK && span.special != BFS_CHUNK_BLOCKS)
			continue;
		if (err == BFS_OK)
			err = f->ops->source(f, &span, &source, diag);
		if (err == BFS_OK) {
			err = examine_file(f, i, &span, source, look, x, diag);
			bfs_source_unref(source);
		}
		if (bfs_err_passes(err))
			return err;
	}
	return BFS_OK;
}

/* ---- beside them ----------------------------------------------------- */

struct strays {
	const struct bfs_chunkfiles *files;
	uint64_t n;
	char first[64];		/* of all, by name */
};

static bool look_at(void *arg, const char *name)
{
	struct strays *strays = arg;

	if (strays->files->is_named(strays->files->arg, name))
		return true;
	if (strays->n++ == 0 || strcmp(name, strays->first) < 0)
		snprintf(strays->first, sizeof(strays->first), "%.63s", name);
	return true;
}

enum bfs_err bfs_chunkfiles_examine(struct bfs_container *f,
				    const struct bfs_chunkfiles *files,
				    const struct bfs_examiner *x,
				    struct bfs_diag *diag)
{
	struct strays strays = { .files = files };
	enum bfs_err err = bfs_dir_each(files->dir, look_at, &strays, diag);

	if (err != BFS_OK)
		return err == BFS_ERR_UNSUPPORTED ? BFS_OK : err;
	if (strays.n)
		bfs_examine_tell(x, true, 0, -1, "%" PRIu64 " files that "
				 "nothing names, the first is '%s'",
				 strays.n, strays.first);
	return examine_files(f, files->look, x, diag);
}
