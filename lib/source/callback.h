/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * callback.h - a source that somebody else reads: an object in a store, bytes
 * behind a network, whatever has a length and an identity.
 */
#ifndef BFS_SOURCE_CALLBACK_H
#define BFS_SOURCE_CALLBACK_H

#include "base/err.h"
#include "source/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How it is read. All may be called by any threads at once. What they return
 * but OK is an error of the moment (moment.h): other errors become IO. */
struct bfs_callback {
	/* Fills buf and says how much of it; anything but len is an error. */
	enum bfs_err (*read)(void *arg, uint64_t off, void *buf, size_t len,
			     size_t *ret_len, struct bfs_diag *diag);
	/* CHANGED where the object is another one by now. NULL: never. */
	enum bfs_err (*check)(void *arg, struct bfs_diag *diag);
	/* As in struct bfs_source_ops; NULL: it is not told. */
	void (*will_read)(void *arg, const struct bfs_range *ranges, size_t n);
	/* As in struct bfs_source_ops; may be NULL. */
	bool (*is_near)(void *arg, uint64_t off, uint64_t len);
	void (*close)(void *arg);	/* may be NULL */
	void *arg;
	uint64_t len;			/* bytes */
	uint64_t wait_cost;		/* as in struct bfs_source */
	/* Two openings of one identity have the same bytes. None (length 0):
	 * no two have. Not kept. */
	const void *identity;
	size_t identity_len;
};

/* arg belongs to the source from bfs_source_callback_own on: until then
 * close is not called. how is copied. */
enum bfs_err bfs_source_callback(const struct bfs_callback *how,
				 struct bfs_source **ret_source,
				 struct bfs_diag *diag) BFS_MUST_CHECK;
void bfs_source_callback_own(struct bfs_source *source);

#endif
