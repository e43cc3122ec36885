/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zfp_rate.c - ZFP with a fixed size of every cell: the meta byte is the
 * percentage of the original's.
 */
#include "codec/codec.h"
#include "codec/zfp.h"

#ifdef BFS_HAVE_ZFP

static void set_mode(zfp_stream *zfp, const struct bfs_codec_job *job)
{
	const struct bfs_codec_env *env = job->env;

	zfp_stream_set_rate(zfp, job->meta / 100.0 * env->typesize * 8,
			    env->typesize == 4 ? zfp_type_float :
						 zfp_type_double,
			    env->ndim, zfp_false);
}

static enum bfs_err decode(const struct bfs_codec_job *job, void *state)
{
	return bfs_zfp_decode(job, state, set_mode);
}

/* 1, 1.25 ... 2.75 in half the space */
static const uint8_t sample_src[] = {
	0x01, 0xad, 0x2e, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xad, 0x4e, 0x01,
	0x00, 0x00, 0x00, 0x00,
};
static const uint8_t sample_want[] = {
	0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0xa0, 0x3f, 0x00, 0x00, 0xc0, 0x3f,
	0x00, 0x00, 0xe0, 0x3f, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x10, 0x40,
	0x00, 0x00, 0x20, 0x40, 0x00, 0x00, 0x30, 0x40,
};

#endif

const struct bfs_codec bfs_codec_zfp_rate = {
	.name = "zfp_rate",
	.format = 6,
	.id = 35,
#ifdef BFS_HAVE_ZFP
	BFS_ZFP_ROW(decode, 50,
		    { .typesize = 4, .ndim = 1, .blockshape = { 8 } }),
#endif
};
