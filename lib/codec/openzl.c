/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * openzl.c - frames of the OpenZL plugin: known by name, without a decoder.
 */
#include "codec/codec.h"

const struct bfs_codec bfs_codec_openzl = {
	.name = "openzl",
	.format = 6,
	.id = 38,
};
