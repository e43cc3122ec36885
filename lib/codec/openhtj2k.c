/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * openhtj2k.c - High-Throughput JPEG 2000 of the OpenHTJ2K plugin: known by
 * name, without a decoder.
 */
#include "codec/codec.h"

const struct bfs_codec bfs_codec_openhtj2k = {
	.name = "openhtj2k",
	.format = 6,
	.id = 36,
};
