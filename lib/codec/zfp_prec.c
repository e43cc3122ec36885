/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zfp_prec.c - ZFP with a number of bit planes: the meta byte and a few more
 * that grow with the dimensions.
 */
#include "codec/codec.h"
#include "codec/zfp.h"

#ifdef BFS_HAVE_ZFP

#include "base/bytes.h"

static void set_mode(zfp_stream *zfp, const struct bfs_codec_job *job)
{
	zfp_stream_set_precision(zfp, (unsigned)bfs_min(
			64, job->meta + 2u * job->env->ndim + 3));
}

static enum bfs_err decode(const struct bfs_codec_job *job, void *state)
{
	return bfs_zfp_decode(job, state, set_mode);
}

/* 1, 1.25, 1.5 over 1.75, 2, 2.25 in 16 bit planes */
static const uint8_t sample_src[] = {
	0x03, 0x2d, 0xa1, 0x10, 0x04, 0x4e, 0x11, 0x09, 0x24, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};
static const uint8_t sample_want[] = {
	0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0xa0, 0x3f, 0x00, 0x00, 0xc0, 0x3f,
	0x00, 0x00, 0xe0, 0x3f, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x10, 0x40,
};

#endif

const struct bfs_codec bfs_codec_zfp_prec = {
	.name = "zfp_prec",
	.format = 6,
	.id = 34,
#ifdef BFS_HAVE_ZFP
	BFS_ZFP_ROW(decode, 9,
		    { .typesize = 4, .ndim = 2, .blockshape = { 2, 3 } }),
#endif
};
