/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chainend.c - the streams of the last block must end where the chunk does, and
 * what follows must not look like a chunk.
 *
 * Chunks have no checksum. A header with one wrong byte is known by its other
 * fields, which are still plausible.
 */
#include "container/chainend.h"

#include "base/bytes.h"

#include <inttypes.h>

#define PIECE 1024		/* entries of bstarts read at once */
#define MAX_STREAMS 65536	/* of one block */

/* Where the last block of the chunk begins, counted from the chunk. */
static enum bfs_err find_last_block(struct bfs_source *source, uint64_t off,
				    const struct bfs_chunk_head *h,
				    uint32_t *ret_start, struct bfs_diag *why)
{
	uint32_t last = 0, k, n, i;
	uint8_t words[4 * PIECE];

	for (k = 0; k < h->n_blocks; k += n) {
		n = (uint32_t)bfs_min(PIECE, h->n_blocks - k);
		BFS_TRY(bfs_source_read(source, off + h->header_len +
					4 * (uint64_t)k, words, 4 * (size_t)n,
					why));
		for (i = 0; i < n; i++)
			last = (uint32_t)bfs_max(last,
						 bfs_le32(words + 4 * i));
	}
	*ret_start = last;
	return BFS_OK;
}

/* A stream is its length and its bytes. A length that is not positive is that
 * of a run: one token, where it is negative, and nothing where it is 0. */
static enum bfs_err check_streams(struct bfs_source *source, uint64_t off,
				  const struct bfs_chunk_head *h,
				  struct bfs_diag *why)
{
	uint32_t start, n;
	uint64_t at;

	BFS_TRY(find_last_block(source, off, h, &start, why));
	at = start;
	for (n = 0; at < h->cbytes && n < MAX_STREAMS; n++) {
		uint8_t word[4];
		int32_t len;

		if (!bfs_inside(at, 4, h->cbytes))
			break;
		BFS_TRY(bfs_source_read(source, off + at, word, 4, why));
		len = (int32_t)bfs_le32(word);
		at += 4 + (len > 0 ? (uint64_t)len : len < 0);
	}
	if (at != h->cbytes)
		return bfs_fail(why, BFS_ERR_CORRUPT, off + 12,
				"the streams of the last chunk do not end "
				"where it does");
	return BFS_OK;
}

/* How many fields at p cannot be those of a chunk's header. */
static unsigned count_missing(const uint8_t *p, uint64_t left)
{
	uint32_t header_len = (p[2] & 5) == 5 ? 32 : 16;
	uint32_t nbytes = bfs_le32(p + 4), blocksize = bfs_le32(p + 8);
	uint32_t cbytes = bfs_le32(p + 12);

	return (unsigned)((p[0] < 1 || p[0] > 6) + (p[1] != 1) +
			  (nbytes > INT32_MAX) +
			  (blocksize < 1 || blocksize > INT32_MAX) +
			  (cbytes < header_len || cbytes > left));
}

enum bfs_err bfs_chainend_check(struct bfs_source *source, uint64_t off,
				const struct bfs_chunk_head *h,
				struct bfs_diag *why)
{
	uint64_t end = off + h->cbytes, left = bfs_source_len(source) - end;
	uint8_t head[BFS_CHUNK_MIN_HEADER];

	if (h->kind == BFS_CHUNK_BLOCKS || h->kind == BFS_CHUNK_VLBLOCKS)
		BFS_TRY(check_streams(source, off, h, why));
	if (left < sizeof(head))
		return BFS_OK;
	BFS_TRY(bfs_source_read(source, end, head, sizeof(head), why));
	if (count_missing(head, left) <= 1)
		return bfs_fail(why, BFS_ERR_CORRUPT, end,
				"what follows the last chunk looks like a "
				"damaged one");
	return BFS_OK;
}
