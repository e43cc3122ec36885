/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sparseframe.c - the sparse frame: a directory with an index file and one
 * file for each chunk, named by the number that the index gives.
 *
 * Files are opened relative to the directory and never through symlinks; the
 * directory is never listed to find data. See docs/formats/sparseframe.md.
 */
#include "container/b2frame.h"
#include "container/b2parts.h"
#include "container/container.h"
#include "container/index.h"
#include "container/openfiles.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "source/dir.h"

#include <inttypes.h>
#include <stdio.h>

#define INDEX_NAME "chunks.b2frame"

static bool probe_dir(struct bfs_dir *dir)
{
	static const uint8_t magic[] = "\xa8" "b2frame";
	struct bfs_source *source;
	uint8_t head[1 + sizeof(magic)];
	size_t len;
	bool found;

	if (bfs_dir_file(dir, INDEX_NAME, NULL, &source, NULL) != BFS_OK)
		return false;
	/* An index that was cut off, even to nothing, is still one. */
	len = (size_t)bfs_min(sizeof(head), bfs_source_len(source));
	found = bfs_source_read(source, 0, head, len, NULL) == BFS_OK &&
		(len < 2 || !memcmp(head + 1, magic, len - 1));
	bfs_source_unref(source);
	return found;
}

static enum bfs_err open_dir(struct bfs_container *f, const char *name,
			     struct bfs_diag *diag)
{
	struct bfs_openfiles *files = bfs_zalloc(1, sizeof(*files));

	(void)name;
	if (!files)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0, "no memory");
	bfs_openfiles_init(files, &f->guard);
	f->priv = files;
	BFS_TRY(bfs_dir_file(f->dir, INDEX_NAME, &f->guard, &f->source,
			     diag));
	BFS_TRY(bfs_b2frame_open(f, true, diag));
	f->cbytes += f->data_len;
	return BFS_OK;
}

static enum bfs_err span(struct bfs_container *f, uint64_t n,
			 struct bfs_span *ret_span, struct bfs_diag *diag)
{
	struct bfs_span s = { .nbytes = UINT32_MAX, .avail = UINT64_MAX };
	int64_t entry;

	BFS_TRY(bfs_index_get(f->index, n, &entry, diag));
	BFS_TRY(bfs_index_decode(entry, &s, n, diag));
	if (f->chunksize > 0)
		s.nbytes = (uint32_t)bfs_min(
			(uint64_t)f->chunksize,
			f->nbytes - n * (uint64_t)f->chunksize);
	if (s.special == BFS_CHUNK_BLOCKS && s.off > UINT32_MAX)
		return bfs_fail(diag, BFS_ERR_CORRUPT, f->data_off,
				"chunk %" PRIu64 " would be file %" PRIu64, n,
				s.off);
	s.file = s.off;
	s.off = 0;
	*ret_span = s;
	return BFS_OK;
}

static enum bfs_err source(struct bfs_container *f,
			   const struct bfs_span *span_,
			   struct bfs_source **ret_source,
			   struct bfs_diag *diag)
{
	char name[24];

	snprintf(name, sizeof(name), "%08" PRIX64 ".chunk", span_->file);
	return bfs_openfiles_get(f->priv, f->dir, span_->file, name,
				 ret_source, diag);
}

static void rest(struct bfs_container *f)
{
	if (f->priv)
		bfs_openfiles_rest(f->priv);
}

static void close_dir(struct bfs_container *f)
{
	if (f->priv)
		bfs_openfiles_release(f->priv);
	bfs_free(f->priv);
}

static const struct bfs_dir_part parts[] = {
	{ "", ".b2frame" }, { "", ".chunk" }, { NULL, NULL },
};

const struct bfs_format bfs_container_sparseframe = {
	.name = "sparse b2frame",
	.probe_dir = probe_dir,
	.index_name = INDEX_NAME,
	.parts = parts,
	.open = open_dir,
	.span = span,
	.source = source,
	.examine = bfs_b2parts_examine,
	.rest = rest,
	.close = close_dir,
};
