/* SPDX-License-Identifier: BSD-3-Clause */
/* arrays.c - see arrays.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/arrays.h"

#include "array/priv.h"

#include <stdlib.h>

const struct bfs_stream arrays_data = { BFS_STREAM_DATA, 0 };

struct bfs_engine *arrays_engine(uint64_t cache_len)
{
	struct bfs_engine_options o = { .cache_len = cache_len,
					.n_threads = 3 };
	struct bfs_engine *e = NULL;

	assert_int_equal(bfs_engine_new(&o, &e), BFS_OK);
	return e;
}

struct bfs_array *arrays_open(struct bfs_engine *engine, const void *p,
			      size_t len)
{
	struct bfs_source *s = NULL;
	struct bfs_container *f = NULL;
	struct bfs_array *a = NULL;

	assert_int_equal(bfs_source_memory(p, len, false, &s, NULL), BFS_OK);
	assert_int_equal(bfs_container_open(s, NULL, NULL,
					    bfs_engine_cache(engine), &f,
					    NULL), BFS_OK);
	bfs_source_unref(s);
	assert_int_equal(bfs_array_open(engine, f, &a, NULL), BFS_OK);
	return a;
}

uint8_t *arrays_make_big(struct build *out, enum build_codec codec, int delta)
{
	uint8_t *data = malloc(2 * ARRAYS_CHUNK);
	struct build_frame f = { .chunksize = (int64_t)ARRAYS_CHUNK,
				 .typesize = 4 };
	struct build_chunk c = { .len = ARRAYS_CHUNK, .typesize = 4,
				 .blocksize = ARRAYS_BLOCK, .codec = codec,
				 .shuffle = 1, .delta = delta };

	assert_non_null(data);
	build_fill(data, 2 * ARRAYS_CHUNK, 7);
	c.data = data;
	build_frame_chunk(&f, &c);
	c.data = data + ARRAYS_CHUNK;
	build_frame_chunk(&f, &c);
	build_frame_finish(&f, out);
	return data;
}

bool arrays_have_block(struct bfs_array *array, uint64_t chunk, uint64_t block)
{
	struct bfs_cache_key key = { array->kin_gen, chunk, block };

	return bfs_cache_has(array->engine->cache, &key);
}
