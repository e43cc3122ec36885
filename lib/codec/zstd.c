/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zstd.c - Zstandard frames by libzstd, with one context a worker.
 *
 * A stream is one frame or more; all of it must be frames, and the output
 * exactly as long as asked. Decoding in one shot straight into that output
 * needs no window, so a frame's window size allocates nothing.
 *
 * The calls that take an allocator stand in the part of zstd.h that asks for
 * ZSTD_STATIC_LINKING_ONLY. The shared library exports them too, and only so
 * do contexts and dictionaries count in the memory budget.
 */
#define ZSTD_STATIC_LINKING_ONLY
#include "codec/codec.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <stdbool.h>
#include <zstd.h>
#include <zstd_errors.h>

#define LEGACY_FIRST UINT32_C(0xfd2fb525)
#define LEGACY_LAST UINT32_C(0xfd2fb527)

struct bfs_codec_dict {
	ZSTD_DDict *ddict;
};

static void *zstd_alloc(void *opaque, size_t len)
{
	(void)opaque;
	return bfs_alloc(len);
}

static void zstd_free(void *opaque, void *p)
{
	(void)opaque;
	bfs_free(p);
}

static const ZSTD_customMem memory = { zstd_alloc, zstd_free, NULL };

static void *state_new(void)
{
	return ZSTD_createDCtx_advanced(memory);
}

static void state_free(void *state)
{
	ZSTD_freeDCtx(state);
}

/* A trained dictionary is known by its magic number; else it is raw. */
static struct bfs_codec_dict *dict_new(const uint8_t *dict, size_t len)
{
	struct bfs_codec_dict *ready = bfs_alloc(sizeof(*ready));

	if (!ready)
		return NULL;
	ready->ddict = ZSTD_createDDict_advanced(dict, len, ZSTD_dlm_byCopy,
						 ZSTD_dct_auto, memory);
	if (!ready->ddict) {
		bfs_free(ready);
		return NULL;
	}
	return ready;
}

static void dict_free(struct bfs_codec_dict *ready)
{
	if (!ready)
		return;
	ZSTD_freeDDict(ready->ddict);
	bfs_free(ready);
}

/* Whether the stream begins in a format of 0.5 to 0.7, as Blosc's first
 * releases with Zstandard wrote them. Older ones it never used. */
static bool is_legacy(const uint8_t *src, size_t len)
{
	uint32_t magic = len >= 4 ? bfs_le32(src) : 0;

	return magic >= LEGACY_FIRST && magic <= LEGACY_LAST;
}

/*
 * Such a stream is one frame, and nobody used dictionaries then. The library
 * may be built without these formats. Its decoders for them know no allocator:
 * they take some 160 KiB for the time of the call, outside the budget.
 */
static enum bfs_err decode_legacy(const struct bfs_codec_job *job, void *state)
{
	size_t n;

	if (!ZSTD_isFrame(job->src, job->src_len))
		return BFS_ERR_UNSUPPORTED;
	BFS_NEED(job->dict_len == 0 && !job->ready);
	n = ZSTD_findFrameCompressedSize(job->src, job->src_len);
	BFS_NEED(n == job->src_len);
	n = ZSTD_decompress_usingDict(state, job->dst, job->dst_len, job->src,
				      job->src_len, NULL, 0);
	if (ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation)
		return BFS_ERR_NOMEM;
	BFS_NEED(!ZSTD_isError(n) && n == job->dst_len);
	return BFS_OK;
}

/* Whether the stream is made of whole frames of today's format. */
static enum bfs_err check_frames(const uint8_t *src, size_t len)
{
	BFS_NEED(len > 0);
	while (len > 0) {
		uint32_t magic;
		size_t n;

		BFS_NEED(len >= 4);
		magic = bfs_le32(src);
		BFS_NEED(magic == ZSTD_MAGICNUMBER ||
			 (magic & ZSTD_MAGIC_SKIPPABLE_MASK) ==
			 ZSTD_MAGIC_SKIPPABLE_START);
		n = ZSTD_findFrameCompressedSize(src, len);
		BFS_NEED(!ZSTD_isError(n) && n > 0 && n <= len);
		src += n;
		len -= n;
	}
	return BFS_OK;
}

static enum bfs_err decode(const struct bfs_codec_job *job, void *state)
{
	size_t n;

	if (is_legacy(job->src, job->src_len))
		return decode_legacy(job, state);
	BFS_TRY(check_frames(job->src, job->src_len));
	if (job->ready)
		n = ZSTD_decompress_usingDDict(state, job->dst, job->dst_len,
					       job->src, job->src_len,
					       job->ready->ddict);
	else
		n = ZSTD_decompress_usingDict(state, job->dst, job->dst_len,
					      job->src, job->src_len,
					      job->dict, job->dict_len);
	if (ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation)
		return BFS_ERR_NOMEM;
	BFS_NEED(!ZSTD_isError(n) && n == job->dst_len);
	return BFS_OK;
}

static const uint8_t sample_src[] = {
	0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x19, 0x7d, 0x00, 0x00, 0x48, 0x62,
	0x6c, 0x75, 0x65, 0x73, 0x6b, 0x69, 0x65, 0x73, 0x01, 0x00, 0x90,
	0x4b, 0x04,
};
static const uint8_t sample_want[] = "blueblueblueblueblueskies";

const struct bfs_codec bfs_codec_zstd = {
	.name = "zstd",
	.format = 4,
	.id = 5,
	.version = ZSTD_versionString,
	.decode = decode,
	.state_new = state_new,
	.state_free = state_free,
	.dict_new = dict_new,
	.dict_free = dict_free,
	.sample = {
		.src = sample_src,
		.src_len = sizeof(sample_src),
		.want = sample_want,
		.want_len = sizeof(sample_want) - 1,
	},
};
