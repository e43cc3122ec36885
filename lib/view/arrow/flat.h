/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flat.h - FlatBuffers, written from front to back: what Arrow's metadata are
 * (FlatBuffers' "Internals": tables, vtables, vectors, strings).
 *
 * A parent is written before its children and its slots are filled in
 * afterwards, since all offsets of FlatBuffers lead forwards. Defaults are
 * written out, so that the length never depends on values.
 *
 * A builder whose memory ran out does nothing more and says so at its end; it
 * gives 0 for places then.
 */
#ifndef BFS_VIEW_ARROW_FLAT_H
#define BFS_VIEW_ARROW_FLAT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BFS_FLAT_MAX (UINT32_C(1) << 28)	/* bytes of one buffer */
#define BFS_FLAT_SLOTS 8			/* of one table */

struct bfs_flat {
	uint8_t *buf;		/* owned */
	size_t len, cap;
	enum bfs_err err;
};

/* Begins with the offset of the root table, which bfs_flat_root sets. */
void bfs_flat_init(struct bfs_flat *flat);
void bfs_flat_release(struct bfs_flat *flat);

/* A table of n slots of these sizes (0: absent; 1, 2, 4, 8), all zero. */
size_t bfs_flat_table(struct bfs_flat *flat, const uint8_t *sizes, size_t n);
void bfs_flat_root(struct bfs_flat *flat, size_t table);
/* Where slot i of a table lies. */
size_t bfs_flat_slot(const struct bfs_flat *flat, size_t table, size_t i);
/* Writes the low n bytes of v into what was written. */
void bfs_flat_set(struct bfs_flat *flat, size_t at, uint64_t v, unsigned n);
/* Leads the slot or element at `from` (of 4 bytes) to what lies at `to`. */
void bfs_flat_link(struct bfs_flat *flat, size_t from, size_t to);
size_t bfs_flat_string(struct bfs_flat *flat, const void *text, size_t len);
/* A vector of n elements of `size` bytes, all zero, aligned to `align`; its
 * elements begin 4 bytes behind. */
size_t bfs_flat_vector(struct bfs_flat *flat, size_t n, size_t size,
		       size_t align);

#endif
