/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zlib.c - one RFC 1950 stream, by libdeflate where it is found
 * (BFS_HAVE_LIBDEFLATE), which is two to three times as fast, else by zlib.
 *
 * The stream must end, its Adler-32 be right, and its output be exactly as
 * long as asked; bytes behind its end are nobody's and are ignored. A stream
 * that wants a preset dictionary is refused: Blosc never makes one.
 */
#include "codec/codec.h"

#ifdef BFS_HAVE_LIBDEFLATE
#include <libdeflate.h>
#else
#include "base/mem.h"

#include <limits.h>
#define ZLIB_CONST
#include <zlib.h>
#endif

#ifdef BFS_HAVE_LIBDEFLATE

static const char *version(void)
{
	return "libdeflate " LIBDEFLATE_VERSION_STRING;
}

/* The one object of a fixed size (11 KiB a worker) outside the budget: the
 * library can be told of an allocator only for the whole process. */
static void *state_new(void)
{
	return libdeflate_alloc_decompressor();
}

static void state_free(void *state)
{
	libdeflate_free_decompressor(state);
}

static enum bfs_err decode(const struct bfs_codec_job *job, void *state)
{
	size_t n_in, n_out;
	enum libdeflate_result result;

	result = libdeflate_zlib_decompress_ex(state, job->src, job->src_len,
					       job->dst, job->dst_len,
					       &n_in, &n_out);
	BFS_NEED(result == LIBDEFLATE_SUCCESS && n_out == job->dst_len);
	return BFS_OK;
}

#else

static const char *version(void)
{
	return zlibVersion();
}

static void *zlib_alloc(void *opaque, unsigned n, unsigned len)
{
	(void)opaque;
	return bfs_zalloc(n, len);
}

static void zlib_free(void *opaque, void *p)
{
	(void)opaque;
	bfs_free(p);
}

static void *state_new(void)
{
	z_stream *z = bfs_zalloc(1, sizeof(*z));

	if (!z)
		return NULL;
	z->zalloc = zlib_alloc;
	z->zfree = zlib_free;
	if (inflateInit(z) != Z_OK) {
		bfs_free(z);
		return NULL;
	}
	return z;
}

static void state_free(void *state)
{
	inflateEnd(state);
	bfs_free(state);
}

static enum bfs_err decode(const struct bfs_codec_job *job, void *state)
{
	z_stream *z = state;
	int result;

	BFS_NEED(job->src_len <= UINT_MAX && job->dst_len <= UINT_MAX);
	if (inflateReset(z) != Z_OK)
		return BFS_ERR_INVALID;
	z->next_in = job->src;
	z->avail_in = (unsigned)job->src_len;
	z->next_out = job->dst;
	z->avail_out = (unsigned)job->dst_len;
	result = inflate(z, Z_FINISH);
	if (result == Z_MEM_ERROR)
		return BFS_ERR_NOMEM;
	BFS_NEED(result == Z_STREAM_END && z->avail_out == 0);
	return BFS_OK;
}

#endif

static const uint8_t sample_src[] = {
	0x78, 0xda, 0x4b, 0xca, 0x29, 0x4d, 0x4d, 0x42, 0xc3, 0xc5, 0xd9,
	0x99, 0xa9, 0xc5, 0x00, 0x86, 0xab, 0x0a, 0x68,
};
static const uint8_t sample_want[] = "blueblueblueblueblueskies";

const struct bfs_codec bfs_codec_zlib = {
	.name = "zlib",
	.format = 3,
	.id = 4,
	.version = version,
	.decode = decode,
	.state_new = state_new,
	.state_free = state_free,
	.sample = {
		.src = sample_src,
		.src_len = sizeof(sample_src),
		.want = sample_want,
		.want_len = sizeof(sample_want) - 1,
	},
};
