/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * htj2k.c - High-Throughput JPEG 2000 of the htj2k plugin: known by name,
 * without a decoder.
 */
#include "codec/codec.h"

const struct bfs_codec bfs_codec_htj2k = {
	.name = "htj2k",
	.format = 6,
	.id = 40,
};
