/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.h - what an opened container is made of: places of chunks,
 * metalayers, the array metalayer, members. Plain values of container.h.
 */
#ifndef BFS_CONTAINER_PARTS_H
#define BFS_CONTAINER_PARTS_H

#include "chunk/plan.h"
#include "base/err.h"
#include "source/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BFS_MAX_DIM 16

/* What lies where a chunk should be. */
struct bfs_span {
	enum bfs_chunk_kind special;	/* ZEROS, NAN, UNINIT: nothing is
					 * stored; BLOCKS: read its header */
	uint64_t file;			/* its number, where chunks are files
					 * of their own */
	uint64_t off;			/* in the container or in that file */
	uint64_t avail;			/* bytes it may take at most */
	uint32_t nbytes;		/* as the container says; UINT32_MAX:
					 * only the chunk's header knows */
};

/* A metalayer: raw bytes at off, or (variable-length ones always) a Blosc
 * chunk at off. */
struct bfs_meta {
	struct bfs_source *source;	/* owned; NULL: the container's */
	char *name;			/* name_len bytes and a NUL behind */
	size_t name_len;
	uint64_t off;
	uint64_t len;			/* stored bytes */
	bool is_chunk;
	bool is_json;			/* text, not msgpack */
};

/* The array metalayer, checked for form (nd.h checks the geometry). */
struct bfs_array_meta {
	bool present;
	unsigned ndim;
	int64_t shape[BFS_MAX_DIM];
	int32_t chunkshape[BFS_MAX_DIM];
	int32_t blockshape[BFS_MAX_DIM];
	char *dtype;			/* as stored, NUL-terminated, or NULL */
	size_t dtype_len;
	bool legacy;			/* Caterva: blockshape may be missing */
	bool fortran;			/* bytes are in order F (Bloscpack) */
	bool linear;			/* chunks joined are the array itself */
};

/* A member of a store: bytes of the container as they lie, or of its decoded
 * data. */
struct bfs_member {
	uint64_t off, len;
	bool decoded;
	_Atomic uint8_t looked;		/* for views: what was found there */
	bool has_crc;			/* of the bytes as they lie */
	uint32_t crc, local_crc;	/* the same, stored twice */
	enum bfs_err err;		/* why it cannot be served */
	struct bfs_diag why;
};

/* What a container is, beyond its format. */
enum bfs_kind {
	BFS_KIND_FRAME,
	BFS_KIND_ARRAY,
	BFS_KIND_COLUMN,	/* of bcolz */
	BFS_KIND_OBJECTS,	/* a list of values in MessagePack */
	BFS_KIND_TENSOR,	/* an array packed in a plain frame */
	BFS_KIND_STORE,
	BFS_KIND_EXPRESSION,	/* a recipe; no chunk holds data */
	BFS_KIND_PROXY,		/* what was fetched of another array */
};

#endif
