/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zfp_acc.c - ZFP with a bound on the absolute error: 10 to the power of the
 * meta byte, which has a sign.
 */
#include "codec/codec.h"
#include "codec/zfp.h"

#ifdef BFS_HAVE_ZFP

static void set_mode(zfp_stream *zfp, const struct bfs_codec_job *job)
{
	int exponent = job->meta < 128 ? job->meta : job->meta - 256;
	double tolerance = 1;

	for (; exponent > 0; exponent--)
		tolerance *= 10;
	for (; exponent < 0; exponent++)
		tolerance /= 10;
	zfp_stream_set_accuracy(zfp, tolerance);
}

static enum bfs_err decode(const struct bfs_codec_job *job, void *state)
{
	return bfs_zfp_decode(job, state, set_mode);
}

/* 1, 1.25 ... 2.75 to within 0.01 */
static const uint8_t sample_src[] = {
	0x01, 0xad, 0x2e, 0x00, 0x00, 0x0c, 0xb4, 0x3a, 0x05, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00,
};
static const uint8_t sample_want[] = {
	0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0xa0, 0x3f, 0x00, 0x00, 0xc0, 0x3f,
	0x00, 0x00, 0xe0, 0x3f, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x10, 0x40,
	0x00, 0x00, 0x20, 0x40, 0x00, 0x00, 0x30, 0x40,
};

#endif

const struct bfs_codec bfs_codec_zfp_acc = {
	.name = "zfp_acc",
	.format = 6,
	.id = 33,
#ifdef BFS_HAVE_ZFP
	BFS_ZFP_ROW(decode, 0xfe,
		    { .typesize = 4, .ndim = 1, .blockshape = { 8 } }),
#endif
};
