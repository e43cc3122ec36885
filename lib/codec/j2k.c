/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * j2k.c - JPEG 2000 of the j2k plugin: known by name, without a decoder.
 */
#include "codec/codec.h"

const struct bfs_codec bfs_codec_j2k = {
	.name = "j2k",
	.format = 6,
	.id = 39,
};
