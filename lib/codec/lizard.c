/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lizard.c - Lizard, in chunks of the first betas of Blosc2: known by name,
 * without a decoder. The code 6 stands in their frame headers.
 */
#include "codec/codec.h"

const struct bfs_codec bfs_codec_lizard = {
	.name = "lizard",
	.format = 5,
	.id = 6,
};
