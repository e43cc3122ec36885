/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * grok.c - JPEG 2000 of the Grok plugin: known by name, without a decoder.
 */
#include "codec/codec.h"

const struct bfs_codec bfs_codec_grok = {
	.name = "grok",
	.format = 6,
	.id = 37,
};
