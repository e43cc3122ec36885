/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * filter.h - the table of filters: one row in rows.def and one file each.
 *
 * A filter works on one whole block and never changes its length. Only the
 * undoing direction exists. Scalar code is the specification; variants are
 * chosen by CPU level. See docs/formats/filters.md.
 */
#ifndef BFS_FILTER_FILTER_H
#define BFS_FILTER_FILTER_H

#include "base/cpu.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bfs_filter_job {
	const uint8_t *src;	/* len bytes, filtered */
	/* undo_both: NULL, or where each of typesize equal parts of src lies
	 * instead. */
	const uint8_t *const *planes;
	uint8_t *dst;		/* len bytes; never overlaps src, unless the
				 * row says in_place: then it may equal src */
	size_t len;		/* of the block, bytes */
	uint32_t typesize;	/* of the chunk header, 1 ... 256 */
	uint32_t frame_typesize;	/* of the frame; 0 for a bare chunk */
	uint8_t meta;		/* of this slot */
	uint8_t version;	/* of the chunk (bitshuffle's old rule) */
	const uint8_t *ref;	/* delta: the finished block 0 of the chunk,
				 * at least len bytes; NULL if this block is
				 * its own reference */
	uint8_t ndim;		/* of the array around; 0 = none */
	const int32_t *blockshape;	/* ndim entries */
};

struct bfs_filter_sample {
	const uint8_t *src;
	const uint8_t *want;
	size_t len;
	uint32_t typesize;
	uint8_t meta;
};

struct bfs_filter {
	const char *name;	/* as users know it: "bitshuffle" */
	int id;			/* in the pipeline bytes */
	bool identity;		/* nothing to undo on reading */
	bool needs_ref;		/* delta: wants block 0 */
	bool in_place;		/* src == dst is allowed */
	/* Whether the job can be done at all (widths, shapes); NULL: always.
	 * Called once per chunk, with len = block size and src, dst NULL. */
	enum bfs_err (*check)(const struct bfs_filter_job *job,
			      struct bfs_diag *diag);
	/* By level; [BFS_CPU_SCALAR] is always there, the others may be NULL.
	 * All NULL: known but not undoable here ("unsupported"). */
	void (*undo[BFS_N_CPUS])(const struct bfs_filter_job *job);
	/* Undoes this filter and then `next` (which may be NULL) in one pass
	 * over the block; src and dst do not overlap. False: not these two or
	 * not here, and nothing was done. NULL: never. */
	bool (*undo_both)(const struct bfs_filter_job *job,
			  const struct bfs_filter *next, uint8_t next_meta);
	struct bfs_filter_sample sample;
	/* The array around the sample, for filters that want one. */
	uint8_t sample_ndim;
	const int32_t *sample_shape;
};

/* The member `undo` of a filter that has a variant for every level of the
 * architecture: undo_scalar, undo_sse2 ... of its file. */
#if defined(BFS_X86)
#define BFS_UNDO_BY_LEVEL                       \
	{                                       \
		[BFS_CPU_SCALAR] = undo_scalar, \
		[BFS_CPU_SSE2] = undo_sse2,     \
		[BFS_CPU_AVX2] = undo_avx2,     \
		[BFS_CPU_AVX512] = undo_avx512, \
	}
#elif defined(BFS_ARM64)
#define BFS_UNDO_BY_LEVEL \
	{ [BFS_CPU_SCALAR] = undo_scalar, [BFS_CPU_NEON] = undo_neon }
#else
#define BFS_UNDO_BY_LEVEL { [BFS_CPU_SCALAR] = undo_scalar }
#endif

#define BFS_FILTER_ROW(stem) extern const struct bfs_filter bfs_filter_##stem;
#include "filter/rows.def"
#undef BFS_FILTER_ROW

extern const struct bfs_filter *const bfs_filters[];
extern const size_t bfs_n_filters;

/* The row of a filter id, or NULL. Id 0 ("none") has no row. */
const struct bfs_filter *bfs_filter_find(unsigned id);
/* Its name; "filter-<n>" for an unknown id is written to buf. */
const char *bfs_filter_name(unsigned id, char buf[24]);

/* Undoes one filter with the best variant for bfs_cpu_level(). */
void bfs_filter_undo(const struct bfs_filter *filter,
		     const struct bfs_filter_job *job);

#endif
