/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nd_copy.c - a piece of a block copied to where it belongs in C order.
 */
#include "array/nd.h"

#include <string.h>

/*
 * Copies `count` runs of one length. A length that the compiler knows is one
 * load and one store; other short ones are two that overlap. Places are
 * counted, not pointed at: the step behind the last run may leave the buffer.
 */
#define COPY_ITEMS(name, len)						\
static void name(uint8_t *dst, const uint8_t *src, size_t count,	\
		 size_t dst_step, size_t src_step, size_t run)		\
{									\
	size_t d = 0, s = 0;						\
									\
	(void)run;							\
	for (; count; count--, d += dst_step, s += src_step)		\
		memcpy(dst + d, src + s, len);				\
}

#define COPY_RUNS(name, len)						\
static void name(uint8_t *dst, const uint8_t *src, size_t count,	\
		 size_t dst_step, size_t src_step, size_t run)		\
{									\
	uint8_t head[len], tail[len];					\
	size_t d = 0, s = 0;						\
									\
	for (; count; count--, d += dst_step, s += src_step) {		\
		memcpy(head, src + s, len);				\
		memcpy(tail, src + s + (run - len), len);		\
		memcpy(dst + d, head, len);				\
		memcpy(dst + d + (run - len), tail, len);		\
	}								\
}

COPY_ITEMS(copy_1, 1)
COPY_ITEMS(copy_2, 2)
COPY_ITEMS(copy_4, 4)
COPY_ITEMS(copy_8, 8)
COPY_ITEMS(copy_16, 16)
COPY_RUNS(copy_2_to_4, 2)
COPY_RUNS(copy_4_to_8, 4)
COPY_RUNS(copy_8_to_16, 8)
COPY_RUNS(copy_16_to_32, 16)
COPY_RUNS(copy_32_to_64, 32)

static void copy_long(uint8_t *dst, const uint8_t *src, size_t count,
		      size_t dst_step, size_t src_step, size_t run)
{
	size_t d = 0, s = 0;

	for (; count; count--, d += dst_step, s += src_step)
		memcpy(dst + d, src + s, run);
}

typedef void copy_fn(uint8_t *dst, const uint8_t *src, size_t count,
		     size_t dst_step, size_t src_step, size_t run);

static copy_fn *find_copy(size_t run)
{
	switch (run) {
	case 1:
		return copy_1;
	case 2:
		return copy_2;
	case 4:
		return copy_4;
	case 8:
		return copy_8;
	case 16:
		return copy_16;
	default:
		break;
	}
	if (run < 4)
		return copy_2_to_4;
	if (run < 8)
		return copy_4_to_8;
	if (run < 16)
		return copy_8_to_16;
	if (run <= 32)
		return copy_16_to_32;
	return run <= 64 ? copy_32_to_64 : copy_long;
}

/* Moves to the next place in the outer n dimensions; false after the last. */
static bool advance(const struct bfs_nd_piece *piece, unsigned n, size_t *at,
		    size_t *src, size_t *dst)
{
	unsigned d = n;

	while (d-- > 0) {
		*src += (size_t)piece->src_stride[d];
		*dst += (size_t)piece->dst_stride[d];
		if (++at[d] < piece->count[d])
			return true;
		*src -= (size_t)(piece->count[d] * piece->src_stride[d]);
		*dst -= (size_t)(piece->count[d] * piece->dst_stride[d]);
		at[d] = 0;
	}
	return false;
}

void bfs_nd_copy(const struct bfs_nd_piece *piece, const uint8_t *block,
		 uint8_t *dst)
{
	size_t from = (size_t)piece->src_off, to = (size_t)piece->dst_off;
	size_t run = (size_t)piece->run;
	size_t at[BFS_ND_MAX + 1];
	copy_fn *copy;
	unsigned d, n;

	if (!piece->n) {
		memcpy(dst + to, block + from, run);
		return;
	}
	n = piece->n - 1;
	copy = find_copy(run);
	for (d = 0; d < n; d++)
		at[d] = 0;
	do {
		copy(dst + to, block + from, (size_t)piece->count[n],
		     (size_t)piece->dst_stride[n],
		     (size_t)piece->src_stride[n], run);
	} while (advance(piece, n, at, &from, &to));
}
