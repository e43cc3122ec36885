/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sparseframe.c - the sparse frame: a directory with an index file and one
 * file for each chunk, named by the number that the index gives.
 *
 * Files are opened relative to the directory and never through symlinks; the
 * directory is never listed to find data, only to find what is none. See
 * docs/formats/sparseframe.md.
 */
#include "container/b2frame.h"
#include "container/b2parts.h"
#include "container/container.h"
#include "container/chunkfiles.h"
#include "container/index.h"
#include "container/openfiles.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "source/dir.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	BFS_TRY(bfs_index_decode(entry, &s, diag));
	if (f->chunksize > 0)
		s.nbytes = (uint32_t)bfs_min(
			(uint64_t)f->chunksize,
			f->nbytes - n * (uint64_t)f->chunksize);
	if (s.special == BFS_CHUNK_BLOCKS && s.off > UINT32_MAX)
		return bfs_fail(diag, BFS_ERR_CORRUPT, f->data_off,
				"it would be file %" PRIu64, s.off);
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

/* ---- files that nobody names ----------------------------------------- */

struct found {
	const uint64_t *numbers;	/* of files in the index, sorted */
	size_t n;
};

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* As source() spells it. */
static bool is_named(const void *arg, const char *name)
{
	const struct found *found = arg;
	uint64_t number = strtoull(name, NULL, 16);
	char own[24];

	if (!strcmp(name, INDEX_NAME))
		return true;
	snprintf(own, sizeof(own), "%08" PRIX64 ".chunk", number);
	return !strcmp(name, own) &&
	       bsearch(&number, found->numbers, found->n,
		       sizeof(*found->numbers), compare_numbers);
}

static enum bfs_err examine_files(struct bfs_container *f,
				  const struct bfs_examiner *x,
				  struct bfs_diag *diag)
{
	BFS_CLEANUP(bfs_freep) uint64_t *numbers = NULL;
	struct found found = { 0 };
	const struct bfs_chunkfiles files = { f->dir, is_named, &found, NULL };
	struct bfs_span s;
	enum bfs_err err;
	uint64_t i;

	/* An index that does not hold names nothing. */
	if (f->status == BFS_DAMAGED || f->n_chunks > BFS_EXAMINE_MAX)
		return BFS_OK;
	numbers = bfs_alloc(((size_t)f->n_chunks + 1) * sizeof(*numbers));
	if (!numbers)
		return bfs_fail(diag, BFS_ERR_NOMEM, 0,
				"no memory for the numbers of files");
	for (i = 0; i < f->n_chunks; i++) {
		err = span(f, i, &s, diag);
		if (err != BFS_OK)
			return bfs_err_passes(err) ? err : BFS_OK;
		if (s.special == BFS_CHUNK_BLOCKS)
			numbers[found.n++] = s.file;
	}
	qsort(numbers, found.n, sizeof(*numbers), compare_numbers);
	found.numbers = numbers;
	return bfs_chunkfiles_examine(f, &files, x, diag);
}

static enum bfs_err examine(struct bfs_container *f,
			    const struct bfs_examiner *x,
			    struct bfs_diag *diag)
{
	BFS_TRY(bfs_b2parts_examine(f, x, diag));
	return examine_files(f, x, diag);
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
	.examine = examine,
	.rest = rest,
	.close = close_dir,
};
