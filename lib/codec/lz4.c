/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lz4.c - one raw LZ4 block (no frame around it) by liblz4, for lz4 and lz4hc.
 *
 * A dictionary is the bytes that would stand right before the output; every
 * stream starts afresh with it. Nothing is kept from one call to the next.
 */
#include "codec/codec.h"

#include <limits.h>
#include <lz4.h>

static enum bfs_err decode(const struct bfs_codec_job *job, void *state)
{
	const char *src = (const char *)job->src;
	char *dst = (char *)job->dst;
	int src_len, dst_len, n;

	(void)state;
	BFS_NEED(job->src_len > 0 && job->src_len <= INT_MAX);
	BFS_NEED(job->dst_len <= INT_MAX && job->dict_len <= INT_MAX);
	src_len = (int)job->src_len;
	dst_len = (int)job->dst_len;
	if (job->dict_len > 0)
		n = LZ4_decompress_safe_usingDict(src, dst, src_len, dst_len,
						  (const char *)job->dict,
						  (int)job->dict_len);
	else
		n = LZ4_decompress_safe(src, dst, src_len, dst_len);
	BFS_NEED(n == dst_len);
	return BFS_OK;
}

/* Four literals, a match of 16 at distance 4, five literals. */
static const uint8_t sample_src[] = {
	0x4c, 'b', 'l', 'u', 'e', 0x04, 0x00, 0x50, 's', 'k', 'i', 'e', 's',
};
static const uint8_t sample_want[] = "blueblueblueblueblueskies";

const struct bfs_codec bfs_codec_lz4 = {
	.name = "lz4",
	.format = 1,
	.id = 1,
	.version = LZ4_versionString,
	.decode = decode,
	.sample = {
		.src = sample_src,
		.src_len = sizeof(sample_src),
		.want = sample_want,
		.want_len = sizeof(sample_want) - 1,
	},
};
