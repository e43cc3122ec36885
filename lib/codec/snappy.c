/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * snappy.c - one raw Snappy block by libsnappy (BFS_HAVE_SNAPPY).
 *
 * The block begins with the length of what comes out, which must be the one
 * asked for; the library checks the rest against both. It keeps nothing from
 * one call to the next and allocates nothing.
 */
#include "codec/codec.h"

#ifdef BFS_HAVE_SNAPPY

#include <snappy-c.h>

/* Its interface for C does not tell the number. */
static const char *version(void)
{
	return "libsnappy";
}

static enum bfs_err decode(const struct bfs_codec_job *job, void *state)
{
	const char *src = (const char *)job->src;
	size_t n;

	(void)state;
	BFS_NEED(job->src_len > 0);
	BFS_NEED(snappy_uncompressed_length(src, job->src_len, &n) ==
		 SNAPPY_OK && n == job->dst_len);
	BFS_NEED(snappy_uncompress(src, job->src_len, (char *)job->dst, &n) ==
		 SNAPPY_OK && n == job->dst_len);
	return BFS_OK;
}

static const uint8_t sample_src[] = {
	0x19, 0x0c, 'b', 'l', 'u', 'e', 0x3e, 0x04, 0x00, 0x10, 's', 'k',
	'i', 'e', 's',
};
static const uint8_t sample_want[] = "blueblueblueblueblueskies";

#endif

const struct bfs_codec bfs_codec_snappy = {
	.name = "snappy",
	.format = 2,
	.id = 3,
#ifdef BFS_HAVE_SNAPPY
	.version = version,
	.decode = decode,
	.sample = {
		.src = sample_src,
		.src_len = sizeof(sample_src),
		.want = sample_want,
		.want_len = sizeof(sample_want) - 1,
	},
#endif
};
