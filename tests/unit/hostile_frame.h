/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hostile_frame.h - for tests: a small frame with everything in it, stored
 * uncompressed so that any of its numbers can be patched.
 */
#ifndef HOSTILE_FRAME_H
#define HOSTILE_FRAME_H

#include "base/bytes.h"
#include "support/build2.h"
#include "support/frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NAME "x.b2frame"
#define CHUNK ((size_t)400)
#define N_CHUNKS 3
#define STORED (CHUNK + 32)	/* a chunk as it lies in the frame */

static uint8_t data[N_CHUNKS * CHUNK];

static inline int setup(void **state)
{
	build_fill(data, sizeof(data), 3);
	return hostile_setup(state);
}

static inline struct build as_build(struct frame_bytes b)
{
	return (struct build){ b.p, b.len, b.cap };
}

/* Three chunks, one metalayer of each kind, index and chunks uncompressed. */
static inline struct build make_frame(void)
{
	static const struct frame_layer metas[] = {
		FRAME_LAYER("lay", "\x93\x01\x02\x03"),
	}, vlmetas[] = { FRAME_LAYER("vl1", "\xa5hello") };
	struct frame_input in = {
		.metas = metas, .n_metas = 1, .vlmetas = vlmetas,
		.n_vlmetas = 1, .data = data, .len = sizeof(data),
		.chunksize = CHUNK, .blocksize = CHUNK, .typesize = 4,
	};

	return as_build(frames_build(&in));
}

static inline size_t header_len(const struct build *b)
{
	return bfs_be32(b->p + 0x0b);
}

static inline size_t index_at(const struct build *b)
{
	return header_len(b) + (size_t)bfs_be64(b->p + 0x27);
}

static inline size_t entry_at(const struct build *b, unsigned n)
{
	return index_at(b) + 32 + 8 * n;
}

static inline size_t trailer_at(const struct build *b)
{
	return b->len - bfs_be32(b->p + b->len - 22);
}

static inline void expect_chunk(struct bfs_array *a, unsigned n)
{
	expect_stream(a, BFS_STREAM_CHUNK, n, data + n * CHUNK, CHUNK);
}

struct patch {
	size_t at;
	unsigned n;
	uint64_t value;
	const char *word;
};

/* Each alone makes the frame say so and serve nothing. */
static inline void expect_all_useless(const struct patch *patches, size_t n,
			       enum bfs_status status)
{
	struct build b = make_frame();

	for (size_t i = 0; i < n; i++) {
		struct build bad = build_copy(&b);

		patch_be(&bad, patches[i].at, patches[i].value, patches[i].n);
		expect_useless(&bad, NAME, status, patches[i].word);
		free(bad.p);
	}
	free(b.p);
}

#define EXPECT_ALL_USELESS(patches, status) \
	expect_all_useless(patches, sizeof(patches) / sizeof(*(patches)), \
			   status)

#endif
