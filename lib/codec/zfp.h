/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zfp.h - what the three rows of ZFP share: they differ in one parameter.
 *
 * A stream is bare: type, shape and parameter come from the frame and from
 * the chunk's header. Without BFS_HAVE_ZFP nothing is declared here.
 */
#ifndef BFS_CODEC_ZFP_H
#define BFS_CODEC_ZFP_H

#include "codec/codec.h"

#ifdef BFS_HAVE_ZFP

#include <zfp.h>

/* Sets the stream's parameter from the job's meta byte. */
typedef void bfs_zfp_mode(zfp_stream *zfp, const struct bfs_codec_job *job);

/* UNSUPPORTED for widths and dimensions that ZFP has not, above all for a
 * chunk without a frame. state is what bfs_zfp_state_new made. */
enum bfs_err bfs_zfp_decode(const struct bfs_codec_job *job, void *state,
			    bfs_zfp_mode *set_mode) BFS_MUST_CHECK;

/* The rows' common members. The files of the rows stay alike in that each has
 * a sample and a decode of its own: a row is one file, without arguments. */
#define BFS_ZFP_ROW(its_decode, its_meta, ...) \
	.version = bfs_zfp_version, \
	.decode = (its_decode), \
	.state_new = bfs_zfp_state_new, \
	.state_free = bfs_zfp_state_free, \
	.sample = { \
		.src = sample_src, \
		.src_len = sizeof(sample_src), \
		.want = sample_want, \
		.want_len = sizeof(sample_want), \
		.meta = (its_meta), \
		.env = __VA_ARGS__, \
	}

void *bfs_zfp_state_new(void);
void bfs_zfp_state_free(void *state);
const char *bfs_zfp_version(void);

#endif
#endif
