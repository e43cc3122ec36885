/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * guess.c - what is known of where bytes lie before a chunk's header is: the
 * order of chunks, and where about in one some of its blocks may be.
 */
#include "array/guess.h"

#include "array/priv.h"
#include "base/bytes.h"

/* So near to the header that it is read in one. */
#define NEAR (UINT64_C(128) << 10)
/* The longest guess: a longer one costs more than the wait that it spares. */
#define MOST (UINT64_C(1) << 20)

bool bfs_array_in_order(const struct bfs_array *a)
{
	return !a->has_nd ||
	       (a->nd.n == 1 && !a->plain &&
		a->nd.chunk[0] == a->nd.chunk_len &&
		(uint64_t)a->container->chunksize == a->nd.chunk_len);
}

/* How many bytes the chunk takes, as far as that shows; 0: it does not. */
static uint64_t stored_len(struct bfs_container *f, uint64_t n,
			   const struct bfs_span *span)
{
	uint64_t len = bfs_min(span->avail,
			       bfs_source_len(f->source) - span->off);
	struct bfs_span next;

	if (n + 1 < f->n_chunks &&
	    bfs_container_span(f, n + 1, &next, NULL) == BFS_OK &&
	    next.special == BFS_CHUNK_BLOCKS && next.off > span->off)
		len = bfs_min(len, next.off - span->off);
	/* A longer range has more in it than this chunk, and tells nothing. */
	return len <= (uint64_t)f->chunksize + NEAR ? len : 0;
}

/* As the container says, or as others of its chunks have it; 0: unknown. */
static uint64_t block_len(const struct bfs_array *a)
{
	if (a->has_nd && !a->plain)
		return a->nd.block_len;
	if (a->container->blocksize > 0)
		return a->container->blocksize;
	return atomic_load_explicit(&a->seen_block, memory_order_relaxed);
}

bool bfs_guess_blocks(struct bfs_array *a, uint64_t n,
		      const struct bfs_span *span, uint32_t pos, uint64_t len,
		      struct bfs_range *ret_range)
{
	struct bfs_container *f = a->container;
	uint64_t block = block_len(a), n_blocks, head, each, from, to, all;

	if (f->chunksize <= 0 || block == 0 || len == 0 ||
	    !bfs_inside(pos, len, (uint64_t)f->chunksize) ||
	    span->off >= bfs_source_len(f->source))
		return false;
	n_blocks = bfs_div_up((uint64_t)f->chunksize, block);
	head = BFS_CHUNK_HEADER + 4 * n_blocks;
	all = stored_len(f, n, span);
	if (all <= head)
		return false;
	each = bfs_div_up(all - head, n_blocks);
	from = head + pos / block * each;
	to = head + ((pos + len - 1) / block + 1) * each;
	/* Half a block to each side, since they differ. */
	to = bfs_min(to + each / 2, all);
	from = to <= NEAR ? 0 : from - bfs_min(from, each / 2);
	if (from >= to || to - from > MOST)
		return false;
	*ret_range = (struct bfs_range){ span->off + from, to - from };
	return true;
}
