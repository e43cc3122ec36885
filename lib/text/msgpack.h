/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msgpack.h - MessagePack: a walk with limits before anybody unpacks, and
 * the way from MessagePack to JSON.
 *
 * msgpack-c allocates what a header claims; so every value is walked here
 * first, and only a value that passed is given to the library.
 */
#ifndef BFS_TEXT_MSGPACK_H
#define BFS_TEXT_MSGPACK_H

#include "base/err.h"
#include "text/json.h"

#include <stddef.h>
#include <stdint.h>

#define BFS_MSGPACK_DEPTH 32
#define BFS_MSGPACK_NODES 1000000

/* Walks one value from buf: all lengths inside the buffer, depth and node
 * count within the limits. *ret_len is the bytes that the value takes. */
enum bfs_err bfs_msgpack_walk(const void *buf, size_t len, size_t *ret_len,
			      struct bfs_diag *diag) BFS_MUST_CHECK;

/* The same with what is left of the limits; *nodes_left goes down. */
enum bfs_err bfs_msgpack_walk_within(const void *buf, size_t len,
				     unsigned max_depth, uint64_t *nodes_left,
				     size_t *ret_len,
				     struct bfs_diag *diag) BFS_MUST_CHECK;

/* Writes exactly one value as JSON (docs/formats/msgpack.md: bin as
 * {"base64"}, ext as {"ext", "base64"}, tuples plain, keys as text). Content
 * that is not exactly one complete value is written as {"base64"}; that is
 * success. The values of keys in `redact` (NULL-terminated list, may be NULL)
 * become "(redacted)", at any depth. */
enum bfs_err bfs_msgpack_to_json(const void *buf, size_t len,
				 const char *const *redact,
				 struct bfs_json *json) BFS_MUST_CHECK;

#endif
