/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * indexed.c - see indexed.h.
 */
#include "container/indexed.h"

#include "base/bytes.h"

#include <inttypes.h>

enum bfs_err bfs_index_attach(struct bfs_container *f, uint64_t off,
			      uint64_t avail, struct bfs_diag *diag)
{
	uint64_t n, want;

	BFS_TRY(bfs_index_open(f->cache, f->source, off, avail, &f->index, &n,
			       diag));
	want = f->chunksize > 0 ?
		bfs_div_up(f->nbytes, (uint64_t)f->chunksize) : n;
	if (n != want)
		return bfs_fail(diag, BFS_ERR_CORRUPT, off,
				"the index has %" PRIu64 " entries for %" PRIu64
				" chunks", n, want);
	if (n == 0)
		return bfs_fail(diag, BFS_ERR_CORRUPT, off,
				"the index is empty, the frame is not");
	f->n_chunks = n;
	return BFS_OK;
}

enum bfs_err bfs_index_span(struct bfs_container *f, uint64_t n,
			    struct bfs_span *ret_span, struct bfs_diag *diag)
{
	struct bfs_span s = { .nbytes = UINT32_MAX };
	uint64_t at = f->data_off + f->data_len;
	int64_t entry;

	BFS_TRY(bfs_index_get(f->index, n, &entry, diag));
	BFS_TRY(bfs_diag_shift(diag, bfs_index_decode(entry, &s, diag), at));
	if (f->chunksize > 0)
		s.nbytes = (uint32_t)bfs_min(
			(uint64_t)f->chunksize,
			f->nbytes - n * (uint64_t)f->chunksize);
	if (s.special == BFS_CHUNK_BLOCKS) {
		if (!bfs_inside(s.off, BFS_CHUNK_MIN_HEADER, f->data_len))
			return bfs_fail(diag, BFS_ERR_CORRUPT, at,
					"it would begin at %" PRIu64 " of %"
					PRIu64 " bytes of chunks", s.off,
					f->data_len);
		s.avail = f->data_len - s.off;
		s.off += f->data_off;
	}
	*ret_span = s;
	return BFS_OK;
}
